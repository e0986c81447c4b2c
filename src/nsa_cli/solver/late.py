"""Answers where there is no time to search: first solutions, improved for a moment.

Kernels of built-in problems look at the clock. Functions of own problems may not: a batch of them is solved
in a thread that is left behind if need be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Progress
from nsa_cli.anneal.large_step import LargeStepChains
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import start_solutions
from nsa_cli.solver.batch import Batch
from nsa_cli.solver.search import Beginning

ResultT = TypeVar("ResultT")

#: Called with the progress of a run.
Show = Callable[[Progress], None]

#: Seconds that a thread has to look at the clock when there is a reason to stop, before it is left alone.
_GRACE = 0.25

#: Seconds of rest for each at work beside a compiler.
_REST = 4.0

#: Seconds between two looks for such a reason.
_LOOK = 0.02

#: Seconds of local search where there was no time for chains, at least.
_LEAST_SECONDS = 0.4

#: Seconds of it for each element, for which nobody waits who interrupts: about what a whole descent takes.
_ELEMENT_SECONDS = 1e-5

#: Solutions of more elements than this are not improved.
_MOST_ELEMENTS = 200_000


class LateError(Exception):
    """Work that did not end when there was a reason to stop.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def improved(batch: Batch, x: NDArray[Any], why: str) -> NDArray[Any]:
    """Improve first solutions, [B, …], by local search for a moment; some for each instance."""
    problem, size = batch.tasks[0].problem, batch.tasks[0].instance.size
    large_step = problem.large_step()
    if batch.settings.init is not None or not problem.built_in or large_step is None or size > _MOST_ELEMENTS:
        return x
    until = time.monotonic() + (
        _LEAST_SECONDS if why == "interrupted" else max(_LEAST_SECONDS, _ELEMENT_SECONDS * size)
    )
    found = []
    for task, (start, *_) in zip(batch.tasks, np.split(x, len(batch.tasks)), strict=True):
        if large_step.fits(task.instance) and time.monotonic() < until:
            runs = large_step.runs([task.instance], start[None], 0.0, fast_setup=True)
            chains = LargeStepChains(runs, batch.keys[:1])
            while chains.is_descending and time.monotonic() < until:
                chains.advance(np.zeros(0))
            start = chains.best[0]
        found.append(start)
    return np.stack(found)


def compiling(batch: Batch) -> Future[None]:
    """Have what a batch needs compiled in a thread, which nothing can break off: a chain takes a step."""
    task, key = batch.tasks[0], batch.keys[:1]

    def work() -> None:
        x = start_solutions(task.problem.start(), [task.instance], key)
        batch.search.start(Beginning([task.instance], x, key)).advance(np.ones(1))

    return _in_thread(work)


def resting(ready: Future[Any], show: Show | None) -> Show:
    """Give what shows progress and then rests: of two threads of Python only one is at work at a time."""
    last = time.monotonic()

    def shown(progress: Progress) -> None:
        nonlocal last
        if show is not None:
            show(progress)
        if not ready.done():
            time.sleep(_REST * (time.monotonic() - last))
        last = time.monotonic()

    return shown


def _in_thread(work: Callable[[], ResultT]) -> Future[ResultT]:
    done = Future[ResultT]()

    def fulfil() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # handed to the one who waits, whatever it is
            done.set_exception(error)

    Thread(target=fulfil, name="nsa").start()
    return done


def in_time(work: Callable[[Clock, Show | None], ResultT], clock: Clock, show: Show | None = None) -> ResultT:
    """Do some work in another thread; abandon it for a reason to stop that it does not see.

    Parameters
    ----------
    work : callable
        It gets a clock, at which it looks, and what it shows its progress to. It goes on until it is done,
        even if abandoned.
    clock : Clock
    show : callable, optional

    Raises
    ------
    LateError
        If the work was abandoned, or not begun.
    BaseException
        If the work raised it.
    """
    seen, abandoned = Event(), Event()

    def asked() -> bool:
        if clock.reason() is not None:
            seen.set()
        return abandoned.is_set() or clock.asked()

    def show_on(progress: Progress) -> None:
        if show is not None and not abandoned.is_set():
            show(progress)

    if (why := clock.reason()) is not None:
        raise LateError(why)
    done = _in_thread(lambda: work(replace(clock, asked=asked), show and show_on))
    due: float | None = None
    try:
        while not wait([done], _LOOK).done:
            if seen.is_set() or (why := clock.reason()) is None:
                due = None
                continue
            due = due or time.monotonic() + _GRACE
            if time.monotonic() >= due:
                raise LateError(why)
    except BaseException:  # Ctrl-C, too, comes to the one who waits
        abandoned.set()
        raise
    return done.result()
