"""TSPLIB 95 files: instances and tours, as they are found and not only as they are specified.

Keywords in any order and any case, before or after the data; blanks around the colon or no colon at all;
data as a free stream of tokens whose line breaks mean nothing, remarks after ``#``; ``EOF`` optional.
Sections that would change the answer and are not supported are refused by name. Of types there are TSP, ATSP
and LKH's HPP, a path.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.record import Locate, Record, Source, locator
from nsa_cli.core.words import listed, nearest
from nsa_cli.io.tokens import read_all, read_number, to_count, to_numbers
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.forms import ROUTES
from nsa_cli.problems.tsp.instance import TspInstance

_KEYWORD = re.compile(r"\s*([A-Za-z][A-Za-z0-9_]*)(?![^\s:=])\s*[:=]?(.*)")
_DATA = ("NODE_COORD", "EDGE_WEIGHT", "DISPLAY_DATA", "TOUR", "FIXED_EDGES", "DEPOT", "DEMAND", "EDGE_DATA")
_SECTIONS = tuple(f"{word}_SECTION" for word in _DATA)
_KEYS = listed(
    "NAME, TYPE, COMMENT, DIMENSION, CAPACITY, EDGE_WEIGHT_TYPE, EDGE_WEIGHT_FORMAT, EDGE_DATA_FORMAT, "
    "NODE_COORD_TYPE, DISPLAY_DATA_TYPE"
)
#: Keywords of other programs that make another problem of an instance, unless they are 1.
_CHANGING = ("SALESMEN", "VEHICLES", "DISTANCE", "SERVICE_TIME", "SCALE", "OPEN", "METRIC", "MAX_DISTANCE")
#: Forms of matrices. A triangle by columns is the other one by rows; of a symmetric matrix the two are one.
_SHAPES = listed(
    "FULL_MATRIX, UPPER_ROW, LOWER_ROW, UPPER_DIAG_ROW, LOWER_DIAG_ROW, UPPER_COL, LOWER_COL, "
    "UPPER_DIAG_COL, LOWER_DIAG_COL"
)
#: Types of instances: closed tours, of directed edges, Hamiltonian paths (LKH's).
_TYPES: dict[str, dict[str, Any]] = {"TSP": {}, "ATSP": {"asymmetric": True}, "HPP": {"open": True}}
#: Sections beside those of lengths that are read.
_HARMLESS = ("DISPLAY_DATA_SECTION", "FIXED_EDGES_SECTION", "DEPOT_SECTION")
#: A line that a keyword may begin, with the end of the line before it; and a remark in lines of data.
_NEXT_WORD, _REMARK = re.compile(r"\n[^\S\n]*[A-Za-z]"), re.compile(r"#[^\n]*")


@dataclass
class _Section:
    """One data section: pieces of text, each with its first line, and the tokens in them."""

    line: int
    pieces: list[tuple[str, int]] = field(default_factory=list)

    @functools.cached_property
    def tokens(self) -> list[str]:
        """All tokens, remarks left out."""
        return [token for text, _ in self.pieces for token in _bare(text).split()]

    @functools.cached_property
    def lines(self) -> list[int]:
        """Line of each token."""
        rows = [row for text, first in self.pieces for row in enumerate(_bare(text).split("\n"), first)]
        return [number for number, row in rows for _ in row.split()]

    @property
    def last(self) -> int:
        """Line of the last token."""
        return self.lines[-1] if self.lines else self.line


@dataclass
class _Parsed:
    """A file split into specification and data."""

    source: Source
    spec: dict[str, tuple[str, int]] = field(default_factory=dict)
    sections: dict[str, _Section] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)

    def value(self, key: str) -> str | None:
        return self.spec[key][0] if key in self.spec else None

    def line(self, key: str | None) -> int | None:
        return self.spec[key][1] if key in self.spec else None

    def fail(self, message: str, line: int | None = None, **hints: Any) -> NoReturn:
        raise self.source.error(message, line, **hints)


def _pieces(text: str) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """Cut a text into lines with a keyword, and runs of lines without; each with its first line's number."""
    begin, number = 0, 1
    while begin <= len(text):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        found = _KEYWORD.match(text[begin:end])
        if found is None:
            following = _NEXT_WORD.search(text, end)
            end = following.start() if following else len(text)
        piece = text[begin:end]
        yield number, piece, found
        begin, number = end + 1, number + 1 + piece.count("\n")


def _split(source: Source) -> _Parsed:
    parsed = _Parsed(source)
    section: _Section | None = None
    for number, line, found in _pieces(source.text):
        if found is None:
            if section is not None:
                section.pieces.append((line, number))
                continue
            for at, row in enumerate(_bare(line).split("\n"), number):
                if data := row.strip():
                    parsed.fail(f"expected a TSPLIB keyword, got {shown(data)}", at)
            continue
        word, rest = found.group(1).upper(), found.group(2).strip()
        if word not in ("NAME", "COMMENT"):
            rest = rest.lstrip(" \t:=")
        if word == "EOF":
            break
        if word in _SECTIONS:
            if word in parsed.sections:
                parsed.fail(f"{word} occurs twice", number)
            section = parsed.sections[word] = _Section(number, [(rest, number)])
        elif word in _KEYS:
            section = None
            _add_key(parsed, word, rest, number)
        elif re.match(r"\s*\w+\s*:", line):
            section = None
            _leave_out(parsed, word, rest, number)
        elif section is not None:
            parsed.fail(f"expected a number or a TSPLIB keyword, got {shown(line.strip())}", number)
        else:
            parsed.fail(f"there is no TSPLIB keyword {shown(found.group(1))}", number)
    return parsed


def _leave_out(parsed: _Parsed, word: str, value: str, line: int) -> None:
    """Leave out the line of an unknown keyword, unless it is one misspelt or changes the problem."""
    near = nearest(word, (*_KEYS, *_SECTIONS), 0.8)
    if near is not None:
        parsed.fail(f"there is no TSPLIB keyword {shown(word)}; the nearest is {near}", line)
    if word.endswith("_SECTION") or (word in _CHANGING and (value.strip() != "1" or word == "OPEN")):
        parsed.fail(f"{word} is not supported; an answer without it would be wrong", line)
    parsed.unknown.setdefault(word, line)


def _bare(data: str) -> str:
    """Cut remarks off lines of data, which have no other use for ``#``."""
    return _REMARK.sub("", data) if "#" in data else data


def _add_key(parsed: _Parsed, key: str, value: str, line: int) -> None:
    if key == "COMMENT":
        parsed.comments.append(value)
    elif key in parsed.spec and parsed.spec[key][0] != value:
        parsed.fail(f"{key} is given twice: {shown(parsed.spec[key][0])} in line {parsed.spec[key][1]}", line)
    else:
        parsed.spec[key] = (value, line)


# --- instances -------------------------------------------------------------------------------------


def read(source: Source) -> list[Record]:
    """Read a TSPLIB instance.

    Raises
    ------
    InputError
        With the line, for anything missing, miscounted, not a number or not supported.
    """
    parsed = _split(source)
    _refuse_unsupported(parsed)
    kind = (parsed.value("EDGE_WEIGHT_TYPE") or "").upper()
    if not kind:
        parsed.fail("EDGE_WEIGHT_TYPE is missing; expected EUC_2D or another type", 1)
    if kind != "EXPLICIT" and kind not in METRICS:
        known = ", ".join(("EXPLICIT", *METRICS))
        message = f"EDGE_WEIGHT_TYPE {shown(kind)} is not supported; there are {known}"
        parsed.fail(message, parsed.line("EDGE_WEIGHT_TYPE"))
    size = _dimension(parsed)
    data: dict[str, Any] = {"edge_weight_type": kind, **_TYPES[_type(parsed)]}
    if name := parsed.value("NAME"):
        data["name"] = name
    if parsed.comments:
        data["comment"] = "\n".join(parsed.comments)
    if kind == "EXPLICIT":
        locate = _read_matrix(parsed, size, data)
        _read_display(parsed, size, data)
    else:
        locate = _read_coords(parsed, size, kind, data)
    locate = _read_fixed_edges(parsed, data, locate)
    if (depots := _listed(parsed, "DEPOT_SECTION")) is not None:
        data["depot"] = depots or None
    remarks = [f"{w} in line {at} is no TSPLIB keyword: left out" for w, at in parsed.unknown.items()]
    return [Record(data, source, locate, remarks=tuple(remarks))]


def _type(parsed: _Parsed) -> str:
    """Give the first word of the type, which an author may follow."""
    found = re.match(r"\w*", (parsed.value("TYPE") or "TSP").upper(), re.ASCII)
    return found[0] if found else ""


def _refuse_unsupported(parsed: _Parsed) -> None:
    kind = _type(parsed)
    if kind == "TOUR":
        source = parsed.source
        raise source.other("expected an instance, got a tour", parsed.line("TYPE"), use={"init": source.name})
    if kind not in _TYPES:
        message = f"TYPE {shown(kind)} is not supported; expected {', '.join(_TYPES)}"
        parsed.fail(f"{message}; {ROUTES}" if "VRP" in kind else message, parsed.line("TYPE"))
    forms = [(parsed.value(key) or "").upper() for key in ("EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT")]
    if kind == "ATSP" and forms != ["EXPLICIT", "FULL_MATRIX"]:
        got = " ".join(filter(None, forms)) or "nothing"
        message = f"TYPE 'ATSP' is not supported with {got}, which is symmetric"
        parsed.fail(f"{message}; expected EXPLICIT FULL_MATRIX, or TYPE TSP", parsed.line("TYPE"))
    for word, section in parsed.sections.items():
        known = word in ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", *_HARMLESS)
        if not known and section.tokens not in ([], ["-1"]):
            parsed.fail(f"{word} is not supported; an answer without it would be wrong", section.line)


def _dimension(parsed: _Parsed) -> int:
    text = parsed.value("DIMENSION")
    if text is None:
        parsed.fail("DIMENSION is missing", 1)
    return to_count(parsed.source, text, parsed.line("DIMENSION"), "DIMENSION")


def _section(parsed: _Parsed, word: str) -> _Section:
    if word not in parsed.sections:
        parsed.fail(f"{word} is missing, which EDGE_WEIGHT_TYPE needs", parsed.line("EDGE_WEIGHT_TYPE"))
    return parsed.sections[word]


def _numbers(parsed: _Parsed, word: str, some: slice = slice(None)) -> list[int | float]:
    """Read the numbers of a section, or some of them."""
    section = _section(parsed, word)
    return to_numbers(parsed.source, section.tokens[some], lambda: section.lines[some], word)


def _read_coords(parsed: _Parsed, size: int, kind: str, data: dict[str, Any]) -> Locate:
    word, width = "NODE_COORD_SECTION", 1 + METRICS[kind].axes
    section, (ids, *axes) = _section(parsed, word), _columns(parsed, word, size, width, kind)
    if ids != list(range(1, size + 1)):
        for i, x in enumerate(ids):
            if not isinstance(x, int) or x < 0:
                message = f"{word}: expected an integer of at least 0 as the city's id, got {x}"
                parsed.fail(message, section.lines[i * width])
        data["ids"] = ids
    data["coords"] = list(map(list, zip(*axes, strict=True)))
    return _locator(parsed, section, lambda: dict.fromkeys(("coords", "ids"), section.lines[::width]))


def _locator(parsed: _Parsed, section: _Section, places: Callable[[], Mapping[str, Sequence[int]]]) -> Locate:
    """Make a `Locate`; the places of elements are looked for when there is an error."""
    heads = {"edge_weight_type": parsed.line("EDGE_WEIGHT_TYPE"), "name": parsed.line("NAME")}
    return lambda key, index: locator({**heads, **places()}, section.line)(key, index)


def _columns(parsed: _Parsed, word: str, size: int, width: int, kind: str) -> list[list[int | float]]:
    """Read a row of numbers a city; a wrong number of tokens is told in cities where lines are cities."""
    section = _section(parsed, word)
    count = len(section.tokens)
    if count == size * width:
        return [_numbers(parsed, word, slice(axis, None, width)) for axis in range(width)]
    for line in dict.fromkeys(section.lines):
        here = section.lines.count(line) if count < 10_000 else width
        if here % width:
            parsed.fail(f"expected an id and {width - 1} coordinates for {kind}, got {here} numbers", line)
    if count % width:
        parsed.fail(f"expected {width} numbers a city for {kind}, got {count} numbers in all", section.last)
    message = f"DIMENSION is {size}, but {word} has {count // width} cities"
    raise parsed.source.error(message, section.last)


def _read_display(parsed: _Parsed, size: int, data: dict[str, Any]) -> None:
    """Keep the places that a matrix is drawn with; they never enter a length."""
    for word in ("DISPLAY_DATA_SECTION", "NODE_COORD_SECTION"):
        if word in parsed.sections:
            _, x, y = _columns(parsed, word, size, 3, "display")
            data["display"] = list(map(list, zip(x, y, strict=True)))
            return


def _read_matrix(parsed: _Parsed, size: int, data: dict[str, Any]) -> Locate:
    text = parsed.value("EDGE_WEIGHT_FORMAT")
    if text is None:
        parsed.fail("EDGE_WEIGHT_FORMAT is missing, which EXPLICIT needs", parsed.line("EDGE_WEIGHT_TYPE"))
    shape = text.upper()
    if shape not in _SHAPES:
        message = f"EDGE_WEIGHT_FORMAT {shown(text)} is not supported; there are {', '.join(_SHAPES)}"
        parsed.fail(message, parsed.line("EDGE_WEIGHT_FORMAT"))
    section = _section(parsed, "EDGE_WEIGHT_SECTION")
    half = size * (size + 1) // 2 if "DIAG" in shape else size * (size - 1) // 2
    expected, got = size * size if shape == "FULL_MATRIX" else half, len(section.tokens)
    if got != expected:
        parsed.fail(f"{shape} of DIMENSION {size} has {expected} numbers, got {got}", section.last)
    rows, columns = _entries(shape, size)
    # Of integers and decimals side by side none is changed.
    values = np.array(_numbers(parsed, "EDGE_WEIGHT_SECTION"), dtype=object)
    matrix, lines = np.zeros((size, size), dtype=object), np.full(size, section.last)
    sides = [(rows, columns)] if shape == "FULL_MATRIX" else [(rows, columns), (columns, rows)]
    for i, j in sides:
        matrix[i, j] = values
        np.minimum.at(lines, i, np.array(section.lines, dtype=np.int64))  # where a row's first number is
    data["matrix"] = matrix.tolist()
    if parsed.spec.get("TYPE") is not None:
        data.setdefault("asymmetric", False)
    return _locator(parsed, section, lambda: {"matrix": lines.tolist()})


def _entries(shape: str, size: int) -> Any:
    """Give the rows and columns of a matrix's numbers in their order."""
    if shape == "FULL_MATRIX":
        return np.indices((size, size)).reshape(2, -1)
    off = 0 if "DIAG" in shape else 1
    upper = ("UPPER" in shape) == ("ROW" in shape)
    return np.triu_indices(size, off) if upper else np.tril_indices(size, -off)


def _read_fixed_edges(parsed: _Parsed, data: dict[str, Any], locate: Locate) -> Locate:
    """Read pairs of cities that must be neighbours, ended by -1 or by the end of the section."""
    word = "FIXED_EDGES_SECTION"
    if (ids := _listed(parsed, word)) is None:
        return locate
    section = parsed.sections[word]
    if len(ids) % 2:
        message = f"{word}: expected pairs of cities, got {len(ids)} numbers"
        parsed.fail(message, section.lines[len(ids) - 1])
    data["fixed_edges"] = [ids[k : k + 2] for k in range(0, len(ids), 2)]
    fixed = locator({"fixed_edges": section.lines[::2]}, section.line)
    return lambda key, index: (fixed if key == "fixed_edges" else locate)(key, index)


def _listed(parsed: _Parsed, word: str) -> list[int | float] | None:
    """Read the ids of a section, ended by -1 or by its end; None if there is no such section."""
    if word not in parsed.sections:
        return None
    return _numbers(parsed, word, slice([*parsed.sections[word].tokens, "-1"].index("-1")))


def write(instance: TspInstance) -> str:
    """Write an instance with every digit it has.

    Raises
    ------
    UsageError
        If the cities have ids that TSPLIB cannot hold, or edges are not there.
    """
    _check_ids(instance)
    if instance.absent is not None:
        raise UsageError("TSPLIB has no form for edges that are not there; write json instead")
    if instance.route.ends or (instance.route.open and instance.route.directed):
        raise UsageError("TSPLIB has no form for paths with given ends or directed edges; write json instead")
    lines = [f"NAME : {_one_line(instance.name)}"] if instance.name else []
    if instance.comment is not None:
        lines += [f"COMMENT : {line}" for line in re.split(r"\r\n?|\n", instance.comment)]
    kind = "ATSP" if instance.route.directed else "HPP" if instance.route.open else "TSP"
    lines += [f"TYPE : {kind}", f"DIMENSION : {instance.size}"]
    lines.append(f"EDGE_WEIGHT_TYPE : {instance.edge_weight_type}")
    if instance.coords is not None:
        lines.append("NODE_COORD_SECTION")
        rows = zip(instance.numbers, instance.coords.tolist(), strict=True)
        lines += [" ".join([str(i), *map(repr, row)]) for i, row in rows]
    else:
        assert instance.matrix is not None
        lines += ["EDGE_WEIGHT_FORMAT : FULL_MATRIX", "EDGE_WEIGHT_SECTION"]
        lines += [" ".join(map(repr, row)) for row in instance.matrix.tolist()]
        if instance.display is not None:
            lines += ["DISPLAY_DATA_TYPE : TWOD_DISPLAY", "DISPLAY_DATA_SECTION"]
            lines += [f"{i} {x!r} {y!r}" for i, (x, y) in enumerate(instance.display.tolist(), start=1)]
    if instance.route.fixed:
        pairs = [f"{instance.numbers[a]} {instance.numbers[b]}" for a, b in instance.route.fixed]
        lines += ["FIXED_EDGES_SECTION", *pairs, "-1"]
    if instance.route.start is not None:
        lines += ["DEPOT_SECTION", str(instance.numbers[instance.route.start]), "-1"]
    return "\n".join([*lines, "EOF", ""])


def _check_ids(instance: TspInstance) -> None:
    instead = "these have other ids; write json instead"
    if not all(isinstance(x, int) and x >= 0 for x in instance.cities.ids):
        raise UsageError(f"TSPLIB names cities by integers from 0, {instead}")
    if instance.matrix is not None and instance.ids not in (None, tuple(range(1, instance.size + 1))):
        raise UsageError(f"TSPLIB numbers the cities of a matrix 1, 2, …, {instead}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- tours -----------------------------------------------------------------------------------------


def read_tour(source: Source) -> list[int]:
    """Read the ids of a tour in their order: any number a line, ended by -1 or by the end of the section.

    Raises
    ------
    InputError
        If there is no tour in the file, or more or fewer cities than it says.
    """
    parsed = _split(source)
    if "TOUR_SECTION" not in parsed.sections:
        parsed.fail("TOUR_SECTION is missing")
    section = parsed.sections["TOUR_SECTION"]
    found = read_all(section.tokens) or map(read_number, section.tokens)
    ids: list[int] = []
    for i, x in enumerate(found):
        if x == -1:
            break
        if not isinstance(x, int):
            got = shown(section.tokens[i])
            parsed.fail(f"TOUR_SECTION: expected a city's id, got {got}", section.lines[i])
        ids.append(x)
    size = _dimension(parsed) if "DIMENSION" in parsed.spec else len(ids)
    if size != len(ids):
        parsed.fail(f"DIMENSION is {size}, but TOUR_SECTION has {len(ids)} cities", section.line)
    return ids


def write_tour(instance: TspInstance, solution: Solution) -> str:
    """Write a tour with its length in the comment, as other programs of the field do."""
    name, numbers = _one_line(instance.name or "unnamed"), instance.numbers
    length = f"{instance.objective(solution)}{', an open path' if instance.route.open else ''}"
    lines = [f"NAME : {name}.tour", f"COMMENT : Length = {length}", "TYPE : TOUR"]
    lines += [f"DIMENSION : {instance.size}", "TOUR_SECTION", *(str(numbers[i]) for i in solution)]
    return "\n".join([*lines, "-1", "EOF", ""])
