"""A batch within its time limit: set-up, bounds and first compilations run in a thread that can be abandoned.

None of these can be interrupted. When there is a reason to stop, the waiting thread abandons the worker and
answers with what there is: first solutions, or the answer of an interpreted search in another process, which
runs while kernels are compiled. Running chains look for reasons to stop themselves.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from threading import Event, Thread
from typing import TypeVar

import numpy as np

from nsa_cli.anneal.goals import InstanceEnd
from nsa_cli.anneal.stop import Progress, first_reason
from nsa_cli.core.abandon import ABANDONED
from nsa_cli.core.kernel import on_first_compilation
from nsa_cli.core.result import Result
from nsa_cli.solver.answers import result_of
from nsa_cli.solver.batch import Batch, LateError

ResultT = TypeVar("ResultT")

#: Seconds that the thread has to end by itself when there is a reason to stop, before it is left alone.
_GRACE = 0.1

#: Seconds between two looks for such a reason.
_LOOK = 0.02

#: Seconds before the deadline at which the interpreted search ends, so that its answer arrives in time.
_EARLY = 0.3

#: Seconds below which it is not started: starting Python takes half of one.
_LEAST = 0.8


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
    """Solve a batch; out of time, answer with the interpreted search or the first solutions."""
    began, interpreted = time.monotonic(), InterpretedSearch(batch)
    flags = Flags()
    guarded = _guarded(batch, flags)
    try:
        with on_first_compilation(interpreted.begin):
            return in_time(guarded.solve, batch.hooks.reason, flags)
    except LateError as late:
        setup = guarded.setup
        x = batch.starts(instant=True) if setup.x is None else setup.x
        rows = np.split(x, len(batch.tasks))
        ends = interpreted.ends(late.reason)
        if ends is None:
            ends = [InstanceEnd(late.reason, 0, start, np.zeros(len(start), np.int64)) for start in rows]
        solve = (time.monotonic() - began) / len(batch.tasks) - setup.seconds
        seconds = {"setup": setup.seconds, "solve": solve}
        found_by = ["annealing, uncompiled" if end.step else "start" for end in ends]
        return [
            result_of(task, batch.plan, batch.settings, bound, end, seconds, how)
            for task, bound, end, how in zip(batch.tasks, setup.bounds, ends, found_by, strict=True)
        ]
    finally:
        interpreted.dismiss()


def _guarded(batch: Batch, flags: Flags) -> Batch:
    """Make a batch that ends, and shows nothing, once it is abandoned."""
    stop, on_progress = batch.hooks.stop, batch.hooks.on_progress

    def note(progress: Progress) -> str | None:
        # From its first step on the chains' loop sees reasons itself, as it does where it is ending now.
        ends = progress.chains is not None and first_reason(stop, progress) is not None
        if progress.step or ends:
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


class InterpretedSearch:
    """The same search without Numba, in a process of its own, while kernels are compiled for the first time.

    Interpreted, large-step kernels are some three hundred times slower, but still solve a small instance in a
    second or two. Nothing is started until `begin`.

    Parameters
    ----------
    batch : Batch
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Start the process if there is a deadline, and time enough."""
        now, deadline = time.monotonic(), self._batch.deadline
        if deadline is None or deadline - now < _LEAST:
            return
        settings = replace(
            self._batch.settings,
            bound=False,
            gap=None,
            threads=1,
            chains=self._batch.settings.chains or 1,
            time_limit=deadline - _EARLY - now,
            started=now,
        )
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "nsa_cli.solver.interpreted"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"},
            start_new_session=True,  # Ctrl-C is for us, who then ask for what it has found
        )
        stdin, process.stdin = process.stdin, None  # or to communicate would be to write to it again
        self._process = process
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError), stdin:
            stdin.write(pickle.dumps((self._batch.tasks, settings)))

    def ends(self, reason: str) -> list[InstanceEnd] | None:
        """End the process; the ends of its instances, or None if it has none."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.terminate()
        try:
            output, _ = process.communicate(timeout=_EARLY / 2)
            found = pickle.loads(output)
        except (subprocess.TimeoutExpired, pickle.UnpicklingError, EOFError):
            process.kill()
            return None
        return [InstanceEnd(reason, steps, x[None], np.array([accepted])) for x, steps, accepted in found]

    def dismiss(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
