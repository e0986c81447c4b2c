"""Limits while kernels are compiled: the work goes on in a thread that is left behind if need be.

Kernels of the built-in problems need no compiler (`nsa_cli.kernels.toolchain.library`). Those of own problems
do, and all do on a processor that is not listed or after an edit. Where that leaves no time to search, the
answer is a start that needs nothing compiled; another process compiles to the end, and the next run finds it
done.
"""

from __future__ import annotations

import contextlib
import contextvars
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.goals import InstanceEnd
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.anneal.stop import Progress, first_reason
from nsa_cli.core.abandon import ABANDONED
from nsa_cli.core.instance import Instance
from nsa_cli.core.options import Steps
from nsa_cli.kernels import compiled, is_compiling
from nsa_cli.report.result import Result
from nsa_cli.solver.answers import result_of
from nsa_cli.solver.batch import Batch, LateError, Setup

ResultT = TypeVar("ResultT")

#: Seconds that the thread has to end by itself when there is a reason to stop, before it is left alone.
_GRACE = 0.1

#: Seconds between two looks for such a reason.
_LOOK = 0.02

#: Seconds before the deadline at which an answer without compiled code is begun, or half of the limit.
_EARLY = 1.0

#: Seconds of local search where there was no time for chains, at least, and for each element; nobody who
#: interrupts waits for the latter. Elements up to which there is any: it goes to its end at about 1e-5 each.
_MOMENT, _MOMENTS, _HASTY = 0.4, 1e-5, 200_000

#: Steps enough for solutions to be recombined, by kernels of their own.
_POPULATED = 1_000

#: Elements above which an instant start is not made to compete with the one that there is.
_MANY = 10_000


class Flags:
    """Flags shared by the worker thread and the waiting thread.

    Attributes
    ----------
    watching : Event
        Set by the worker once it looks for reasons to stop itself, at least every other tenth of a second.
    abandoned : Event
        Set when the worker is abandoned.
    """

    def __init__(self) -> None:
        self.watching, self.abandoned = Event(), Event()


def solve_in_time(batch: Batch) -> list[Result]:
    """Solve a batch; out of time, answer with first solutions."""
    began, flags, before = time.monotonic(), Flags(), len(compiled)
    guarded = _guarded(batch, flags)
    try:
        return in_time(guarded.solve, partial(_reason, batch, guarded.setup), flags)
    except LateError as late:
        setup = guarded.setup
        if len(compiled) > before or is_compiling():
            compile_later(batch)
        starts = _improved(batch, setup.x, late.reason) or _starts(batch, setup.x, late.reason)
        ends = [InstanceEnd(late.reason, 0, start, np.zeros(len(start), np.int64)) for start in starts]
        solve = (time.monotonic() - began) / len(batch.tasks) - setup.seconds
        seconds = {"setup": setup.seconds, "solve": solve}
        return [
            result_of(task, batch.plan, batch.settings, bound, end, seconds, "start")
            for task, bound, end in zip(batch.tasks, setup.bounds, ends, strict=True)
        ]


def _reason(batch: Batch, setup: Setup) -> str | None:
    """Reason to stop: while there is something to compile, early enough for an answer without it.

    Out of time, first solutions are made all the same where that takes O(N log N), by the default start of a
    built-in problem: what takes less is worse.
    """
    reason = batch.hooks.reason()
    if is_compiling() and reason is None and batch.deadline is not None:
        late = time.monotonic() > batch.deadline - min(_EARLY, (batch.deadline - batch.settings.started) / 2)
        return "time_limit" if late else None
    default = batch.settings.init is None and batch.tasks[0].problem.built_in
    if reason == "time_limit" and default and setup.x is None and not is_compiling():
        return None
    return reason


def _improved(batch: Batch, made: NDArray[Any] | None, why: str) -> list[NDArray[Any]] | None:
    """Improve first solutions by local search for a moment; None where it cannot, or is not compiled."""
    problem, size = batch.tasks[0].problem, batch.tasks[0].instance.size
    moment = _MOMENT if why == "interrupted" else max(_MOMENT, _MOMENTS * size)
    until, large_step = time.monotonic() + moment, problem.large_step()
    if not problem.built_in or is_compiling() or large_step is None:
        return None
    if batch.settings.init is not None or size > _HASTY:
        return None
    flags = Flags()

    def work() -> list[NDArray[Any]]:
        rows = batch.starts() if made is None else made
        found = []
        for task, (start, *_) in zip(batch.tasks, np.split(rows, len(batch.tasks)), strict=True):
            if large_step.fits(task.instance) and time.monotonic() < until:
                chains = LargeStepChains(
                    large_step.runs([task.instance], start[None], 0.0, hurried=True), batch.keys[:1]
                )
                while chains.is_settling and time.monotonic() < until:
                    chains.advance(np.zeros(0))
                start = chains.best[0]
            found.append(start[None])
        return found

    try:
        late = time.monotonic() + 2 * moment
        return in_time(work, lambda: "late" if is_compiling() or time.monotonic() > late else None, flags)
    except LateError:
        return None


def _starts(batch: Batch, made: NDArray[Any] | None, why: str) -> list[NDArray[Any]]:
    """First solutions of each instance: those that were made, or where they are better, instant ones.

    Those of own problems take a moment each, for which somebody who interrupts does not wait.
    """
    parts, problem = len(batch.tasks), batch.tasks[0].problem
    if why == "interrupted" and not problem.built_in:
        return np.split(batch.starts() if made is None else made, parts)
    if made is None:
        return np.split(batch.starts(instant=True), parts)
    many = batch.tasks[0].instance.size > _MANY
    if batch.settings.init is not None or problem.instant_start is None or many:
        return np.split(made, parts)
    sign = 1 if problem.sense == "min" else -1
    both = zip(batch.tasks, np.split(made, parts), np.split(batch.starts(instant=True), parts), strict=True)

    def worth(instance: Instance, x: NDArray[Any]) -> tuple[bool, Any]:
        return instance.may_be_infeasible and bool(instance.violation(x)), sign * instance.objective(x)

    return [min(pair, key=lambda x: worth(task.instance, x[0])) for task, *pair in both]


def compile_later(batch: Batch) -> None:
    """Start a process of low priority that compiles what a batch needs, and outlives this one."""
    method = batch.plan.search.method  # steps alone would ask for annealing
    settings = replace(
        batch.settings,
        method=method,
        steps=Steps(_POPULATED if method == "large-step" else 2),
        time_limit=None,
        gap=None,
        target=None,
        threads=1,
        init=None,
    )
    try:
        work = pickle.dumps((batch.tasks[:1], settings))
    except (pickle.PicklingError, AttributeError, TypeError):  # a user's module
        return
    with contextlib.suppress(OSError), tempfile.TemporaryFile() as file:
        file.write(work)  # not a pipe: its other end is read only once Python has started
        file.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nsa_cli.solver.detached"],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        process.returncode = 0  # nobody waits for it


def _guarded(batch: Batch, flags: Flags) -> Batch:
    """Make a batch that ends, and shows nothing, once it is abandoned."""
    stop, on_progress, before = batch.hooks.stop, batch.hooks.on_progress, len(compiled)

    def note(progress: Progress) -> str | None:
        # From its first step on the chains' loop sees reasons itself, as it does where it is ending now, and
        # while a population is made and recombined, unless something is still to be compiled.
        ends = progress.chains is not None and first_reason(stop, progress) is not None
        if progress.step or ends or (progress.phase and len(compiled) == before):
            flags.watching.set()
        return "interrupted" if flags.abandoned.is_set() else None

    def show(progress: Progress) -> None:
        if on_progress is not None and not flags.abandoned.is_set():
            on_progress(progress)

    shown = None if on_progress is None else show  # who looks on makes each chunk a little longer
    return replace(batch, hooks=batch.hooks._replace(stop=(note, *stop), on_progress=shown))


def in_time(work: Callable[[], ResultT], reason: Callable[[], str | None], flags: Flags) -> ResultT:
    """Do some work in another thread; abandon it for a reason to stop that it does not see.

    Parameters
    ----------
    work : callable
        Goes on until it is done, even if abandoned.
    reason : callable
        Gives the reason to stop, or None.
    flags : Flags

    Raises
    ------
    LateError
        If the work was abandoned, or not begun.
    BaseException
        What the work raised.
    """
    if (why := reason()) is not None:
        raise LateError(why)
    done = Future[ResultT]()

    def fulfil() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # handed to the one who waits, whatever it is
            done.set_exception(error)

    context = contextvars.copy_context()
    context.run(ABANDONED.set, flags.abandoned.is_set)
    Thread(target=context.run, args=(fulfil,), name="nsa").start()
    due: float | None = None
    try:
        while not wait([done], _LOOK).done:
            why = None if flags.watching.is_set() else reason()
            if why is None:
                due = None
                continue
            due = due or time.monotonic() + _GRACE
            if time.monotonic() >= due:
                raise LateError(why)
    except BaseException:  # Ctrl-C, too, comes to the one who waits
        flags.abandoned.set()
        raise
    return done.result()
