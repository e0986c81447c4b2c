"""Options that several commands share, and checks of outputs before anything is computed."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from nsa_cli.cli.help import ANNEALING, OUTPUT, READING, SEARCH, completion
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.options import parse_amount, parse_pairs
from nsa_cli.problems import builtin_names, find_problem, own_sources


def problem_names() -> tuple[str, ...]:
    """Names of the built-in problems."""
    return builtin_names()


def start_names() -> list[str]:
    """Names of the starts of all built-in problems."""
    return sorted({start for name in builtin_names() for start in find_problem(name).starts})


def policy_names() -> list[str]:
    """Names of the shipped policies, and ``uniform``."""
    from nsa_cli.policy.checkpoint import available

    return ["uniform", *(policy for name in builtin_names() for policy in available(name))]


ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM",
        help="Name of a problem, or FILE.py:CLASS.",
        autocompletion=completion(problem_names),
    ),
]
Owner = Annotated[
    str | None,
    typer.Option(
        "-p",
        "--problem",
        metavar="PROBLEM",
        help="bin, knapsack, rosenbrock, tsp, or FILE.py:CLASS; recognised from the file by default.",
        autocompletion=completion(problem_names),
        rich_help_panel=READING,
    ),
]
Capacity = Annotated[
    str | None,
    typer.Option(
        "--capacity", metavar="C", help="Capacity, where the file has none.", rich_help_panel=READING
    ),
]
Open = Annotated[
    bool,
    typer.Option(
        "--open", help="Of tours: a path that need not return to its start.", rich_help_panel=READING
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="CITY", help="City where an open path begins.", rich_help_panel=READING),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="CITY", help="City where an open path ends.", rich_help_panel=READING),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Another key of the instance; may be repeated.",
        rich_help_panel=READING,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="WORDS",
        help="Columns of a table in their order: id,x,y; - leaves one out; matrix: distances.",
        rich_help_panel=READING,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="SIGN",
        help="Sign between the cells of a table: ; , | tab or blank.",
        rich_help_panel=READING,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal", metavar="SIGN", help="Decimal sign of a table: . or ,", rich_help_panel=READING
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        "--thousands",
        metavar="SIGN",
        help="Sign between thousands in a table: , . ' or blank.",
        rich_help_panel=READING,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="WORDS",
        help="Keys and columns of the file to leave out, between commas; may be repeated.",
        rich_help_panel=READING,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Memory that reading files may take: 4GB; 2 GB by default.",
        rich_help_panel=READING,
    ),
]
Device = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="auto|cpu|cuda",
        help="Where to compute; on CUDA the reference implementation anneals. Default: auto, a CPU.",
        autocompletion=completion(("auto", "cpu", "cuda")),
        rich_help_panel=SEARCH,
    ),
]
Jobs = Annotated[
    str | None,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        help="Of many instances: share them out among N processes.",
        rich_help_panel=SEARCH,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="The same among the workers of Dask's scheduler there: tcp://host:8786.",
        rich_help_panel=SEARCH,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Same seed, same answer; drawn and reported if not given.",
        rich_help_panel=SEARCH,
    ),
]
Neighbourhood = Annotated[
    str | None,
    typer.Option(
        "--neighbourhood",
        metavar="NAME",
        help="Moves and energy of annealing: paper; squares (of loads) for bins; nearest:K for tours. "
        "Default: those the policy was trained with.",
        autocompletion=completion(("paper", "squares", "nearest:10")),
        rich_help_panel=ANNEALING,
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        "--candidates",
        metavar="K",
        help="For tours: moves that join a city to one of its K nearest, as nearest:K.",
        rich_help_panel=ANNEALING,
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Errors only on stderr.", rich_help_panel=OUTPUT)]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="Say on stderr what was chosen.", rich_help_panel=OUTPUT),
]


def reading_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the options that say how files are to be read, see `nsa_cli.core.reading.Reading`."""
    given = {name: options[name] for name in ("columns", "separator", "decimal", "thousands")}
    return {**given, "ignore": ",".join(options["ignore"] or ()) or None}


def record_keys(
    pairs: Sequence[str] | None,
    capacity: str | None,
    is_open: bool = False,
    first: str | None = None,
    last: str | None = None,
) -> dict[str, Any]:
    """Read the record keys that are given beside a file."""
    given = parse_pairs("set", pairs or ())
    amount = None if capacity is None else parse_amount("capacity", capacity)
    own = {"capacity": amount, "open": is_open or None, "from": first, "to": last}
    return given | {key: value for key, value in own.items() if value is not None}


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
_OUTPUTS = ("output", "out", "trace", "plot", "plot_run")
_inputs: ContextVar[set[tuple[int, int]]] = ContextVar("inputs")


def note_inputs(options: Mapping[str, Any]) -> None:
    """Remember the files that a command's options name, but for outputs, which must be none of them."""
    given = [value for name, value in options.items() if name not in _OUTPUTS]
    words = [word for value in given for word in (value if isinstance(value, list) else [value])]
    paths = [word for word in words if isinstance(word, str)]
    _inputs.set(identities([*paths, *(path.rpartition(":")[0] for path in paths)]))  # FILE.py:CLASS


def apart(command: Callable[..., int]) -> Callable[..., int]:
    """Keep a command from replacing files that it reads, see `note_inputs`."""

    @functools.wraps(command)
    def run(**options: Any) -> int:
        note_inputs(options)
        return command(**options)

    return run


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
