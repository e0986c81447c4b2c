"""The clock of a run, and the start of a command: that of its process, imports included."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

#: `time.monotonic` at the start of this process, if it is one command.
_began: float | None = None


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Clock:
    """When a run began, when it must end, and why it should stop.

    Attributes
    ----------
    began, end : float
        By `time.monotonic`; `end` is infinite without a limit.
    asked : callable
        Tells whether somebody asked for the end, say by a signal; then nothing goes on to where it would be
        of use, as it may at the end of the time.
    """

    began: float = field(default_factory=time.monotonic)
    end: float = math.inf
    asked: Callable[[], bool] = _never

    @classmethod
    def of(
        cls, seconds: float | None, began: float | None = None, asked: Callable[[], bool] | None = None
    ) -> Clock:
        """Make a clock that ends so many seconds after it began, now by default; never for None."""
        began = time.monotonic() if began is None else began
        return cls(began, math.inf if seconds is None else began + seconds, asked or _never)

    @property
    def is_limited(self) -> bool:
        """Whether there is an end."""
        return self.end < math.inf

    @property
    def left(self) -> float:
        """Seconds until the end, 0 after it; infinite without one."""
        return max(self.end - time.monotonic(), 0.0)

    def reason(self) -> str | None:
        """Reason to stop: ``time_limit`` or ``interrupted``; None while there is none."""
        asked = self.asked()
        if time.monotonic() >= self.end:
            return "time_limit"
        return "interrupted" if asked else None

    def is_over(self) -> bool:
        """Tell whether there is a reason to stop."""
        return self.reason() is not None

    def part(self, share: float) -> Clock:
        """Give a clock with a share of the time that is left."""
        now = time.monotonic()
        return replace(self, end=now + share * (self.end - now))


def begin() -> None:
    """Declare this process to be one command."""
    global _began
    _began = time.monotonic() - _age()


def began() -> float:
    """Give the `time.monotonic` at which the command began; now, if the process is no command."""
    return time.monotonic() if _began is None else _began


def _age() -> float:
    """Compute the age of this process in seconds; 0 if the system does not tell."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0 <= age < 60 else 0.0
