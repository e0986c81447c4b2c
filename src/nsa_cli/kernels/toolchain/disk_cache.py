"""Folder and files of compiled kernels: private, and checked before they are run.

What is read from there is executed. So the folder must be the user's own, with nobody else able to write to
it or to a folder above it; a file that is empty, cut or garbled is as none, and is made again.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from nsa_cli.kernels.toolchain.sources import digest_of, rooms

#: Folders of other versions are dropped when unused for this long, in seconds.
_KEEP = 30 * 24 * 3600

#: Bytes of the hash in front of each file.
_HASH = hashlib.sha256().digest_size


@cache
def cache_folder() -> Path:
    """Writable folder of this version's compiled kernels; this process's own where there is none to trust.

    It is named by a hash of all kernels' sources: whatever is edited, what is old goes together.
    """
    digest = hashlib.sha256(metadata.version("numba").encode())
    digest.update("".join(map(digest_of, rooms())).encode())
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


def read_checked(path: Path) -> bytes:
    """Read a file that `write_checked` wrote.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is not what was written.
    """
    content = path.read_bytes()
    if hashlib.sha256(content[_HASH:]).digest() != content[:_HASH]:
        raise ValueError(f"{path}: not what was written")
    return content[_HASH:]


def write_checked(path: Path, content: bytes) -> None:
    """Write a file with its hash in front, whole or not at all; none where the disk has no room."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
