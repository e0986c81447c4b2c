"""Ctrl-C in Python: the first one ends a solve with the best so far, the second one is Python's own."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Context in which the first Ctrl-C is a request to stop, and the second one raises KeyboardInterrupt.

    Only in the main thread, where Python hears of signals, and where nobody else handles this one. It gives
    what tells whether there was a request.
    """
    asked = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            signal.default_int_handler(number, frame)
        asked = True

    main = threading.current_thread() is threading.main_thread()
    ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, handle)
    try:
        yield lambda: asked
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
