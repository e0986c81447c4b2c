"""Work that may not keep a user waiting: bounds, set-up and, the first time, the compilation of kernels.

None of these can be broken off, so they go on in a thread of their own, and whoever waits for it leaves when
there is a reason to. Once chains are running, they see such reasons themselves.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Event, Thread
from typing import TypeVar

ResultT = TypeVar("ResultT")

#: Seconds that work has to end by itself when there is a reason to stop, before it is left alone.
_GRACE = 0.1

#: Seconds between two looks for such a reason.
_LOOK = 0.02


class LateError(Exception):
    """The work was not done when there was a reason to stop.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Errand:
    """What the worker and the one who waits know of each other.

    Attributes
    ----------
    seen : Event
        Set by the worker once it looks for reasons to stop itself, at least every other tenth of a second.
    left : Event
        Set when nobody waits any more.
    """

    def __init__(self) -> None:
        self.seen, self.left = Event(), Event()


def in_time(work: Callable[[Errand], ResultT], reason: Callable[[], str | None]) -> ResultT:
    """Do some work and give its result, or leave it alone for a reason to stop that it does not see.

    Parameters
    ----------
    work : callable
        Runs in another thread, which goes on until it is done even where it is left alone.
    reason : callable
        Gives the reason to stop, or None.

    Raises
    ------
    LateError
        If the work was left alone, or not begun.
    BaseException
        What the work raised.
    """
    if (why := reason()) is not None:
        raise LateError(why)
    errand, done = Errand(), Future[ResultT]()

    def fulfil() -> None:
        try:
            done.set_result(work(errand))
        except BaseException as error:  # handed to the one who waits, whatever it is
            done.set_exception(error)

    Thread(target=contextvars.copy_context().run, args=(fulfil,), name="nsa").start()
    due: float | None = None
    try:
        while not wait([done], _LOOK).done:
            why = None if errand.seen.is_set() else reason()
            if why is None:
                due = None
                continue
            due = due or time.monotonic() + _GRACE
            if time.monotonic() >= due:
                raise LateError(why)
    except BaseException:  # Ctrl-C, too, comes to the one who waits
        errand.left.set()
        raise
    return done.result()
