"""Ctrl-C in Python: the first one ends a solve with the best so far, the second one is Python's own."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Interruptible:
    """Context in which the first Ctrl-C is a request to stop, and the second one raises KeyboardInterrupt.

    Only in the main thread, where Python hears of signals, and where nobody else handles this one.

    Attributes
    ----------
    asked : bool
        Whether there was a request.
    """

    def __init__(self) -> None:
        self.asked = False
        self._ours = False

    def __enter__(self) -> Interruptible:
        main = threading.current_thread() is threading.main_thread()
        self._ours = main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._ours:
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True
