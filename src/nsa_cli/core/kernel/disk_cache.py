"""Folder and files of kernels that Numba has compiled: private, and checked before they are run.

What is read from there is unpickled and executed. So the folder must be the user's own, with nobody else able
to write to it or to a folder above it; a file that is empty, cut or garbled is as none, and is made again.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import os
import pickle
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

from nsa_cli.core.kernel.sources import digest_of, kernel_sources

#: Folders of other versions are dropped when unused for this long, in seconds.
_KEEP = 30 * 24 * 3600

#: Bytes of the hash in front of each file.
_HASH = hashlib.sha256().digest_size


@cache
def cache_folder() -> Path:
    """Writable folder of this version's compiled kernels; this process's own where there is none to trust.

    Numba keeps compiled functions under the time stamp of their own source file. A kernel is made of
    functions from several files, and an edit of another one would go unnoticed. So the folder is named by a
    hash of all kernels' sources: whatever is edited, an old compilation is never found again.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    digest.update(digest_of(kernel_sources()).encode())
    for parent in _parents():
        folder = parent / f"kernels-{digest.hexdigest()[:16]}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = folder.resolve()
            if not is_private(folder):
                continue
            (folder / "used").touch()
        except OSError:
            continue
        _drop_old(parent)
        return folder
    alone = tempfile.mkdtemp(prefix="nsa-kernels-")
    atexit.register(shutil.rmtree, alone, ignore_errors=True)
    return Path(alone)


def _parents() -> Iterator[Path]:
    """Folders that may hold it."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # others are to be ignored, says the XDG specification
        yield Path(chosen) / "nsa"
    else:
        with contextlib.suppress(RuntimeError):  # neither HOME nor an entry for this user
            yield Path.home() / ".cache" / "nsa"
    yield Path(tempfile.gettempdir()) / f"nsa-{os.getuid()}"


def is_private(folder: Path) -> bool:
    """Tell whether nobody but this user, or root, can put anything into a folder, given without links.

    In a folder with the sticky bit, such as ``/tmp``, others cannot rename what is not theirs.
    """
    own = folder.lstat()
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != os.getuid() or own.st_mode & 0o022:
        return False
    above = [parent.lstat() for parent in folder.parents]
    return all(
        s.st_uid in (0, os.getuid()) and (not s.st_mode & 0o022 or s.st_mode & stat.S_ISVTX) for s in above
    )


def _drop_old(parent: Path) -> None:
    for folder in parent.glob("kernels-*"):
        with contextlib.suppress(OSError):
            if (folder / "used").stat().st_mtime < time.time() - _KEEP:
                shutil.rmtree(folder, ignore_errors=True)


class CheckedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's files of a function, each with a hash in front; without room on the disk there are none."""

    def save(self, key: Any, data: Any) -> None:
        """Save an entry, one process at a time."""
        with contextlib.suppress(OSError), open(Path(self._cache_path) / "index.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            super().save(key, data)

    def _load_index(self) -> dict[Any, Any]:
        try:
            version, stamp, overloads = self._read(self._index_path)
        except (OSError, ValueError):
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, Any]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        try:
            return self._read(self._data_path(name))
        except ValueError as error:
            raise FileNotFoundError(name) from error  # as if it were not there

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        content = Path(path).read_bytes()
        if hashlib.sha256(content[_HASH:]).digest() != content[:_HASH]:
            raise ValueError(f"{path}: not what was written")
        return pickle.loads(content[_HASH:])

    def _write(self, path: str, what: Any) -> None:
        content = self._dump(what)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)
