"""Sizes of files, at most: a small one that unpacks to a large one, or an endless one, fills no memory."""

from __future__ import annotations

from nsa_cli.core.machine import memory

#: Memory that numbers and lists take, at most, for each byte of the text that they are written in.
BYTES_A_BYTE = 20

#: Bytes that a compressed file may always unpack to.
_ALWAYS = 8_000_000


def largest_file() -> int:
    """Bytes of a file, at most: to read it takes no more than half of the machine's memory."""
    return memory() // 2 // BYTES_A_BYTE


def largest_unpacked(packed: int) -> int:
    """Bytes that a compressed file of a size may unpack to, at most.

    Texts of the field shrink to a third or a tenth.
    """
    return min(max(BYTES_A_BYTE * packed, _ALWAYS), largest_file())
