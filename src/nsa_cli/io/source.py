"""Reading files, standard input and gzip as text or arrays."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import select
import stat
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path

from nsa_cli.core.errors import InputError
from nsa_cli.core.machine import BYTES_A_BYTE, largest_file, largest_unpacked
from nsa_cli.core.reading import Reading
from nsa_cli.core.record import Source
from nsa_cli.io.arrays import ARRAYS, check_unpacked, read_arrays

#: Name of standard input in messages.
STDIN = "<stdin>"

#: Bytes read at once, and seconds that a pipe may be without anybody who writes to it.
_PIECE, _NOBODY = 1 << 20, 2.0


def read_source(path: str | Path, reading: Reading | None = None) -> Source:
    """Read a file, or standard input for ``-``; `reading` is what the user says about its form.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, is empty or too large, or holds neither text nor arrays.
    """
    data = read_bytes(path)
    suffixes = [s.lower() for s in Path(path).suffixes if s.lower() != ".gz"]
    name, suffix = (STDIN, "") if str(path) == "-" else (str(path), suffixes[-1] if suffixes else "")
    source = decode(data, name, suffix)
    return source if reading is None else replace(source, reading=reading)


def read_bytes(path: str | Path, most: int | None = None) -> bytes:
    """Read a file or a pipe, or standard input for ``-``, to its end but not without end.

    Parameters
    ----------
    path : str or Path
    most : int, optional
        Bytes at most; by default as many as reading may take memory for.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read or is larger, or it is a pipe that nobody writes to.
    """
    name = STDIN if str(path) == "-" else str(path)
    if not name:
        raise InputError("expected the name of a file, got nothing", "''")
    try:
        if name == STDIN:
            data = _read_stdin(most)
        else:
            # A pipe is opened without waiting for the other end, which may never come.
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            try:
                data = _read(file, name, most)
            finally:
                os.close(file)
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a directory; give a file in it", name) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    return data


def _read_stdin(most: int | None) -> bytes:
    """Read standard input, which may be replaced by something that is no file."""
    try:
        file = sys.stdin.fileno()
    except (AttributeError, OSError):
        limit = largest_file() if most is None else most
        data = sys.stdin.buffer.read(limit + 1)
        _check_size(len(data), limit, STDIN, most)
        return data
    return _read(file, STDIN, most)


def _read(file: int, name: str, most: int | None) -> bytes:
    limit = largest_file() if most is None else most
    status = os.fstat(file)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    _check_size(status.st_size if stat.S_ISREG(status.st_mode) else 0, limit, name, most)
    pieces, size, began = [], 0, time.monotonic()
    waiting = stat.S_ISFIFO(status.st_mode) and name != STDIN
    while True:
        piece = _piece(file)
        if piece:
            pieces.append(piece)
            size += len(piece)
            _check_size(size, limit, name, most)
        elif piece is None:
            waiting = False  # there is someone who has written nothing yet
            select.select([file], [], [])
        elif waiting and not pieces:
            if time.monotonic() >= began + _NOBODY:
                raise InputError("is a pipe that nobody writes to", name)
            time.sleep(0.02)
        else:
            return b"".join(pieces)


def _piece(file: int) -> bytes | None:
    """Read some bytes; none at the end, None if there are none yet."""
    with contextlib.suppress(BlockingIOError):
        return os.read(file, _PIECE)
    return None


def _check_size(size: int, limit: int, name: str, most: int | None) -> None:
    if size <= limit:
        return
    if most is not None:
        raise InputError(f"is too large: expected at most {most} bytes", name)
    needed = f"{-(-size * BYTES_A_BYTE // 10**9)} GB, more than half of this machine's memory"
    raise InputError(f"is more than {limit // 10**6} MB, and reading it may take {needed}", name)


def decode(data: bytes, name: str, suffix: str) -> Source:
    """Decode bytes: gzip, byte order marks, text or arrays.

    Raises
    ------
    InputError
        If the data are empty, damaged or something else.
    """
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(data, name)
    if data.startswith(ARRAYS):
        return Source(name, suffix, "", read_arrays(data, name))
    text = _text(data, name).replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
    if not text.strip():
        raise InputError("is empty; expected an instance or a solution", name)
    return Source(name, suffix, text)


def _unpacked(data: bytes, name: str) -> bytes:
    most = largest_unpacked(len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            text = packed.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"damaged gzip data: {error}", name) from None
    check_unpacked(len(text), most, name)
    return text


def _text(data: bytes, name: str) -> str:
    """Decode UTF-8 or, with a byte order mark, UTF-16; Latin-1 where UTF-8 cannot be."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif b"\0" in data:
        raise InputError(f"is binary (a zero byte at offset {data.index(0)}); expected text", name)
    else:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Old files of the field carry an author's name in Latin-1; anything else is no text.
        if encoding != "utf-8-sig" or any(b < 32 and b not in b"\t\n\r\f\v\x1a" for b in data):
            raise InputError(
                f"is binary ({error.reason} at offset {error.start}); expected text", name
            ) from None
        return data.decode("latin-1")
