"""A solve, from tasks to results: `solve_batch` is the way of an instance, the rest shares out and splits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.loop import End, InstanceEnd, run_chains
from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import NoMemoryError, NsaError, UncompiledError
from nsa_cli.core.machine import is_out_of_memory, release_memory
from nsa_cli.core.problem import Task
from nsa_cli.kernels.toolchain import kept
from nsa_cli.report.result import Result
from nsa_cli.solver.answers import result_of, solved
from nsa_cli.solver.batch import Batch, batches, plan
from nsa_cli.solver.bounds import bounds_of, goals_of
from nsa_cli.solver.late import LateError, Show, compiling, improved, in_time, resting
from nsa_cli.solver.proving import Beside, after
from nsa_cli.solver.search import Beginning, Search
from nsa_cli.solver.settings import Settings

#: Seconds in which compiled code is found and tried, and functions are tried in Python; and the share of the
#: time at most.
_AT_ONCE, _SHARE = 0.1, 0.05

#: Seconds that functions take to compile, about: with more time, machine code is worth waiting for.
_COMPILING = 10.0

#: Share of the time for first solutions that the set-up of chains takes at least.
_SET_UP = 0.2


def solve_all(tasks: Sequence[Task], settings: Settings, **hooks: Any) -> list[Result]:
    """Solve instances, batching those that can share a batch; results in the order of `tasks`.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    **hooks
        As for `solve_each`.
    """
    results: dict[int, Result] = {}
    for i, result in solve_each(tasks, settings, **hooks):
        if isinstance(result, NsaError):
            raise result
        results[i] = result
    return [results[i] for i in range(len(tasks))]


def solve_each(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    asked: Callable[[], bool] | None = None,
    on_progress: Show | None = None,
    looks: int | None = None,
    share: float = 1.0,
) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve instances, and give each result, with its place in `tasks`, once it is ready.

    An error that the instances of a batch meet stands in place of their results and does not stop the rest.
    A time limit is for all: each batch has its share of what is left, or the first would take it all.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    asked : callable, optional
        Tells whether somebody asked for the end.
    on_progress : callable, optional
    looks : int, optional
        How often it is called at least in a run that is not stopped.
    share : float
        Of the time left, where these are some of more instances.
    """
    inner = [replace(task, instance=task.problem.searched(task.instance)) for task in tasks]
    if inner and isinstance(settings.init, np.ndarray):
        settings = replace(settings, init=inner[0].instance.inward(settings.init))
    limits: dict[Search, int] = {}
    for batch in batches(inner, settings, settings.clock(asked), share):
        for i, result in _solve_parts(batch, on_progress, looks, limits):
            yield i, result if isinstance(result, NsaError) else _outward(result, tasks[i])


def solve_batch(batch: Batch, on_progress: Show | None = None, looks: int | None = None) -> list[Result]:
    """Solve instances together: first solutions, bounds, chains for what is open, the loop, results."""
    began, count, rows = time.monotonic(), len(batch.tasks), batch.chains
    x = batch.starts()
    took = time.monotonic() - began
    bounds: list[Bound | None] = [None] * count
    if batch.settings.bound:
        bounds = bounds_of(batch.tasks, batch.clock)
    is_open = [not solved(bound) for bound in bounds]
    if any(is_open) and (why := _too_late(batch, took)) is not None:
        ends = [_started(why, first) for first in np.split(improved(batch, x, why), count)]
        seconds = {"setup": took / count, "solve": (time.monotonic() - began - took) / count}
        return _results(batch, bounds, ends, seconds, "start")

    met = [None if bound is None else bound.solution for bound in bounds]
    ends = [_started("optimal", x[:1] if best is None else best[None]) for best in met]  # of those not open
    seconds = {"setup": took / count, "solve": 0.0}
    if any(is_open):
        some = [i for i in range(count) if is_open[i]]
        chosen = np.repeat(is_open, rows)
        tasks, known = [batch.tasks[i] for i in some], [bounds[i] for i in some]
        instances = [task.instance for task in tasks for _ in range(rows)]
        began = time.monotonic()
        begin = Beginning(instances, x[chosen], batch.keys[chosen], rows, batch.steps, batch.clock.left)
        chains = batch.search.start(begin)
        ready = time.monotonic()
        beside = Beside(batch, tasks, known)
        schedule = batch.schedule()
        end = run_chains(
            chains,
            schedule,
            beside.clock,
            looks=looks,
            goals=goals_of(batch, tasks, known),
            rows=rows,
            on_progress=beside.watching(_with_bound(on_progress, known)),
        )
        end, bounds[some[0]] = beside.close(end, chains)
        done = time.monotonic()
        batch = batch.after(schedule, chains)
        for k, i in enumerate(some):
            ends[i] = _end(chains, end, k, rows)
            _try_again(batch.tasks[i], chains, slice(k * rows, (k + 1) * rows))
            bounds[i] = after(batch, batch.tasks[i], bounds[i], ends[i], on_progress)
        seconds["setup"] += (ready - began) / len(some)
        seconds["solve"] = (done - ready) / len(some)
    return _results(batch, bounds, ends, seconds)


def _too_late(batch: Batch, took: float) -> str | None:
    """Reason to stop before there are chains, whose set-up takes a while; None if there is time."""
    short = batch.tasks[0].problem.built_in and batch.clock.left < _SET_UP * took
    return batch.clock.reason() or ("time_limit" if short else None)


def _results(
    batch: Batch,
    bounds: Sequence[Bound | None],
    ends: Sequence[InstanceEnd],
    seconds: dict[str, float],
    found_by: str = "annealing",
) -> list[Result]:
    return [
        result_of(batch, task, bound, end, seconds, found_by)
        for task, bound, end in zip(batch.tasks, bounds, ends, strict=True)
    ]


def _started(reason: str, first: NDArray[Any]) -> InstanceEnd:
    """End of an instance at its first solutions."""
    return InstanceEnd(reason, 0, first, np.zeros(len(first), np.int64))


def _end(chains: Chains, end: End, i: int, rows: int) -> InstanceEnd:
    """End of an instance: at a goal of its own, or with the batch."""
    if i in end.reached:
        return end.reached[i]
    part = slice(i * rows, (i + 1) * rows)
    return InstanceEnd(end.reason, chains.counted, chains.best[part], chains.accepted[part])


def _try_again(task: Task, chains: Chains, rows: slice) -> None:
    """Say where the functions of an own problem have misled a search; its answer is evaluated by itself."""
    if not task.problem.built_in:
        energies = np.where(np.isnan(chains.energy[rows]), np.nan, chains.best_energy[rows])
        row = int(energies.argmin())  # one that is no number, if there is one
        found = chains.x if np.isnan(energies[row]) else chains.best
        try:
            task.problem.try_again(task.instance, found[rows][row], float(energies[row]))
        except NsaError as error:
            kept.say(f"warning: {error}; the search was misled")


def _with_bound(show: Show | None, bounds: Sequence[Bound | None]) -> Show | None:
    """Add the bound of a single instance to its progress."""
    if show is None or len(bounds) > 1 or (bound := bounds[0]) is None:
        return show
    value = float(bound.value)
    return lambda progress: show(progress._replace(bound=value))


def _outward(result: Result, task: Task) -> Result:
    """Give a result in terms of the user's instance."""
    bound = result.bound
    if bound is not None and result.instance is not task.instance:
        bound = replace(bound, solution=None)
    raw = task.instance.canonical(result.instance.outward(result.raw))
    return replace(result, instance=task.instance, raw=raw, bound=bound, remarks=tuple(task.remarks()))


def _solve_parts(
    batch: Batch, on_progress: Show | None, looks: int | None, limits: dict[Search, int]
) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve a batch. If there is no memory for it, solve its halves; if it fails, each instance by itself.

    Parameters
    ----------
    limits : dict
        Elements for which there was no memory, by search: such batches are halved at once.
    """
    count, search = len(batch.tasks), batch.search
    known = count > 1 and batch.elements >= limits.get(search, batch.elements + 1)
    outcome = NoMemoryError() if known else _outcome(batch, on_progress, looks)
    if isinstance(outcome, NoMemoryError):
        release_memory()
        limits[search] = min(batch.elements, limits.get(search, batch.elements))
    if not isinstance(outcome, NsaError):
        yield from zip(batch.places, outcome, strict=True)
    elif count == 1:
        yield batch.places[0], outcome
    else:
        size = (count + 1) // 2 if isinstance(outcome, NoMemoryError) else 1
        for part in batch.split(size):
            yield from _solve_parts(part, on_progress, looks, limits)


def _outcome(batch: Batch, on_progress: Show | None, looks: int | None) -> list[Result] | NsaError:
    """Solve a batch, or give the error; one of memory is made anew, for the first holds on to what it met."""
    try:
        if batch.tasks[0].problem.built_in:
            return solve_batch(batch, on_progress, looks)
        return _solve_own(batch, on_progress, looks)
    except NsaError as error:
        own = not batch.tasks[0].problem.built_in
        # What interrupts us also ends a user's simulator, whose function fails then.
        return _first(batch, "interrupted") if own and batch.clock.asked() else error
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return NoMemoryError()


def _solve_own(batch: Batch, on_progress: Show | None, looks: int | None) -> list[Result]:
    """Solve a batch of an own problem: in Python until its functions are compiled, if they can be."""
    task = batch.tasks[0]
    a_moment = min(_AT_ONCE, _SHARE * batch.clock.left)
    task.problem.try_out(task.instance, a_moment)
    if batch.search.backend == "python":
        assert batch.search.moves is not None
        _say_why(batch.search.moves.why_uncompiled())
        return solve_batch(batch, on_progress, looks)
    ready = compiling(batch)
    wait([ready], a_moment)
    found: list[Result] = []
    learnt = batch.search.policy not in ("uniform", "none")
    if not (learnt or _is_settled(ready) or batch.clock.is_over()):
        show = on_progress if batch.clock.left < _COMPILING else resting(ready, on_progress)
        found = _in_python(batch, ready, show, looks)
        if all(result.stop_reason not in ("steps", "interrupted") for result in found):
            return found
    while not ready.done() and batch.clock.reason() is None:
        wait([ready], _AT_ONCE)
    error = ready.exception() if ready.done() else None
    if isinstance(error, UncompiledError):
        _say_why(error.message)
    why = batch.clock.reason()
    if found and (why is not None or isinstance(error, UncompiledError)):
        return [replace(r, stop_reason=why) if why and r.stop_reason == "interrupted" else r for r in found]
    if error is not None:
        raise error
    if why is not None:
        return _first(batch, why)
    if found and batch.by_time:
        batch = replace(batch, first=np.stack([result.raw for result in found]))
    try:
        return in_time(
            lambda clock, show: solve_batch(replace(batch, clock=clock), show, looks),
            batch.clock,
            on_progress,
        )
    except LateError as late:
        return _first(batch, late.reason)


def _first(batch: Batch, why: str) -> list[Result]:
    """Give first solutions as results."""
    ends = [_started(why, start) for start in np.split(batch.starts(), len(batch.tasks))]
    return _results(batch, [None] * len(ends), ends, {"setup": 0.0, "solve": 0.0}, "start")


def _say_why(uncompiled: str | None) -> None:
    if uncompiled:
        kept.say(f"{uncompiled}; the search is in Python")


def _is_settled(ready: Future[None]) -> bool:
    """Tell whether functions are compiled, or have a mistake in them, for which a search is broken off."""
    return ready.done() and not isinstance(ready.exception(), UncompiledError)


def _in_python(batch: Batch, ready: Future[None], show: Show | None, looks: int | None) -> list[Result]:
    """Solve a batch in Python, until its functions are compiled."""
    settings = replace(batch.settings, backend="python", method="anneal", policy=None)
    clock = replace(batch.clock, asked=lambda: batch.clock.asked() or _is_settled(ready))
    found: dict[int, Result] = {}
    for one in plan(batch.tasks, settings):
        part = clock.part(len(one.tasks) / (len(batch.tasks) - len(found)))
        one = replace(one, settings=batch.settings, clock=part)
        found.update(zip(one.places, solve_batch(one, show, looks), strict=True))
    return [found[i] for i in range(len(found))]
