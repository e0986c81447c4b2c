"""Results of tasks, batch by batch; if a batch fails, of halves of it or of each instance by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from nsa_cli.anneal.stop import Progress, StopRule
from nsa_cli.core.errors import NoMemoryError, NsaError
from nsa_cli.core.memory import is_out_of_memory, release_memory
from nsa_cli.core.task import Task
from nsa_cli.report.result import Result
from nsa_cli.solver.batch import Batch, Hooks, batches
from nsa_cli.solver.fallback import solve_in_time
from nsa_cli.solver.search import Search
from nsa_cli.solver.settings import Settings


def solve_all(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
    looks: int | None = None,
) -> list[Result]:
    """Solve instances, batching those that can share a batch.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    stop : tuple of StopRule
        Beside the time limit.
    on_progress : callable, optional
    looks : int, optional
        How often it is called at least in a run that is not stopped.

    Returns
    -------
    list of Result
        In the order of `tasks`.
    """
    results: dict[int, Result] = {}
    for i, result in solve_each(tasks, settings, stop=stop, on_progress=on_progress, looks=looks):
        if isinstance(result, NsaError):
            raise result
        results[i] = result
    return [results[i] for i in range(len(tasks))]


def solve_each(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
    looks: int | None = None,
    share: float | None = None,
) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve instances as `solve_all` does, and give each result, with its place in `tasks`, once it is ready.

    An error that the instances of a batch meet stands in place of their results and does not stop the rest.
    A time limit is for all: each batch has its share of what is left, or the first would take it all. Where
    these are some of more instances, they have `share` of what is left.
    """
    inner = [replace(task, instance=task.problem.searched(task.instance)) for task in tasks]
    if inner and isinstance(settings.init, np.ndarray):
        settings = replace(settings, init=inner[0].instance.inward(settings.init))
    limits: dict[Search, int] = {}
    for batch in batches(inner, settings, Hooks(stop, on_progress, looks), share):
        for i, result in _solve(batch, limits):
            yield i, result if isinstance(result, NsaError) else _outward(result, tasks[i])


def _outward(result: Result, task: Task) -> Result:
    """Give a result in terms of the user's instance."""
    result = replace(result, remarks=tuple(task.remarks()))
    if result.instance is task.instance:
        return result
    raw = result.instance.outward(result.raw)
    bound = None if result.bound is None else replace(result.bound, solution=None)
    return replace(result, instance=task.instance, raw=raw, bound=bound)


def _solve(batch: Batch, limits: dict[Search, int]) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve a batch. If there is no memory for it, solve its halves; if it fails, each instance by itself.

    Parameters
    ----------
    limits : dict
        Elements for which there was no memory, by search: such batches are halved at once.
    """
    count, search = len(batch.tasks), batch.plan.search
    known = count > 1 and batch.elements >= limits.get(search, batch.elements + 1)
    outcome = NoMemoryError() if known else _outcome(batch)
    if isinstance(outcome, NoMemoryError):
        release_memory()
        limits[search] = min(batch.elements, limits.get(search, batch.elements))
    if not isinstance(outcome, NsaError):
        yield from zip(batch.plan.places, outcome, strict=True)
    elif count == 1:
        yield batch.plan.places[0], outcome
    else:
        size = (count + 1) // 2 if isinstance(outcome, NoMemoryError) else 1
        for part in batch.split(size):
            yield from _solve(part, limits)


def _outcome(batch: Batch) -> list[Result] | NsaError:
    """Solve a batch, or give the error; one of memory is made anew, for the first holds on to what it met."""
    try:
        return solve_in_time(batch)
    except Exception as error:
        if is_out_of_memory(error):
            return NoMemoryError()
        if isinstance(error, NsaError):
            return error
        raise
