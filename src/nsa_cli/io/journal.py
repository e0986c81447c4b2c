"""Journals: the finished units of long work, a line each, from which the same command goes on."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.io.json_text import dumps


def key_of(parts: Mapping[str, Any]) -> str:
    """Hash what an outcome depends on (SHA-256, hexadecimal): plain data and arrays, in any order."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), list(value.shape), value.tolist()]
    raise TypeError(f"{type(value).__name__} has no key")


class Journal:
    """Append-only file of finished units: a line of JSON each, ``{"key": …, "outcome": …}``.

    A line counts once its line break is there: what was being written when a process was killed is dropped by
    the next one. While a journal is open nobody else can open it; the lock ends with the process.

    Parameters
    ----------
    path : str or Path
        Made if it is not there, with its folder.
    kind : str
        What the units are, as the first line says it: ``solve``.
    anew : bool
        Whether to forget what is in it.

    Raises
    ------
    UsageError
        If it cannot be written, or another run is writing to it.
    InputError
        If it is something else than such a journal; names the line.
    """

    def __init__(self, path: str | Path, kind: str, *, anew: bool = False) -> None:
        self.path = Path(path)
        self._lines: dict[str, bytes] = {}
        self._end = 0
        head = _line({"journal": kind, "form": 1})
        with self._named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a+b", buffering=0)
        try:
            self._lock()
            with self._named():
                if not self.path.is_file():
                    raise OSError(errno.EINVAL, "is no file that keeps what is written")
                if not anew:
                    self._read(head)
                if self.path.stat().st_size > self._end:
                    self._file.truncate(self._end)
                if self._end == 0:
                    self._write(head)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, key: str) -> Any:
        """Read the outcome of a unit; of several under one key the last."""
        return json.loads(self._lines[key])["outcome"]

    def append(self, key: str, outcome: Any) -> None:
        """Write the outcome of a unit, strict JSON; it is in the file when this returns.

        Raises
        ------
        UsageError
            If it cannot be written; the journal is then as it was.
        """
        line = _line({"key": key, "outcome": outcome})
        with self._named():
            self._write(line)
        self._lines[key] = line

    def close(self, *, remove: bool = False) -> None:
        """Close the journal; remove the file if it has served its purpose."""
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self._file.close()

    def _lock(self) -> None:
        """Keep others out, until the file is closed or the process ends."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it may have removed it meanwhile.
            free = os.path.samestat(os.fstat(self._file.fileno()), os.stat(self.path))
        except OSError as error:  # there are file systems without locks
            free = error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)
        if not free:
            raise UsageError(
                f"{self.path}: another run is writing to it; wait until it has ended, "
                "or give a folder of its own"
            )

    def _read(self, head: bytes) -> None:
        """Read the lines; what follows the last line break is left out."""
        expected = head.decode().strip()
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                whole = line.endswith(b"\n")
                key = _key(line)
                if not (head.startswith(line) if number == 1 else key is not None or not whole):
                    got = shown(line[:60].decode("utf-8", "backslashreplace"))
                    message = f"expected {expected}, got {got}; move the file away, or give another folder"
                    raise InputError(message, str(self.path), number)
                if not whole:
                    break
                if key is not None:
                    self._lines[key] = line
                self._end += len(line)
                expected = '{"key": …, "outcome": …}'

    def _write(self, data: bytes) -> None:
        """Append all of it, or nothing."""
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._end += len(data)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Context in which an error of the file names it."""
        try:
            yield
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"{self.path}: cannot be written: {why}") from None


def _line(data: Mapping[str, Any]) -> bytes:
    return (dumps(data) + "\n").encode()


def _key(line: bytes) -> str | None:
    """Read the key of a line; None if it is none of a unit."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fits = isinstance(read, dict) and set(read) == {"key", "outcome"} and isinstance(read["key"], str)
    return read["key"] if fits else None
