"""Start time of a command: that of its process, imports included."""

from __future__ import annotations

import os
import time

#: `time.monotonic` at the start of this process, if it is one command.
_began: float | None = None


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
