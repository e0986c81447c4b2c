"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from nsa_cli.core.errors import UsageError


def write_text(path: str | Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; see `write_bytes`.

    Raises
    ------
    UsageError
        If the file cannot be written, or the text holds half a character.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{path}: cannot be written: {error}") from None
    write_bytes(path, data)


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write `data` to `path` through a temporary file beside it and a rename.

    A reader sees the old file or the new one, never half of one; what cannot be renamed over, such as a
    pipe or ``/dev/stdout``, is written directly. A link stays a link: its target is replaced.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    path = Path(path)
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            if path.is_dir():
                raise UsageError(f"{path}: is a directory; give a file name")
            path.write_bytes(data)
            return
        _replace(Path(os.path.realpath(path)), data)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name, half a character in it
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be written: {reason}") from None


def _replace(path: Path, data: bytes) -> None:
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".nsa-", suffix=".tmp")
    except PermissionError:
        if not os.access(path, os.W_OK):
            raise
        path.write_bytes(data)  # a file that may be written where none may be made
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
