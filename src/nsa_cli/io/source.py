"""Reading files, standard input and gzip as text or arrays."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import stat
import sys
import time
import zlib
from dataclasses import replace
from io import FileIO
from pathlib import Path

from nsa_cli.core.errors import InputError
from nsa_cli.core.machine import BYTES_A_BYTE, largest_file, largest_unpacked
from nsa_cli.core.record import Reading, Source
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
    name = STDIN if str(path) == "-" else str(path)
    source = decode(read_bytes(path), name, suffix_of(path))
    return source if reading is None else replace(source, reading=reading)


def suffix_of(path: str | Path) -> str:
    """Give the ending of a file's name, in lower case, without that of compression."""
    suffixes = [suffix for suffix in map(str.lower, Path(path).suffixes) if suffix != ".gz"]
    return suffixes[-1] if suffixes else ""


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
    limit = largest_file() if most is None else most
    pieces: list[bytes] = []
    size = 0
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if name == STDIN else _opened(path) as file:
            pipe = name != STDIN and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
            until = time.monotonic() + _NOBODY if pipe else 0.0
            while (piece := file.read(_PIECE)) != b"" or (not pieces and time.monotonic() < until):
                if not piece:  # None: somebody has the pipe open, and has written nothing yet
                    time.sleep(0.02)
                    continue
                pieces.append(piece)
                if (size := size + len(piece)) > limit:
                    raise _too_large(size, limit, name, most)
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a directory; give a file in it", name) from None
    except (OSError, ValueError, AttributeError) as error:  # a zero byte in the name; no standard input
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    if pipe and not pieces:
        raise InputError("is a pipe that nobody writes to", name)
    return b"".join(pieces)


def _opened(path: str | Path) -> FileIO:
    """Open a file; a pipe without waiting for its other end, which may never come."""
    return open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))


def _too_large(size: int, limit: int, name: str, most: int | None) -> InputError:
    if most is not None:
        return InputError(f"is too large: expected at most {most} bytes", name)
    needed = f"{-(-size * BYTES_A_BYTE // 10**9)} GB, more than half of this machine's memory"
    return InputError(f"is more than {limit // 10**6} MB, and reading it may take {needed}", name)


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
    elif data.startswith(b"\xd0\xcf\x11\xe0"):
        raise InputError("is an Excel workbook (.xls); save the sheet as CSV, and give that file", name)
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
