"""What is measured, and beside what: instances, their reference objectives, and the paper's figures."""

from __future__ import annotations

import csv
import dataclasses
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nsa_cli.api import Unread, generate
from nsa_cli.bench.request import Request
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.folder import find_part
from nsa_cli.core.problem import Problem, Task
from nsa_cli.inputs import read_inputs
from nsa_cli.io.source import read_source
from nsa_cli.io.tokens import read_number
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.contribution import BenchContribution

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

    def only(self, place: int) -> Suite:
        """Give a suite of one of its instances."""
        one = slice(place, place + 1)
        return self._replace(tasks=self.tasks[one], names=self.names[one], references=self.references[one])


def suites_of(request: Request) -> list[Suite]:
    """Take a problem's sets, or by seconds also files and folders.

    Raises
    ------
    NsaError
        If they cannot be read, or do not go together.
    """
    first, count = request.what[0], request.count
    references = None if request.references is None else Path(request.references)
    named = first in builtin_names() or first.endswith(".py") or not os.path.exists(first)
    if request.budget and (len(request.what) > 1 or not named):
        if request.sizes is not None:
            raise UsageError("is for a PROBLEM's own sets; files have their sizes", option="sizes")
        return [suite_of_files(request.what, count, references)]
    if len(request.what) > 1:
        message = "several files; the paper's protocol is for a PROBLEM's own sets"
        raise UsageError(message, use={"budget": None})
    problem, random = find_problem(first), request.budget is not None
    if request.sizes is None:
        raise UsageError("expected sizes of instances, as 50,100; got none", option="sizes")
    return [suite_of_size(problem, size, count, references, any_size=random) for size in request.sizes]


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
    references = None
    if folder is not None and (size in sizes or not sizes):
        references = load_references(folder, problem, size)
        if len(references) < len(tasks):
            why = f"{len(references)} of size {size} for {len(tasks)} instances"
            raise UsageError(why, option="references", use={"count": len(references)})
    return suite_of(f"{problem.name} {size}", tasks, references)


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
    tasks: list[Task] = []
    for item in read_inputs(paths).items:
        if isinstance(item, Unread):
            raise item.error
        tasks.append(item)
    del tasks[count:]
    problems = sorted({task.problem.name for task in tasks})
    if len(problems) != 1:
        raise UsageError("expected files of one problem, got " + (" and ".join(problems) or "no instance"))
    for task in tasks:
        if task.problem.searched(task.instance) is not task.instance:
            why = "other solvers and heuristics do not know what is required of its answers beside the usual"
            raise UsageError(f"{task.file or task.instance.name}: {why}; solve it instead")
    suite = suite_of(f"{problems[0]} files", tasks, [task.instance.best_known for task in tasks])
    best = [known.get(name, value) for name, value in zip(suite.names, suite.references, strict=True)]
    return suite._replace(references=tuple(best))


def suite_of(label: str, tasks: Sequence[Task], references: Sequence[float | None] | None = None) -> Suite:
    """Put instances of one problem together, each with a name, and random numbers of its own."""
    known = [None] * len(tasks) if references is None else references[: len(tasks)]
    names = [task.instance.name or Path(task.file or f"{label}-{k}").stem for k, task in enumerate(tasks, 1)]
    streamed = tuple(dataclasses.replace(task, stream=k) for k, task in enumerate(tasks))
    return Suite(label, tasks[0].problem, streamed, tuple(names), tuple(known))


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


def find_contribution(problem: Problem[Any]) -> BenchContribution:
    """Find the benchmark data of a problem's package; the defaults for a problem without."""
    return find_part(problem, "bench", "contribution") or BenchContribution()


#: Solvers of the paper that our own rows are compared with.
OURS = {"sa": "SA", "ppo": "PPO", "es": "ES"}


#: A figure's solver, size, steps and mode.
Cell: TypeAlias = tuple[str, int, int | None, str]


class Figure(NamedTuple):
    """One cell of the paper's tables.

    Attributes
    ----------
    table : str
        The table's label.
    solver : str
    size : int
    steps : int or None
        Multiple of N (of N^2 for tours); None for other kinds of solvers.
    mode : str
        ``sampled``, ``greedy`` or empty.
    value : float
    spread, gap_percent : float or None
        Mean objective, standard deviation over seeds, gap.
    time : str
        As printed.
    note : str
        Ours; begins with ``misprint`` where the figure is not this cell's.
    """

    table: str
    solver: str
    size: int
    steps: int | None
    mode: str
    value: float
    spread: float | None
    gap_percent: float | None
    time: str
    note: str

    @property
    def cell(self) -> Cell:
        """Its place, whatever the table."""
        return self[1:5]


def load_figures(problem: Problem[Any]) -> dict[Cell, Figure]:
    """Read the paper's figures of a problem; none for a problem without."""
    try:
        text = (resources.files(type(problem).__module__) / "paper.csv").read_text(encoding="utf-8")
    except (FileNotFoundError, ModuleNotFoundError, TypeError):  # a problem in one file is no package
        return {}
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {figure.cell: figure for figure in map(_figure, rows)}


def _figure(row: dict[str, str]) -> Figure:
    numbers = {key: float(row[key]) if row[key] else None for key in ("value", "spread", "gap_percent")}
    integers = {"size": int(row["size"]), "steps": int(row["steps"]) if row["steps"] else None}
    return Figure(**{**row, **numbers, **integers})  # type: ignore[arg-type]
