"""What a worker process and its parent say to each other through pipes."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO, NamedTuple

from nsa_cli.work.pickles import pack, unpack

#: What ends the units under way.
STOP = "stop"


class Raised(NamedTuple):
    """What was raised in a worker, for its parent to raise."""

    error: Exception


_LENGTH = struct.Struct("<Q")


def send(file: BinaryIO, value: Any) -> None:
    """Write a value to a pipe.

    Raises
    ------
    OSError
        If the other process has gone.
    """
    data = pack(value)
    file.write(_LENGTH.pack(len(data)) + data)
    file.flush()


def receive(file: BinaryIO) -> Any:
    """Read a value from a pipe.

    Raises
    ------
    EOFError
        If the other process has gone, maybe in the middle of a value.
    """
    head = file.read(_LENGTH.size)
    data = file.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""
    if not data or len(data) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return unpack(data)
