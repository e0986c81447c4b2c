"""Outputs of commands: checked before anything is computed, and written in lines, documents or files."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsa_cli.cli.console import MisplacedError, describe, emit, say
from nsa_cli.core.errors import InfeasibleError, NsaError, UsageError, shown
from nsa_cli.core.options import OUTPUT, parse_text, setting
from nsa_cli.core.problem import Task
from nsa_cli.problems import own_sources
from nsa_cli.problems.files import Unread
from nsa_cli.report.result import Result

if TYPE_CHECKING:
    from nsa_cli.core.drawing import Drawing


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
_OUTPUTS = ("output", "out", "plot", "curve", "certificate")
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


def format_of(output: str | None, known: Mapping[str, str], otherwise: str) -> str:
    """Find the format that a file's name means.

    Parameters
    ----------
    output : str, optional
    known : mapping
        Formats by endings.
    otherwise : str
        Of names without an ending.

    Raises
    ------
    UsageError
        If the ending means none of them.
    """
    suffix = Path(output or "").suffix
    if suffix.lower() in known or not suffix or is_directory(output):
        return known.get(suffix.lower(), otherwise)
    message = f"expected a file name that ends in {', '.join(known)}, got {shown(output)}"
    raise UsageError(message, option="output", use={"format": None})


#: Name of the journal in a folder of answers; ending of that beside a file of them.
JOURNAL, BESIDE = "journal.jsonl", ".part"

#: What file names are made of everywhere.
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@,-]+")
#: Characters of a name; systems allow 255 bytes with the ending.
_LONGEST = 120


#: Formats of answers.
_FORMATS = ("json", "jsonl", "table", "csv", "stops", "tour", "geojson", "gpx")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where answers go, and what is made of them.

    Attributes
    ----------
    output : str, optional
        Write there; - is stdout; DIR/: a file for each instance.
    format_ : str, optional
        Write in this form. By default the ending of FILE decides; on a terminal it is a table, else json. For
        tours only: stops (a table with legs), tour (TSPLIB's), geojson, gpx.
    again : bool
        Solve all anew, even what the journal has.
    plot : str, optional
        Draw the solution: .png, .svg or .pdf.
    curve : str, optional
        Write how the run went as numbers (.csv), or draw it: .png, .svg or .pdf.
    certificate : str, optional
        Write the proof of the bound to this file, for nsa check.
    """

    output: str | None = setting(None, OUTPUT, metavar="FILE|DIR/", short=("-o",))
    format_: str | None = setting(None, OUTPUT, parse_text, words=_FORMATS)
    again: bool = setting(False, OUTPUT)
    plot: str | None = setting(None, OUTPUT, metavar="FILE")
    curve: str | None = setting(None, OUTPUT, metavar="FILE")
    certificate: str | None = setting(None, OUTPUT, metavar="FILE")

    @property
    def hides(self) -> bool:
        """Whether answers go into files."""
        return self.output not in (None, "-")

    @property
    def draws(self) -> bool:
        """Whether something is written beside the answer."""
        return self.plot is not None or self.curve is not None or self.certificate is not None

    def chosen(self, tasks: Sequence[Task], many: int) -> Outputs:
        """Choose the format: the one given, that of the file name, a table on a terminal, else JSON.

        Parameters
        ----------
        tasks : sequence of Task
        many : int
            How many answers there will be.

        Raises
        ------
        UsageError
            If a problem has no such format, or it holds one result and there will be several; if a file
            cannot be written or drawn, or two outputs would be one file.
        """
        from nsa_cli.report.result import check_format, formats_by_suffix

        apart, fmt = is_directory(self.output), self.format_
        if fmt is None and self.hides and not apart:
            fmt = format_of(self.output, formats_by_suffix(tasks[0].problem), "json") if tasks else "json"
        elif fmt is None:
            fmt = "table" if sys.stdout.isatty() and self.output is None else "json"
        for task in tasks:
            check_format(task.problem, task.instance, fmt, 1 if apart else many)
        self._check_pictures(tasks)
        return replace(self, format_="jsonl" if fmt == "json" and many > 1 and not apart else fmt)

    def _check_pictures(self, tasks: Sequence[Task]) -> None:
        named = {"plot": self.plot, "curve": self.curve, "certificate": self.certificate}
        wanted = {option: path for option, path in named.items() if path is not None}
        places = [
            os.path.realpath(path) for path in (*wanted.values(), self.output) if path not in (None, "-")
        ]
        if twice := next((path for path in places if places.count(path) > 1), None):
            raise UsageError(f"{twice}: several options would write to it; give each a name of its own")
        for option, path in wanted.items():
            if path == "-":
                raise UsageError("expected a file name, got - (the result's)", option=option)
            if len(tasks) != 1:
                raise UsageError(f"expected one instance, got {len(tasks)}", option=option)
            check_output(path, f"--{option}", [task.file for task in tasks])
            numbers = (".csv",) if option == "curve" else ()
            if option != "certificate" and Path(path).suffix.lower() not in numbers:
                from nsa_cli.report.plots import check_picture

                check_picture(option, path, numbers)
        self.drawing(tasks)

    def drawing(self, tasks: Sequence[Task]) -> Drawing[Any] | None:
        """Find the drawing for a picture of the solution; None if none is asked for."""
        if self.plot is None:
            return None
        from nsa_cli.report.plots import need_drawing

        return need_drawing(tasks[0].problem.drawing(), tasks[0].problem.name, "plot")

    def journal(self, count: int) -> Path | None:
        """Find the place of the journal; None where there is none: on stdout, or for a single file or pipe.

        A folder of answers has one though the folder of instances holds but one: the next run may find more.
        """
        if not self.hides:
            return None
        output = self.output or ""
        if is_directory(output):
            return Path(output) / JOURNAL
        if count < 2 or (os.path.exists(output) and not os.path.isfile(output)):  # a pipe
            return None
        return Path(output + BESIDE)


def file_names(items: Sequence[Task | Unread], suffix: str) -> list[str]:
    """Make safe and unique file names of the instances' names, or of their files'."""
    names: list[str] = []
    taken = {"journal"} if suffix == ".jsonl" else set()  # see `JOURNAL`
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))  # those not tried, by name
    for item in items:
        name = _stem(item)
        tried = numbers[name.lower()]
        unique = next(x for k in tried if (x := name + f"-{k}" * (k > 1)).lower() not in taken)
        taken.add(unique.lower())
        names.append(unique + suffix)
    return names


def _stem(item: Task | Unread) -> str:
    """Make a safe file name, without its ending."""
    if isinstance(item, Unread):
        name: str | None = item.name
    else:
        name = item.instance.name or Path(item.file or "").name.split(".")[0]
    return _UNSAFE.sub("_", name or "").strip("._-")[:_LONGEST] or "instance"


def _holds(path: str, text: str) -> bool:
    """Tell whether a file has this text."""
    try:
        return Path(path).read_bytes() == text.encode()
    except (OSError, UnicodeEncodeError):
        return False


class Writer:
    """Writer of results, which come in any order, in the order of the instances.

    Parameters
    ----------
    items : sequence of Task or Unread
        What was asked for, in order; what could not be read is a line with its error, where lines are
        written.
    outputs : Outputs
        Whose format is chosen.
    """

    def __init__(self, items: Sequence[Task | Unread], outputs: Outputs) -> None:
        output, fmt = outputs.output, outputs.format_ or "json"
        self._items, self._output, self._format = list(items), output, fmt
        self._results: dict[int, Result] = {}
        self._next = 0
        self._misplaced = self._infeasible = False
        self._lines = fmt == "jsonl" and output in (None, "-")
        self._names: list[str] | None = None
        inputs = identities(item.file for item in items if isinstance(item, Task))
        if output not in (None, "-"):
            check_apart(output or "", inputs)  # what else own problems have imported is known by now
        if is_directory(output):
            suffix = self._suffix()
            self._names = file_names(items, suffix)
            for name in self._names:
                check_apart(Path(output or "") / name, inputs)

    @property
    def exit_code(self) -> int:
        """Exit code of an answer that was misplaced, of the first instance that failed, or is infeasible."""
        failed = (item.error.exit_code for item in self._items if isinstance(item, Unread))
        answered = InfeasibleError.exit_code if self._infeasible else 0
        return MisplacedError.exit_code if self._misplaced else next(failed, answered)

    def fail(self) -> None:
        """Note that something could not be written."""
        self._misplaced = True

    def take(self, place: int, result: Result | NsaError, *, known: bool = False) -> bool:
        """Take the result or the error of an instance; False if the reader has gone.

        The file of a `known` one, which an earlier run has written, is left alone if it is as it should be.
        """
        from nsa_cli.report.result import format_results

        if isinstance(result, NsaError):
            task = self._items[place]
            assert isinstance(task, Task)
            self._items[place] = Unread(task.instance.name or task.file or "", result)
            return self._write_lines() if self._lines else True
        self._results[place] = result
        self._infeasible |= result.violation is not None
        if self._names is not None:
            task = self._items[place]
            assert isinstance(task, Task)
            text = format_results(task.problem, [self._results.pop(place)], self._format)
            path = file_in(self._output, self._names[place])
            return (known and _holds(path, text)) or self._emit(text, path)
        return self._write_lines() if self._lines else True

    def finish(self) -> None:
        """Write the rest."""
        if self._lines:
            self._write_lines()
        elif self._names is None and self._results:
            self._emit(self._text(), self._output)

    def _emit(self, text: str, output: str | None) -> bool:
        """Write a text; one that had to be written elsewhere does not stop the rest."""
        try:
            return emit(text, output)
        except MisplacedError as error:
            say(f"error: {describe(error)}")
            self._misplaced = True
            return True

    def _write_lines(self) -> bool:
        while self._next < len(self._items):
            item = self._items[self._next]
            if isinstance(item, Task) and self._next not in self._results:
                return True
            if not self._emit(self._line(self._next), self._output):
                return False
            self._results.pop(self._next, None)
            self._next += 1
        return True

    def _line(self, place: int) -> str:
        from nsa_cli.io.json_text import dumps

        item = self._items[place]
        if isinstance(item, Unread):
            return dumps({"name": item.name, "error": describe(item.error)}) + "\n"
        return dumps(self._results[place].to_dict()) + "\n"

    def _text(self) -> str:
        from nsa_cli.report.result import format_results

        if self._format == "jsonl":
            return "".join(self._line(i) for i in range(len(self._items)) if self._is_known(i))
        results = [self._results[i] for i in sorted(self._results)]
        problem = next(item.problem for item in self._items if isinstance(item, Task))
        return format_results(problem, results, self._format)

    def _is_known(self, place: int) -> bool:
        return isinstance(self._items[place], Unread) or place in self._results

    def _suffix(self) -> str:
        own = {
            f.name: f.suffixes[0]
            for item in self._items
            if isinstance(item, Task)
            for f in item.problem.solution_formats
        }
        return {**own, "table": ".txt"}.get(self._format, f".{self._format}")


def choose_instance(items: Sequence[Task | Unread], wanted: str, where: str) -> Task:
    """Find the one instance that ``--instance`` names, by its name or by its number from 1.

    Raises
    ------
    NsaError
        If there is none, or it is one that could not be read.
    """
    names = [item.name if isinstance(item, Unread) else item.instance.name for item in items]
    places = [i for i, name in enumerate(names) if name == wanted]
    if not places and wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(items):
        places = [int(wanted) - 1]
    if len(places) != 1:
        shown = ", ".join(name for name in names[:8] if name) + (", …" if len(names) > 8 else "")
        there = f"{len(items)}: {shown}" if shown else f"{len(items)}, without names; give a number"
        what = f"{len(places)} instances are called" if places else "there is no instance"
        raise UsageError(f"{what} {wanted!r} in {where}; it holds {there}", option="instance")
    item = items[places[0]]
    if isinstance(item, Unread):
        raise item.error
    return item
