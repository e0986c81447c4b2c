"""Files that Numba keeps compiled functions in, checked before they are unpickled (`disk_cache`)."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from nsa_cli.kernels.toolchain.disk_cache import read_checked


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
        return pickle.loads(read_checked(Path(path)))

    def _write(self, path: str, what: Any) -> None:
        content = self._dump(what)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)
