"""What a file may be before it is anything in particular."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.io.source import decode, read_source

from helpers import npz


def test_reads_a_file_with_its_name_and_suffix(tmp_path: Path) -> None:
    """The name stays as given, the suffix is in lower case."""
    path = tmp_path / "Sack.CSV"
    path.write_text("value,weight\n1,2\n")
    source = read_source(path)
    assert (source.name, source.suffix, source.text) == (str(path), ".csv", "value,weight\n1,2\n")


def test_reads_standard_input_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, which has no suffix."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"3 4\n")))
    source = read_source("-")
    assert (source.name, source.suffix, source.text) == ("<stdin>", "", "3 4\n")


@pytest.mark.parametrize(
    "data",
    [b"a\nb\n", b"a\r\nb\r\n", b"a\rb\r", b"\xef\xbb\xbfa\nb\n", b"a\nb\n\x1a", "a\nb\n".encode("utf-16")],
    ids=["unix", "dos", "old mac", "byte order mark", "dos end of file", "utf-16"],
)
def test_line_ends_and_marks_do_not_matter(data: bytes) -> None:
    """The same text comes out of every way to write it."""
    assert decode(data, "f", "").text == "a\nb\n"


def test_latin_1_is_text() -> None:
    """An author's name in Latin-1 does not make a file binary."""
    assert decode("COMMENT : Grötschel\n".encode("latin-1"), "f", "").text == "COMMENT : Grötschel\n"


@pytest.mark.parametrize("name", ["a.tsp.gz", "a.tsp.GZ", "a.tsp"])
def test_gzip_is_told_by_its_content(tmp_path: Path, name: str) -> None:
    """Compression is seen in the data, and its suffix is not the format's."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"NAME : x\n", mtime=0))
    source = read_source(path)
    assert (source.text, source.suffix) == ("NAME : x\n", ".tsp")


PACKED = gzip.compress(b"1 2 3 4 5 6 7 8\n", mtime=0)
CHANGED = PACKED[:-8] + bytes([PACKED[-8] ^ 1]) + PACKED[-7:]


@pytest.mark.parametrize("data", [*(PACKED[:keep] for keep in (2, 9, 15, 24, -8, -1)), CHANGED])
def test_damaged_gzip_is_refused(data: bytes) -> None:
    """Wherever it ends early, or if its checksum is wrong."""
    with pytest.raises(InputError, match=r"^f: damaged gzip data: "):
        decode(data, "f", "")


@pytest.mark.parametrize(
    "data",
    [b"", b" \r\n\t", b"\xef\xbb\xbf", "\n ".encode("utf-16"), b"\x1a", gzip.compress(b"", mtime=0)],
    ids=["nothing", "blanks", "mark", "utf-16 blanks", "dos end of file", "gzip of nothing"],
)
def test_nothing_is_refused(data: bytes) -> None:
    """A file of nothing but blanks is empty, in every encoding."""
    with pytest.raises(InputError, match=r"^f: is empty; expected an instance or a solution$"):
        decode(data, "f", "")


@pytest.mark.parametrize(
    "data",
    [b"PK\x01\x02\0\0", b"\x89PNG\r\n\x1a\n\0", bytes([0x80, 0x01, 0xE9]), b"\xff\xfea", b"\xff\xfe\0\xd8"],
    ids=["part of a zip", "png", "old pickle", "odd utf-16", "half a character"],
)
def test_binary_is_refused(data: bytes) -> None:
    """What holds no text says so, with the place."""
    with pytest.raises(InputError, match=r"^f: is binary \(.* offset \d+\); expected text$"):
        decode(data, "f", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *(("none.tsp", "no such file"), (".", "is a directory; give a file in it")),
        *(("a\0b", "cannot be read: "), ("x" * 300, "cannot be read: ")),
    ],
)
def test_what_is_no_file_is_said(tmp_path: Path, name: str, message: str) -> None:
    """Each in one line: what is not there, a directory, and names that no file can have."""
    with pytest.raises(InputError, match=message):
        read_source(tmp_path / name)


def test_a_pipe_is_read_to_its_end(tmp_path):
    """Whoever writes to it may take some time."""
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def write():
        with path.open("wb") as file:
            for piece in (b"3 ", b"4", b"\n"):
                file.write(piece)
                file.flush()
                time.sleep(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    assert read_source(path).text == "3 4\n"
    writer.join()


def test_a_pipe_without_a_writer_is_refused(tmp_path):
    """It would be waited for without end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="is a pipe that nobody writes to"):
        read_source(path)


def test_what_has_no_end_is_refused(monkeypatch):
    """At a share of the machine's memory."""
    monkeypatch.setattr("nsa_cli.core.machine.memory", lambda: 4 * 10**9)
    with pytest.raises(InputError, match=r"is more than 100 MB, .* take 3 GB, more than half"):
        read_source("/dev/zero")


@pytest.mark.parametrize(
    "data",
    [
        *(gzip.compress(b" " * 10**8), gzip.compress(b"[" + b"1," * 10**7 + b"1]")),
        *(
            gzip.compress(gzip.compress(b"\n" * 10**8)),
            npz(np.savez_compressed, weights=np.zeros(10**7)),
        ),
    ],
    ids=["blanks", "numbers", "twice", "arrays"],
)
def test_a_small_file_cannot_become_a_large_one(data):
    """In bounded memory."""
    tracemalloc.start()
    with pytest.raises(InputError):
        decode(data, "f", ".json")
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def head(shape, kind="<f8"):
    """An array's file without its numbers."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


REPEATED = np.arange(10**5, dtype=float).reshape(-1, 2)


@pytest.mark.parametrize(
    "data",
    [
        *(head((10**9, 0, 2)), head((10**9,), "<U0"), head((10**12, 2)) + bytes(160)),
        *(pickle.dumps([REPEATED] * 200_000, 4), pickle.dumps([np.zeros((10**9, 0, 2))] * 2, 4)),
        pickle.dumps(np.zeros((0, 10**9)), 2),
    ],
    ids=["no numbers", "no width", "not there", "repeated", "empty in a list", "empty"],
)
def test_arrays_that_are_larger_than_their_file_are_refused(data):
    """At once, and in one line."""
    begin = time.monotonic()
    with pytest.raises(InputError):
        decode(data, "f", "")
    assert time.monotonic() - begin < 3
