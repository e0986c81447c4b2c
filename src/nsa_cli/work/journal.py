"""Journals: the finished units of long work, a line each, from which the same command goes on."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from nsa_cli.core.errors import InputError, UsageError, shown
from nsa_cli.io.json_text import dumps

try:
    import fcntl
except ImportError:  # where there are no such locks there are none
    fcntl = None  # type: ignore[assignment]


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
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._file = self._locked()
        try:
            if not anew:
                self._read(kind)
            if os.fstat(self._file.fileno()).st_size > self._end:
                self._file.truncate(self._end)
            if self._end == 0:
                self._write(_head(kind))
        except OSError as error:
            self._file.close()
            raise self._fault(error) from None
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, key: str) -> Any:
        """Read the outcome of a unit; of several under one key the last."""
        place, length = self._places[key]
        self._file.seek(place)
        return json.loads(self._file.read(length))["outcome"]

    def append(self, key: str, outcome: Any) -> None:
        """Write the outcome of a unit, strict JSON; it is in the file when this returns.

        Raises
        ------
        UsageError
            If it cannot be written; the journal is then as it was.
        """
        place = self._end
        try:
            self._write((dumps({"key": key, "outcome": outcome}) + "\n").encode())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(place)
            raise self._fault(error) from None
        self._places[key] = (place, self._end - place)

    def close(self, *, remove: bool = False) -> None:
        """Close the journal; remove the file if it has served its purpose."""
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
        self._file.close()

    def _locked(self) -> BinaryIO:
        """Open and lock the file; again if whoever had the lock has removed it meanwhile."""
        while True:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                number = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            except (OSError, ValueError) as error:
                raise self._fault(error) from None
            file = os.fdopen(number, "r+b", buffering=0)
            try:
                if not stat.S_ISREG(os.fstat(number).st_mode):
                    raise OSError(errno.EINVAL, "is no file that keeps what is written")
                _lock(number)
                if os.path.samestat(os.fstat(number), os.stat(self.path)):
                    return file
            except BlockingIOError:
                file.close()
                raise UsageError(
                    f"{self.path}: another run is writing to it; wait until it has ended, "
                    "or give a folder of its own"
                ) from None
            except FileNotFoundError:
                pass
            except OSError as error:
                file.close()
                raise self._fault(error) from None
            file.close()

    def _read(self, kind: str) -> None:
        """Find the lines; what follows the last line break is left out."""
        head = _head(kind)
        with open(self.path, "rb") as file:
            for number, line in enumerate(file, 1):
                whole = line.endswith(b"\n")
                if number == 1 and not (line == head or (not whole and head.startswith(line))):
                    raise self._strange(f"expected {head.decode().strip()}", line, number)
                if not whole:
                    break
                if number > 1:
                    self._places[self._key(line, number)] = (self._end, len(line))
                self._end += len(line)

    def _key(self, line: bytes, number: int) -> str:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict) or set(read) != {"key", "outcome"} or not isinstance(read["key"], str):
            raise self._strange('expected {"key": …, "outcome": …}', line, number)
        return read["key"]

    def _strange(self, expected: str, line: bytes, number: int) -> InputError:
        got = shown(line[:60].decode("utf-8", "backslashreplace"))
        return InputError(
            f"{expected}, got {got}; move the file away, or give another folder", str(self.path), number
        )

    def _write(self, data: bytes) -> None:
        self._file.seek(self._end)
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._end += len(data)

    def _fault(self, error: Exception) -> UsageError:
        return UsageError(f"{self.path}: cannot be written: {getattr(error, 'strerror', None) or error}")


def _head(kind: str) -> bytes:
    return (dumps({"journal": kind, "form": 1}) + "\n").encode()


def _lock(file: int) -> None:
    """Lock a file for this process.

    Raises
    ------
    BlockingIOError
        If another process has it.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):  # file systems without locks
            raise
