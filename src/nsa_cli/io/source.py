"""Reading files, standard input and gzip as text or arrays."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from dataclasses import replace
from pathlib import Path

from nsa_cli.core.errors import InputError
from nsa_cli.core.reading import Reading
from nsa_cli.core.record import Source
from nsa_cli.io.arrays import LARGEST, holds_arrays, read_arrays

#: Name of standard input in messages.
STDIN = "<stdin>"


def read_source(path: str | Path, reading: Reading | None = None) -> Source:
    """Read a file, or standard input for ``-``; `reading` is what the user says about its form.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, is empty, or holds neither text nor arrays.
    """
    source = _read(path)
    return source if reading is None else replace(source, reading=reading)


def _read(path: str | Path) -> Source:
    if str(path) == "-":
        return decode(sys.stdin.buffer.read(), STDIN, "")
    file = Path(path)
    name = str(path)
    if not name:
        raise InputError("expected the name of a file, got nothing", "''")
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", name) from None
    except IsADirectoryError:
        raise InputError("is a directory; give a file in it", name) from None
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", name) from None
    suffixes = [s.lower() for s in file.suffixes if s.lower() != ".gz"]
    return decode(data, name, suffixes[-1] if suffixes else "")


def decode(data: bytes, name: str, suffix: str) -> Source:
    """Decode bytes: gzip, byte order marks, text or arrays.

    Raises
    ------
    InputError
        If the data are empty, damaged or something else.
    """
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
                data = packed.read(LARGEST + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"damaged gzip data: {error}", name) from None
        if len(data) > LARGEST:
            raise InputError(f"is more than {LARGEST // 2**20} MiB when uncompressed", name)
    if holds_arrays(data):
        return Source(name, suffix, "", read_arrays(data, name))
    text = _text(data, name).replace("\r\n", "\n").replace("\r", "\n").rstrip("\x1a")
    if not text.strip():
        raise InputError("is empty; expected an instance or a solution", name)
    return Source(name, suffix, text)


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
