"""Test suites: the paper's sets, random instances or files, with reference objectives."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.api import Unread, generate
from nsa_cli.bench.paper import find_contribution
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.core.task import Task
from nsa_cli.inputs import read_inputs
from nsa_cli.io.source import read_source
from nsa_cli.io.tokens import read_number

#: Seed of random instances, for sizes that the paper has no test set of.
_SEED = 0


class Suite(NamedTuple):
    """Instances that share a part of the table and a panel of the picture.

    Attributes
    ----------
    label : str
    problem : Problem
    tasks : tuple of Task
        Each with a random stream of its own, so that errors average out.
    names : tuple of str
    references : tuple of float or None
        Reference objective of each instance; None where it is the best of the benchmark.
    """

    label: str
    problem: Problem[Any]
    tasks: tuple[Task, ...]
    names: tuple[str, ...]
    references: tuple[float | None, ...]

    @property
    def size(self) -> int:
        """Largest size N of its instances."""
        return max(task.instance.size for task in self.tasks)


def suite_of_size(
    problem: Problem[Any], size: int, count: int, folder: Path | None = None, *, any_size: bool = False
) -> Suite:
    """Take the first `count` instances of the paper's test set; random ones of a problem without sets.

    Parameters
    ----------
    problem : Problem
    size, count : int
    folder : Path, optional
        Folder with files of reference objectives.
    any_size : bool
        Whether to take random instances also of a size that the paper has no set of.

    Raises
    ------
    UsageError
        If the paper has sets of other sizes only, or references are missing, damaged or too few.
    """
    sizes = problem.paper_sizes
    if size in sizes:
        tasks = [Task(problem, instance) for instance in problem.paper_set(size, count)]
    elif sizes and not any_size:
        message = f"the paper has no {problem.name} test set of size {size}; it has "
        raise UsageError(message + ", ".join(map(str, sizes)), option="sizes")
    else:
        tasks = generate(problem, size, count, seed=_SEED)
    names = [task.instance.name or f"{problem.name}{size}-{k}" for k, task in enumerate(tasks, 1)]
    references: list[float | None] = [None] * len(tasks)
    if folder is not None and (size in sizes or not sizes):
        references = [*load_references(folder, problem, size)]
    if len(references) < len(tasks):
        message = f"{len(references)} of size {size} for {len(tasks)} instances"
        raise UsageError(message, option="references", use={"count": len(references)})
    return _suite(f"{problem.name} {size}", tasks, names, references[: len(tasks)])


def suite_of_files(paths: Sequence[str], count: int, references: Path | None) -> Suite:
    """Read instances of one problem; references are those of the list, else the files' best known.

    Parameters
    ----------
    paths : sequence of str
        Files, or folders: of these, all files that hold instances.
    count : int
        At most so many instances.
    references : Path, optional
        See `read_references`.

    Raises
    ------
    NsaError
        If a file cannot be read, there is no instance, or they are of several problems.
    """
    known = {} if references is None else read_references(references)
    tasks = list(_read(paths))[:count]
    problems = sorted({task.problem.name for task in tasks})
    if len(problems) != 1:
        raise UsageError("expected files of one problem, got " + (" and ".join(problems) or "no instance"))
    for task in tasks:
        if task.problem.searched(task.instance) is not task.instance:
            why = "other solvers and heuristics do not know what is required of its answers beside the usual"
            raise UsageError(f"{task.file or task.instance.name}: {why}; solve it instead")
    names = [task.instance.name or Path(task.file or f"instance-{k}").stem for k, task in enumerate(tasks, 1)]
    best = [known.get(name, task.instance.best_known) for name, task in zip(names, tasks, strict=True)]
    return _suite(f"{problems[0]} files", tasks, names, best)


def _suite(
    label: str, tasks: Sequence[Task], names: Sequence[str], references: Sequence[float | None]
) -> Suite:
    streamed = tuple(dataclasses.replace(task, stream=k) for k, task in enumerate(tasks))
    return Suite(label, tasks[0].problem, streamed, tuple(names), tuple(references))


def _read(paths: Sequence[str]) -> Iterator[Task]:
    """Read files; files of a folder that are no instances are skipped."""
    for item in read_inputs(paths).items:
        if isinstance(item, Unread):
            raise item.error
        yield item


def load_references(folder: Path, problem: Problem[Any], size: int) -> list[float]:
    """Read the reference objectives of a paper set: a NumPy file, in the order of the instances.

    Raises
    ------
    UsageError
        If the problem has none, or the file is missing or damaged.
    """
    if (known := find_contribution(problem).references) is None:
        raise UsageError("this problem has no reference files", drop={"references": None})
    path = folder / known.file.format(size=size)
    loaded = read_source(path).arrays
    try:
        array = loaded if known.key is None else loaded[known.key]
        return [float(x) for x in np.asarray(array, dtype=np.float64).reshape(-1)]
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        inside = f" with an array {known.key}" if known.key else ""
        raise UsageError(f"{path}: expected a NumPy file{inside}", option="references") from None


def read_references(path: Path) -> dict[str, float]:
    """Read reference objectives by name: lines ``name : objective``, as in TSPLIB's list of optima.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is something else.
    """
    source = read_source(path)
    known = {}
    for number, line in enumerate(source.text.splitlines(), 1):
        name, _, words = line.partition(":")
        value = next(map(read_number, words.split()), None)
        if value is not None:
            known[name.strip()] = float(value)
        elif line.strip():
            raise source.error(f"expected NAME : OBJECTIVE, got {shown(line)}", number)
    return known
