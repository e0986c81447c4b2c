"""Cores and memory of the machine."""

from __future__ import annotations

import gc
import os
import re
import sys

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


#: How torch says that there is no memory where it has no class for it: of the CPU, of CUDA's libraries.
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether an error says that there is no memory: Python's, ours, or torch's, of any device.

    So does an error of torch's that such a one has led to, as that of a capture that was broken off.
    """
    if isinstance(error, MemoryError | NoMemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    named = type(error).__name__ == "OutOfMemoryError" or _NO_MEMORY.search(str(error)) is not None
    return named or is_out_of_memory(error.__context__)


def release_memory() -> None:
    """Free what nobody can reach any more, on a GPU, too; once an error that held it is gone."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
