"""Errors of memory, of whatever library, and what is free after one."""

from __future__ import annotations

import gc
import re
import sys

from nsa_cli.core.errors import NoMemoryError

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
