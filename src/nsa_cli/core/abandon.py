"""Cancellation of work in a thread that nobody waits for any more.

A thread cannot be ended from outside. What takes long in plain Python, and is given no rule to stop by, calls
`check_wanted` now and then: work that goes on unwanted keeps the interpreter from the thread that answers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

#: Tells, within the context of the work, whether it is abandoned.
ABANDONED: ContextVar[Callable[[], bool]] = ContextVar("abandoned", default=lambda: False)


class AbandonedError(Exception):
    """Work that is abandoned; nobody is there to catch it."""


def check_wanted() -> None:
    """End the work if it is abandoned.

    Raises
    ------
    AbandonedError
        In that case.
    """
    if ABANDONED.get()():
        raise AbandonedError
