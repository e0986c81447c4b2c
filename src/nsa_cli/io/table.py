"""Delimited tables: cells, header, notes, and their binding to a problem's columns.

Comma, semicolon, tab or bar between cells; decimal points or, where commas do not separate cells,
decimal commas; a header in any order, or none; ``sep=;`` in the first line; quotes; blank lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nsa_cli.core.errors import shown
from nsa_cli.core.problem import Column
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.numbers import read_number

_NOTE = re.compile(r"#\s*([A-Za-z_0-9]+)\s*[:=]\s*(.*)")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,3999}")
_DELIMITERS = (";", "\t", ",", "|")


@dataclass(frozen=True)
class Table:
    """A table's cells as text, with their lines.

    Attributes
    ----------
    source : Source
    headers : list of str, or None
        Lower case, units in brackets removed.
    rows : list of list of str
        All as long as the header or the first row.
    lines : list of int
        Line of each row.
    delimiter : str
    notes : dict
        From lines ``# key = value`` above the header, for the whole table, such as a capacity.
    note_lines : dict
        Line of each note.
    first : int
        Line of the header, or of the first row where there is none.
    """

    source: Source
    headers: list[str] | None
    rows: list[list[str]]
    lines: list[int]
    delimiter: str
    notes: dict[str, Any] = field(default_factory=dict)
    note_lines: dict[str, int] = field(default_factory=dict)
    first: int = 1

    def number(self, text: str) -> int | float | None:
        """Read a cell; a comma is a decimal comma unless commas separate the cells."""
        if "," in text and self.delimiter != "," and "." not in text and text.count(",") == 1:
            return read_number(text.replace(",", "."))
        return read_number(text)


def looks_like_table(source: Source) -> bool:
    """Recognise a table by its suffix, ``sep=``, or delimiters in its first line."""
    lines = source.text.split("\n")
    first = next((line for line in lines if line.strip() and not _is_remark(line)), "")
    return (
        source.suffix in (".csv", ".tsv")
        or first.lower().startswith("sep=")
        or any(d in first for d in _DELIMITERS)
        or re.fullmatch(r"[A-Za-z_]+", first.strip()) is not None
    )


def read_table(source: Source) -> Table:
    """Split a text into header and rows.

    Raises
    ------
    InputError
        If a row is longer or shorter than the others, or there is none.
    """
    lines = source.text.split("\n")
    begin = next((i for i, line in enumerate(lines) if line.strip() and not _is_remark(line)), len(lines))
    notes = {m[1].lower(): (m[2], i) for i in range(begin) if (m := _NOTE.fullmatch(lines[i].strip()))}
    delimiter = ","
    if begin < len(lines):
        delimiter = _delimiter(source, lines[begin], begin + 1)
        begin += lines[begin].lower().startswith("sep=")
    rows, at = _rows(source, lines[begin:], begin, delimiter)
    if not rows:
        raise source.error("holds no rows; expected a table")
    note_lines = {key: i + 1 for key, (_, i) in notes.items()}
    table = Table(source, None, rows, at, delimiter, {}, note_lines, at[0])
    return _shape(replace(table, notes={key: _value(table, key, text) for key, (text, _) in notes.items()}))


def _is_remark(line: str) -> bool:
    """Recognise a remark; a header may begin with the cell ``#``, too."""
    return line.startswith("#") and line[1:].lstrip(" ")[:1] not in _DELIMITERS


def _rows(source: Source, lines: list[str], before: int, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Split lines, `before` of which precede them in the text, into rows that are not blank, with lines."""
    rows: list[list[str]] = []
    at: list[int] = []
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            # "#1" may be a name: a line of a row's width is no remark, unless it begins like one.
            remark = any(cells) and row[0].startswith("#") and rows
            if any(cells) and not (remark and (row[0][1:2] == " " or len(row) != len(rows[0]))):
                rows.append(cells)
                at.append(before + reader.line_num)
    except csv.Error as error:
        raise source.error(f"not a table: {error}", before + reader.line_num) from None
    return rows, at


def _delimiter(source: Source, line: str, number: int) -> str:
    if not line.lower().startswith("sep="):
        return next((d for d in _DELIMITERS if d in line), ",")
    if line[4:5] not in _DELIMITERS:
        raise source.error(f"sep=: expected ; , | or a tab after it, got {shown(line[4:])}", number)
    return line[4]


def _value(table: Table, key: str, text: str) -> Any:
    """A note is a number where it can be, written as those of the table; a name is the text it is (007)."""
    number = None if key == "name" else table.number(text)
    return text if number is None else number


def _shape(table: Table) -> Table:
    """Cut rows to one width and take the header off."""
    rows, at = table.rows, table.lines
    while rows[0] and not rows[0][-1]:
        rows[0].pop()  # spreadsheets pad rows with empty cells
    width = len(rows[0])
    for cells, line in zip(rows, at, strict=True):
        if any(cells[width:]) or len(cells) < width:
            raise table.source.error(
                f"expected {width} cells separated by {shown(table.delimiter)} as in line {at[0]}, "
                f"got {len(cells)}",
                line,
            )
        del cells[width:]
    _check_decimal_signs(table)
    if any(table.number(cell) is not None for cell in rows[0]):
        return table
    headers = [_without_unit(cell).lower() for cell in rows[0]]
    return replace(table, headers=headers, rows=rows[1:], lines=at[1:])


def _without_unit(header: str) -> str:
    """Cut the unit off: ``weight (kg)``, ``weight [kg]``."""
    return re.split(r"[\[(]", header)[0].strip() if header.endswith((")", "]")) else header


def _check_decimal_signs(table: Table) -> None:
    """Refuse decimal points beside decimal commas: 1.250 and 3,5 cannot both be decimals."""
    if table.delimiter == ",":
        return
    points = commas = 0
    for cells, line in zip(table.rows, table.lines, strict=True):
        for cell in cells:
            if table.number(cell) is not None:
                points, commas = points or ("." in cell) * line, commas or ("," in cell) * line
    if points and commas:
        raise table.source.error(
            f"decimal comma here, decimal point in line {points}: cannot tell what separates thousands",
            commas,
        )


def matches(table: Table, columns: Sequence[Column]) -> bool:
    """Tell whether the header has all required columns."""
    headers = table.headers or []
    required = [c for c in columns if c.required]
    return bool(required) and all(any(h in c.headers for h in headers) for c in required)


def with_constants(table: Table, keys: Collection[str]) -> Table:
    """Turn constant columns of whole-table keys, such as the capacity, into notes; a note wins.

    Parameters
    ----------
    table : Table
    keys : collection of str
        Of the whole table.

    Raises
    ------
    InputError
        If such a column is not constant.
    """
    notes, lines = dict(table.notes), dict(table.note_lines)
    for at, key in enumerate(table.headers or []):
        if key not in keys or key in table.notes:
            continue
        for row, line in zip(table.rows, table.lines, strict=True):
            if row[at] != table.rows[0][at]:
                raise table.source.error(
                    f"{key}: expected {shown(table.rows[0][at])} in all rows, got {shown(row[at])}", line
                )
        if table.rows:
            notes[key], lines[key] = _value(table, key, table.rows[0][at]), table.lines[0]
    return replace(table, notes=notes, note_lines=lines)


def to_record(table: Table, columns: Sequence[Column], problem: str) -> Record:
    """Make a record from a problem's columns in a table.

    Returns
    -------
    Record
        One list a bound column, under the column's key.

    Raises
    ------
    InputError
        If a required column is missing or doubled, or a cell that should hold a number does not.
    """
    if not table.rows:
        raise table.source.error("has a header but no rows", table.first)
    data = dict(table.notes)
    for column, at in _bind(table, columns, problem).items():
        cells = [row[at] for row in table.rows]
        data[column.key] = _texts(table, cells) if column.text else _numbers(table, cells, column)
    return Record(data, table.source, locator(table.note_lines, table.lines))


def _bind(table: Table, columns: Sequence[Column], problem: str) -> dict[Column, int]:
    if table.headers is None:
        return _bind_by_order(table, columns, problem)
    bound: dict[Column, int] = {}
    for column in columns:
        at = [i for i, header in enumerate(table.headers) if header in column.headers]
        if column.text and len(at) > 1:  # a number and a name, say: the header listed first is the name
            best = min(column.headers.index(table.headers[i]) for i in at)
            at = [i for i in at if table.headers[i] == column.headers[best]]
        if len(at) > 1:
            raise table.source.error(f"two columns mean {column.headers[0]!r}; expected one", table.first)
        if at:
            bound[column] = at[0]
        elif column.required:
            raise table.source.error(
                f"no column {column.headers[0]!r}, which {problem} needs; "
                f"the header has {shown(', '.join(table.headers), 80)}",
                table.first,
            )
    return bound


def _bind_by_order(table: Table, columns: Sequence[Column], problem: str) -> dict[Column, int]:
    """Without a header: numbers in the order of the contract, a column of text as the names."""
    is_number = [table.number(cell) is not None for cell in table.rows[0]]
    numbers = [i for i, yes in enumerate(is_number) if yes]
    texts = [i for i, yes in enumerate(is_number) if not yes]
    wanted = [c for c in columns if c.required]
    names = [c for c in columns if c.text]
    if not len(wanted) <= len(numbers) <= len(wanted) + (len(names) if not texts else 0):
        heads = ", ".join(c.headers[0] for c in columns if c.required)
        raise table.source.error(
            f"no header and {len(numbers)} columns of numbers; give a header with {heads} for {problem}",
            table.lines[0],
        )
    bound = dict(zip(wanted, numbers, strict=False))
    rest = texts or numbers[len(wanted) :]
    return bound | dict(zip(names, rest, strict=False))


def _numbers(table: Table, cells: list[str], column: Column) -> list[int | float]:
    values = []
    for cell, line in zip(cells, table.lines, strict=True):
        value = table.number(cell)
        if value is None:
            hint = "; a comma in a comma-separated table is ambiguous" if "," in cell else ""
            got = shown(cell) if cell else "an empty cell"
            raise table.source.error(f"{column.headers[0]}: expected a number, got {got}{hint}", line)
        values.append(value)
    return values


def _texts(table: Table, cells: list[str]) -> list[int | str]:
    """Keep names as text, unless all of them are integers."""
    for cell, line in zip(cells, table.lines, strict=True):
        if not cell:
            raise table.source.error("expected a name, got an empty cell", line)
    return [int(x) for x in cells] if all(map(_PLAIN_INTEGER.fullmatch, cells)) else list(cells)


def format_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], notes: Mapping[str, Any] = {}) -> str:
    """Write comma-separated values, floats with all their digits, under lines of notes."""
    out = io.StringIO()
    out.writelines(f"# {key} = {' '.join(str(value).split())}\n" for key, value in notes.items())
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return out.getvalue()
