"""Memory that reading a file may take, so that a small file, or an endless one, cannot fill the machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

#: Memory that numbers and lists take, at most, for each byte of the text that they are written in.
BYTES_A_BYTE = 20

#: Bytes that reading may take unless the user says more; and what a compressed file may always unpack to.
_DEFAULT, _ALWAYS = 2_000_000_000, 8_000_000


#: As the user gives it; None for the default.
_LIMIT: ContextVar[int | None] = ContextVar("memory limit", default=None)


@contextlib.contextmanager
def memory_limit(number: int | None) -> Iterator[None]:
    """Let what is read within the context take so many bytes; None leaves the limit as it is: 2 GB."""
    token = _LIMIT.set(_LIMIT.get() if number is None else number)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def largest_file() -> int:
    """Bytes of a file, at most."""
    return (_LIMIT.get() or _DEFAULT) // BYTES_A_BYTE


def largest_unpacked(packed: int) -> int:
    """Bytes that a compressed file of a size may unpack to, at most.

    Texts of the field shrink to a third or a tenth. A user who gives a limit knows the file.
    """
    if _LIMIT.get() is not None:
        return largest_file()
    return min(max(BYTES_A_BYTE * packed, _ALWAYS), largest_file())


def needed_memory(size: int) -> str:
    """Memory that reading a file of a size may take, as an option has it: ``3GB``."""
    return f"{-(-size * BYTES_A_BYTE // 10**9)}GB"
