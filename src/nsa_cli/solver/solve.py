"""Results of tasks, batch by batch; if a batch fails, of each instance by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from nsa_cli.anneal.stop import Progress, StopRule
from nsa_cli.core.errors import NoMemoryError, NsaError
from nsa_cli.core.task import Task
from nsa_cli.report.result import Result
from nsa_cli.solver.batch import Batch, Hooks, batches
from nsa_cli.solver.fallback import solve_in_time
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
    for batch in batches(inner, settings, Hooks(stop, on_progress, looks), share):
        for i, result in _solve(batch):
            yield i, result if isinstance(result, NsaError) else _outward(result, tasks[i])


def _outward(result: Result, task: Task) -> Result:
    """Give a result in terms of the user's instance."""
    result = replace(result, remarks=tuple(task.remarks()))
    if result.instance is task.instance:
        return result
    raw = result.instance.outward(result.raw)
    bound = None if result.bound is None else replace(result.bound, solution=None)
    return replace(result, instance=task.instance, raw=raw, bound=bound)


def _solve(batch: Batch) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve a batch; if that fails and it has several instances, each by itself, to find the one at fault."""
    try:
        yield from zip(batch.plan.places, solve_in_time(batch), strict=True)
    except (NsaError, MemoryError) as error:
        if len(batch.tasks) > 1:
            for one in batch.split():
                yield from _solve(one)
        else:
            yield batch.plan.places[0], error if isinstance(error, NsaError) else NoMemoryError()
