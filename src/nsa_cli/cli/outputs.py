"""Checks of outputs before anything is computed: they can be written, and replace nothing that is read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.problems import own_sources


def is_directory(output: str | None) -> bool:
    """Tell whether ``-o`` names a directory: one that is there, or any with a slash at its end."""
    if output is None or output == "-":
        return False
    return output.endswith(("/", os.sep)) or os.path.isdir(output)


def check_destination(output: str | None, inputs: Sequence[str] = ()) -> None:
    """Check that ``-o``, a file or a directory, can be written and is none of `inputs`.

    Raises
    ------
    UsageError
        If it cannot be written, or not be made, or is a folder of instances.
    """
    if not is_directory(output):
        check_output(output, inputs=inputs)
        return
    path = Path(output or "")
    there = next(p for p in (path, *path.parents, Path()) if os.path.lexists(p))
    if not os.path.isdir(there):
        raise UsageError(f"-o {output}: {there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"-o {output}: no permission to write")
    if identities([output]) & identities(path for path in inputs if os.path.isdir(path)):
        raise UsageError(
            f"-o {output}: is the folder of the instances, and the next run would read answers among them; "
            "give another folder"
        )


def file_in(directory: str | None, name: str) -> str:
    """Path of a file in an output directory, which is created if missing.

    Raises
    ------
    UsageError
        If it cannot be made.
    """
    path = Path(directory or "")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UsageError(f"-o {directory}: {getattr(error, 'strerror', None) or error}") from None
    return str(path / name)


def identities(paths: Iterable[str | None]) -> set[tuple[int, int]]:
    """Collect what files are, whatever their names: device and number on it; of those that are there."""
    found = set()
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            if path not in (None, "-"):
                status = os.stat(str(path))
                found.add((status.st_dev, status.st_ino))
    return found


#: Options that name files to be written; `identities` of all other files that the options of a command name.
_OUTPUTS = ("output", "out", "plot", "curve")
_inputs: ContextVar[set[tuple[int, int]]] = ContextVar("inputs")


def note_inputs(options: Mapping[str, Any]) -> None:
    """Remember the files that a command's options name, but for outputs, which must be none of them."""
    given = [value for name, value in options.items() if name not in _OUTPUTS]
    words = [word for value in given for word in (value if isinstance(value, list) else [value])]
    paths = [word for word in words if isinstance(word, str)]
    _inputs.set(identities([*paths, *(path.rpartition(":")[0] for path in paths)]))  # FILE.py:CLASS


def check_apart(output: str | Path, inputs: set[tuple[int, int]], option: str = "-o") -> None:
    """Check that an output replaces nothing that is read: what options name, own problems, and `inputs`.

    Raises
    ------
    UsageError
        If it is one of the inputs, by whatever name.
    """
    known = inputs | _inputs.get(set()) | identities(own_sources())
    if os.path.isfile(output) and identities([str(output)]) & known:
        raise UsageError(f"{option} {output}: would replace a file that is read; give another name")


def check_output(output: str | None, option: str = "-o", inputs: Sequence[str | None] = ()) -> None:
    """Check that an output file can be written and is none of `inputs`.

    Raises
    ------
    UsageError
        If it is a directory or one of `inputs`, it cannot be a file's name, or its directory does not exist
        or cannot be written.
    """
    if output in (None, "-"):
        return
    assert output is not None
    path = Path(output)
    check_apart(path, identities(inputs), option)
    if os.path.isdir(path):
        raise UsageError(f"{option} {output}: is a directory; give a file name")
    if not os.path.isdir(path.parent):
        raise UsageError(f"{option} {output}: there is no directory {path.parent}")
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:  # too long a name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{option} {shown(output)}: cannot be a file: {reason}") from None
    if not os.access(path if exists else path.parent, os.W_OK):
        raise UsageError(f"{option} {output}: no permission to write")
