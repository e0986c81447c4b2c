"""Cores, memory and processor of the machine."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
from pathlib import Path

from nsa_cli.core.errors import NoMemoryError


def check_memory(needed: int) -> None:
    """Refuse more bytes than the machine has: Linux ends a process that fills memory.

    Parameters
    ----------
    needed : int
        Bytes, as a low estimate.

    Raises
    ------
    NoMemoryError
        If there is not so much, used or not.
    """
    if needed > memory():
        raise NoMemoryError


def memory() -> int:
    """Bytes of the machine, used or not."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def processor() -> str:
    """Name of the processor, or its architecture where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
