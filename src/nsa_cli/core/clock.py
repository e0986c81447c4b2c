"""When the user's clock started: with the process, not with the first line that had time to look."""

from __future__ import annotations

import os
import time

#: `time.monotonic` at which this process began, where it is a command of ours.
_began: float | None = None


def begin() -> None:
    """Note that this process is one command, which began when the process did."""
    global _began
    _began = time.monotonic() - _age()


def began() -> float:
    """`time.monotonic` at which the command began; in a process that does other things too, now."""
    return time.monotonic() if _began is None else _began


def _age() -> float:
    """Seconds that this process has lived, as far as the system tells, else 0."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return age if 0 <= age < 60 else 0.0
