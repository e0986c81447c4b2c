"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
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
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise UsageError(f"{path}: is a directory; give a file name")
            path.write_bytes(data)
            return
        _replace(Path(os.path.realpath(path)), data)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name, half a character in it
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be written: {reason}") from None


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".nsa-{secrets.token_hex(8)}.tmp")
    try:
        file = temporary.open("xb")
    except PermissionError:
        if not os.access(path, os.W_OK):
            raise
        path.write_bytes(data)  # a file that may be written where none may be made
        return
    try:
        if path.exists():
            shutil.copymode(path, temporary)
        with file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
