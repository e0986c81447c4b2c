"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.problems import builtin_names


def problem_names(incomplete: str) -> list[str]:
    """Complete the name of a problem, for the shell."""
    return [name for name in builtin_names() if name.startswith(incomplete)]


ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM", help="Name of a problem, or FILE.py:CLASS.", autocompletion=problem_names
    ),
]
Owner = Annotated[
    str | None,
    typer.Option("-p", "--problem", help="Problem, or FILE.py:CLASS; recognised from the file by default."),
]
Capacity = Annotated[str | None, typer.Option("--capacity", help="Capacity, where the file has none.")]
Pairs = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Another key of the instance; may be repeated."),
]
Device = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Same seed, same answer; drawn and reported if not given.")
]
Neighbourhood = Annotated[
    str | None,
    typer.Option(
        "--neighbourhood",
        help="Moves and energy of annealing: paper; squares (of loads) for bins; nearest:K for tours. "
        "By default the policy's.",
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option("--candidates", metavar="K", help="For tours: the neighbourhood of the K nearest cities."),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Errors only on stderr.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say on stderr what was chosen.")]

#: One number, or a first and a last one.
_RANGE = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")
_MOST_NUMBERS = 10_000


def parse_settings(pairs: Sequence[str], capacity: str | None) -> dict[str, Any]:
    """Read ``KEY=VALUE`` pairs; a value is JSON, or a text if it is none.

    Raises
    ------
    UsageError
        If a pair has no ``=``.
    """
    settings: dict[str, Any] = {}
    for pair in [*pairs, *([f"capacity={capacity}"] if capacity is not None else [])]:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set: expected KEY=VALUE, got {pair!r}")
        try:
            settings[key.strip()] = json.loads(text)
        except ValueError:
            settings[key.strip()] = text
    return settings


def parse_names(text: str) -> tuple[str, ...]:
    """Read a list of names between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_numbers(option: str, text: str, *, minimum: int = 1) -> tuple[int, ...]:
    """Read a list of whole numbers, each once: ``50,100`` or ``1..5`` or both.

    Raises
    ------
    UsageError
        If it is something else, or a number is below `minimum`.
    """
    numbers: list[int] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not minimum <= first <= last < first + _MOST_NUMBERS:
            raise UsageError(
                f"{option}: expected whole numbers from {minimum} on, as 1,2,5 or 1..5, got {shown(text)}"
            )
        numbers += range(first, last + 1)
    return tuple(dict.fromkeys(numbers))


def is_directory(output: str | None) -> bool:
    """Tell whether ``-o`` names a directory: one that is there, or any with a slash at its end."""
    if output is None or output == "-":
        return False
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def check_destination(output: str | None, inputs: Sequence[str] = ()) -> None:
    """Refuse a file, one of `inputs` too, or a directory that cannot be written; before anything is computed.

    Raises
    ------
    UsageError
        If it cannot be written, or not be made.
    """
    if not is_directory(output):
        check_output(output, inputs=inputs)
        return
    path = Path(output or "")
    there = next(p for p in (path, *path.parents) if p.exists())
    if not there.is_dir():
        raise UsageError(f"-o {output}: {there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"-o {output}: no permission to write")


def file_in(directory: str | None, name: str) -> str:
    """Give the path of a file in a directory, which is made now that there is something to write.

    Raises
    ------
    UsageError
        If it cannot be made.
    """
    path = Path(directory or "")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"-o {directory}: {error.strerror or error}") from None
    return str(path / name)


def check_apart(output: str | Path, inputs: Sequence[str | None], option: str = "-o") -> None:
    """Refuse an output that would replace an instance.

    Raises
    ------
    UsageError
        If it is one of the inputs, by whatever name.
    """
    files = [Path(path) for path in inputs if path not in (None, "-")]
    if Path(output).is_file() and any(file.exists() and file.samefile(output) for file in files):
        raise UsageError(f"{option} {output}: would replace the instance that is read; give another name")


def check_output(output: str | None, option: str = "-o", inputs: Sequence[str | None] = ()) -> None:
    """Refuse an output that cannot be written, before anything is computed.

    Raises
    ------
    UsageError
        If it is a directory or one of `inputs`, or its directory does not exist or cannot be written.
    """
    if output in (None, "-"):
        return
    assert output is not None
    path = Path(output)
    check_apart(path, inputs, option)
    if path.is_dir():
        raise UsageError(f"{option} {output}: is a directory; give a file name")
    if not path.parent.is_dir():
        raise UsageError(f"{option} {output}: there is no directory {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"{option} {output}: no permission to write")
