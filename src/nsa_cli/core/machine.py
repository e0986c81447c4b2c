"""The machine: cores, memory, libraries, and what a launcher such as `torchrun` tells."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from nsa_cli.core.errors import NoMemoryError, UsageError, shown

#: Memory that numbers and lists take, at most, for each byte of the text that they are written in.
BYTES_A_BYTE = 20

#: Bytes that a compressed file may always unpack to.
_ALWAYS = 8_000_000

#: How torch says that there is no memory where it has no class for it: of the CPU, of CUDA's libraries.
_NO_MEMORY = re.compile(r"can't allocate memory|not enough memory|out of memory|STATUS_ALLOC_FAILED")


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


@functools.cache
def machine() -> dict[str, Any]:
    """Name system, library versions and cores, which may change last digits and times."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": metadata.version("numpy"),
        "torch": _version_of("torch"),
        "cpus": os.cpu_count(),
    }


def _version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # while this package is built
        return None


def largest_file() -> int:
    """Bytes of a file, at most: to read it takes no more than half of the machine's memory."""
    return memory() // 2 // BYTES_A_BYTE


def largest_unpacked(packed: int) -> int:
    """Bytes that a compressed file of a size may unpack to, at most.

    Texts of the field shrink to a third or a tenth.
    """
    return min(max(BYTES_A_BYTE * packed, _ALWAYS), largest_file())


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


class Launch(NamedTuple):
    """A process among those that were launched together.

    Attributes
    ----------
    rank, size : int
        Number of this process, from 0, and of all.
    local_rank, local_size : int
        The same of those on this machine.
    attempt : int
        How often all were started again.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    attempt: int


def launch() -> Launch | None:
    """Read what the environment tells; None for a process that is on its own.

    Raises
    ------
    UsageError
        If it tells half of it, or what cannot be.
    """
    attempt = _number("TORCHELASTIC_RESTART_COUNT")
    size = _number("WORLD_SIZE", 1)
    if size is None or (size == 1 and attempt is None):
        return None
    rank, port = _number("RANK"), _number("MASTER_PORT", most=65535)
    told = {"RANK": rank, "MASTER_ADDR": os.environ.get("MASTER_ADDR") or None, "MASTER_PORT": port}
    if missing := [name for name, value in told.items() if value is None]:
        raise UsageError(
            f"WORLD_SIZE={size} in the environment, but no {' or '.join(missing)}; start processes with "
            "torchrun, or take it out"
        )
    assert rank is not None
    if rank >= size:
        raise UsageError(f"RANK={rank} in the environment: expected less than WORLD_SIZE, {size}")
    local_rank, local_size = _number("LOCAL_RANK"), _number("LOCAL_WORLD_SIZE", 1)
    return Launch(rank, size, local_rank or 0, local_size or 1, attempt or 0)


def _number(name: str, least: int = 0, most: int = 10**9) -> int | None:
    """Read a whole number; None if it is not there."""
    text = os.environ.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most):
        raise UsageError(
            f"{name}={shown(text)} in the environment: expected a whole number from {least} to {most}, "
            "as torchrun sets it"
        )
    return int(text)
