"""Instances to measure on, and the objectives to measure against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.api import Task, generate
from nsa_cli.core.bench import References
from nsa_cli.core.errors import UsageError
from nsa_cli.core.problem import Problem

#: Seed of the instances of problems for which the paper has no test sets.
_RANDOM_SET = 0


class Suite(NamedTuple):
    """Instances of one size.

    Attributes
    ----------
    problem : Problem
    size : int
    tasks : tuple of Task
        Each with random numbers of its own, or the errors of the means would not average out.
    names : tuple of str
    references : float64[n] or None
        An objective for each instance.
    """

    problem: Problem[Any]
    size: int
    tasks: tuple[Task, ...]
    names: tuple[str, ...]
    references: NDArray[np.float64] | None


def make_suite(
    problem: Problem[Any], size: int, count: int, references: NDArray[np.float64] | None = None
) -> Suite:
    """Take the first `count` instances of the paper's test set, or random ones where it has none.

    Raises
    ------
    UsageError
        If the paper has test sets, but not of this size, or there are fewer references than instances.
    """
    check_sizes(problem, [size])
    if problem.paper_sizes:
        instances = list(problem.paper_set(size, count))
    else:
        instances = [task.instance for task in generate(problem, size, count, seed=_RANDOM_SET)]
    if references is not None and len(references) < len(instances):
        raise UsageError(
            f"--references: {len(references)} of size {size} for {len(instances)} instances; "
            f"give --count {len(references)} or less"
        )
    return Suite(
        problem,
        size,
        tuple(Task(problem, instance, stream=k) for k, instance in enumerate(instances)),
        tuple(x.name or f"{problem.name}{size}-{k}" for k, x in enumerate(instances, start=1)),
        None if references is None else references[: len(instances)],
    )


def check_sizes(problem: Problem[Any], sizes: Sequence[int]) -> None:
    """Refuse sizes that the paper has no test set of, where it has any.

    Raises
    ------
    UsageError
        Naming the sizes that there are.
    """
    for size in sizes:
        if problem.paper_sizes and size not in problem.paper_sizes:
            known = ", ".join(map(str, problem.paper_sizes))
            raise UsageError(
                f"--sizes: the paper has no {problem.name} test set of size {size}; it has {known}"
            )


def load_references(folder: Path, references: References | None, size: int) -> NDArray[np.float64]:
    """Read the reference objectives of a size, float64[n].

    Raises
    ------
    UsageError
        If the problem has none, or the file is missing or something else; names it.
    """
    if references is None:
        raise UsageError("--references: this problem has no reference files; leave the option out")
    path = folder / references.file.format(size=size)
    try:
        loaded = np.load(path, allow_pickle=False)
        array = loaded if references.key is None else loaded[references.key]
        return np.asarray(array, dtype=np.float64).reshape(-1)
    except OSError as error:
        raise UsageError(f"--references: {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, IndexError, EOFError):
        inside = f" with an array {references.key}" if references.key else ""
        raise UsageError(f"--references: {path}: expected a NumPy file{inside}") from None
