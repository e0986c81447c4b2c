"""Delimited tables: cells, header, notes, the signs of their numbers.

Comma, semicolon, tab, bar or blanks between cells; a header in any order, or none; ``sep=;`` in the first
line; quotes; blank lines. Decimal and thousands signs are found from all cells, or refused where they could
be either.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nsa_cli.core.errors import shown
from nsa_cli.core.problem import Column
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.numbers import read_all, read_number

_NOTE = re.compile(r"#\s*([A-Za-z_0-9 ]+?)\s*([:=])\s*(.*)")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,3999}")
_DELIMITERS = (";", "\t", ",", "|")
#: What spreadsheets write for numbers that they cannot compute.
_ERROR = re.compile(r"#(N/A|REF!|VALUE!|DIV/0!|NAME\?|NUM!|NULL!)")
#: Lines of which the separator is found.
_HEAD = 50


class Signs(NamedTuple):
    """Signs in a table's numbers.

    Attributes
    ----------
    decimal : str
    thousands : str
        Empty if there is none.
    """

    decimal: str = "."
    thousands: str = ""

    def read(self, text: str) -> int | float | None:
        """Read a cell; None if it is no number.

        Groups of three digits after a blank or an apostrophe are thousands in any case.
        """
        value = read_number(text) if self.decimal == "." else None
        if value is None and _SIGNED.fullmatch(text) and (found := _pattern(*self).fullmatch(text)):
            whole = re.sub(r"[^-+0-9]", "", found["whole"])
            fraction = "" if found["fraction"] is None else f".{found['fraction']}"
            value = read_number(whole + fraction + (found["power"] or ""))
        return value

    def read_all(self, cells: Sequence[str]) -> list[int | float] | None:
        """Read many cells; None if one is no number."""
        values = None
        if self.decimal == ".":
            values = read_all(cells)
        elif not self.thousands and not any("." in cell for cell in cells):
            values = read_all([cell.replace(self.decimal, ".") for cell in cells])
        if values is not None:
            return values
        values = []
        for cell in cells:
            if (value := self.read(cell)) is None:
                return None
            values.append(value)
        return values


#: What a number with any signs consists of.
_BLANKS = "' \u00a0\u202f\u2009\u2019"
_SIGNED = re.compile(rf"[-+]?[0-9.,_{_BLANKS}]{{1,60}}(e[-+]?[0-9]{{1,4}})?", re.IGNORECASE)


@functools.cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Compile the form of numbers with some signs."""
    sign = f"[{re.escape(thousands + _BLANKS)}]"
    grouped = rf"[1-9][0-9]{{0,2}}(?P<sign>{sign})[0-9]{{3}}(?:(?P=sign)[0-9]{{3}})*"
    return re.compile(
        rf"(?P<whole>[-+]?(?:{grouped}|[0-9]*))(?:{re.escape(decimal)}(?P<fraction>[0-9]*))?"
        r"(?P<power>e[-+]?[0-9]+)?",
        re.IGNORECASE,
    )


class Note(NamedTuple):
    """What a line above a table says.

    Attributes
    ----------
    text : str
    line : int
    stated : bool
        Whether with ``=``; one with ``:`` may be a remark.
    """

    text: str
    line: int
    stated: bool


@dataclass(frozen=True)
class Table:
    """A table's cells as text, with their lines.

    Attributes
    ----------
    source : Source
    headers : list of str, or None
        As in the file.
    rows : list of list of str
        All as long as the header or the first row.
    lines : list of int
        Line of each row.
    delimiter : str
    notes : dict of str to Note
        From lines ``# key = value`` above the header, for the whole table, such as a capacity.
    first : int
        Line of the header, or of the first row where there is none.
    signs : Signs
    remarks : tuple of str
        What was decided, and should be said.
    """

    source: Source
    headers: list[str] | None
    rows: list[list[str]]
    lines: list[int]
    delimiter: str
    notes: dict[str, Note] = field(default_factory=dict)
    first: int = 1
    signs: Signs = field(default_factory=Signs)
    remarks: tuple[str, ...] = ()

    def number(self, text: str) -> int | float | None:
        """Read a cell as a number; None if it is none."""
        return self.signs.read(text)

    @functools.cached_property
    def columns(self) -> list[tuple[str, ...]]:
        """The cells, column by column."""
        return list(zip(*self.rows, strict=True))

    @functools.cached_property
    def _numbers(self) -> dict[int, list[int | float] | None]:
        return {}

    def numbers(self, at: int) -> list[int | float] | None:
        """Read a column, once; None if one of its cells is no number."""
        if at not in self._numbers:
            self._numbers[at] = self.signs.read_all(self.columns[at])
        return self._numbers[at]


def looks_like_table(source: Source) -> bool:
    """Recognise a table by its suffix, ``sep=``, delimiters in its first line, or numbers between blanks."""
    lines = _first_rows(source.text.split("\n", _HEAD)[:_HEAD])
    first = lines[0] if lines else ""
    return (
        source.suffix in (".csv", ".tsv")
        or bool(source.reading.of_tables)
        or first.lower().startswith("sep=")
        or any(delimiter in first for delimiter in _DELIMITERS)
        or re.fullmatch(r"\s*[A-Za-z_]+\s*\n\s*\S*[0-9]\S*\s*", "\n".join(lines[:2])) is not None
        or _is_blank_separated(lines)
    )


def _first_rows(lines: Sequence[str]) -> list[str]:
    """Give the first lines that are no remarks, without the number of rows above them."""
    rows = [line for line in lines if line.strip() and not _is_remark(line)]
    return rows[1:] if len(rows) > 1 and rows[0].strip().isdecimal() else rows


def _is_blank_separated(lines: Sequence[str]) -> bool:
    """Tell rows of several words, among which are numbers in all but the first, from prose."""
    rows = [line.partition(" #")[0].split() for line in lines[1:]]
    return bool(rows) and all(len(row) > 1 and any(map(_has_digit, row)) for row in rows)


def _has_digit(cell: str) -> bool:
    return any(c.isdecimal() for c in cell)


def read_table(source: Source) -> Table:
    """Split a text into header and rows.

    Raises
    ------
    InputError
        If rows differ in length, there are none, or the signs of numbers allow two readings.
    """
    lines = source.text.split("\n")
    begin = next((i for i, line in enumerate(lines) if line.strip() and not _is_remark(line)), len(lines))
    found = ((i, _NOTE.fullmatch(line.strip())) for i, line in enumerate(lines[:begin], start=1))
    notes = {m[1]: Note(m[3], i, m[2] == "=") for i, m in found if m is not None}
    delimiter = ","
    if begin < len(lines):
        delimiter = _delimiter(source, lines[begin:], begin + 1)
        begin += lines[begin].lower().startswith("sep=")
    rows, at = _rows(source, lines[begin:], begin, delimiter)
    if not rows:
        raise source.error("holds no rows; expected a table")
    return _shape(_counted(Table(source, None, rows, at, delimiter, notes, at[0])))


def table_of(source: Source, rows: list[list[str]], lines: list[int]) -> Table:
    """Make a table of cells that are no text of it, such as lists in JSON.

    Raises
    ------
    InputError
        If rows differ in length.
    """
    return _shape(Table(source, None, rows, lines, ",", first=lines[0]), signs=Signs())


def _is_remark(line: str) -> bool:
    """Recognise a remark; a header may begin with the cell ``#``, and a spreadsheet's error with it, too."""
    return line.startswith("#") and line[1:].lstrip(" ")[:1] not in _DELIMITERS and not _ERROR.match(line)


def _rows(source: Source, lines: list[str], before: int, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Split lines, `before` of which precede them in the text, into rows that are not blank, with lines."""
    rows: list[list[str]] = []
    at: list[int] = []
    if delimiter == " ":
        lines = [_without_remark(line).replace("\t", " ").strip() for line in lines]
    elif (plain := _plain_rows(lines, delimiter)) is not None:
        return plain, list(range(before + 1, before + 1 + len(plain)))
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


def _plain_rows(lines: list[str], delimiter: str) -> list[list[str]] | None:
    """Split lines without blanks, quotes and remarks, none of which is empty; None where there is one.

    These are a million as a rule; the last lines may be empty.
    """
    text = "\n".join(lines).rstrip("\n")
    pieces = text.split()
    if '"' in text or "#" in text or len(pieces) != text.count("\n") + 1:
        return None
    if max(map(len, pieces)) > csv.field_size_limit():
        return None
    rows = [piece.split(delimiter) for piece in pieces]
    return rows if all(map(any, rows)) else None


def _without_remark(line: str) -> str:
    return re.split(r"(?:^|(?<=\s))#", line, maxsplit=1)[0]


def _delimiter(source: Source, lines: Sequence[str], number: int) -> str:
    line = lines[0]
    if line.lower().startswith("sep="):
        if line[4:5] not in _DELIMITERS:
            raise source.error(f"sep=: expected ; , | or a tab after it, got {shown(line[4:])}", number)
        return line[4]
    if source.reading.separator is not None:
        return source.reading.separator
    head = _first_rows(lines[:_HEAD])
    found = next((d for d in _DELIMITERS if d in head[0]), None)
    commas_in_numbers = found == "," and all(re.search(r"[0-9],[0-9]+\s+[-+]?[0-9]", row) for row in head)
    if (found is None or commas_in_numbers) and _is_blank_separated(head):
        return " "
    return found or ","


def _counted(table: Table) -> Table:
    """Take off a first line that is the number of rows, with or without a header."""
    (head, *rows), (first, *lines) = table.rows, table.lines
    if len([cell for cell in head if cell]) != 1 or not rows or len([c for c in rows[0] if c]) < 2:
        return table
    if not re.fullmatch(r"[0-9]{1,9}", head[0]):
        return table
    header = not any(_has_digit(cell) for cell in rows[0])
    if int(head[0]) != len(rows) - header:
        got = len(rows) - header
        message = f"line {first} says {head[0]} rows, got {got}; if it is something else, give a header"
        raise table.source.error(message, lines[-1])
    return replace(table, rows=rows, lines=lines, first=lines[0])


def _shape(table: Table, signs: Signs | None = None) -> Table:
    """Cut rows to one width, find the signs of numbers, and take the header off."""
    rows, at = table.rows, table.lines
    if table.delimiter == " ":
        _join_names(rows)
    while len(rows[0]) > 1 and not any(any(cells[len(rows[0]) - 1 :]) for cells in rows):
        rows[0].pop()  # spreadsheets pad rows with empty cells
    width = len(rows[0])
    for cells, line in zip(rows, at, strict=True) if set(map(len, rows)) != {width} else ():
        if any(cells[width:]) or len(cells) < width:
            raise table.source.error(
                f"expected {width} cells separated by {shown(table.delimiter)} as in line {at[0]}, "
                f"got {len(cells)}",
                line,
                use={"separator": ";"} if width == 1 else {},
            )
        del cells[width:]
    found, remark = _signs(table) if signs is None else (signs, None)
    table = replace(table, signs=found, remarks=(remark,) if remark else ())
    if any(table.number(cell) is not None for cell in rows[0]):
        return table
    return replace(table, headers=rows[0], rows=rows[1:], lines=at[1:])


def _join_names(rows: list[list[str]]) -> None:
    """Join the words of a name between blanks, where that makes all rows equally long."""
    width = min(map(len, rows))
    joined = []
    for row in rows:
        extra = len(row) - width
        words = [i for i, cell in enumerate(row) if read_number(cell) is None]
        if not extra:
            joined.append(row)
        elif len(words) == extra + 1 and words == list(range(words[0], words[0] + len(words))):
            joined.append([*row[: words[0]], " ".join(row[i] for i in words), *row[words[-1] + 1 :]])
        else:
            return
    rows[:] = joined


#: Signs that numbers may have; all cells of a table have the same.
_READINGS = (Signs(), Signs(","), Signs(".", ","), Signs(",", "."))
_TWO_POINTS = re.compile(r"\.[0-9]{3}\.")
_DIGITS_AND_SIGNS = re.compile(rf"[-+]?[0-9{_BLANKS}]*[.,][0-9.,]*(e[-+]?[0-9]+)?", re.IGNORECASE)


def _signs(table: Table) -> tuple[Signs, str | None]:
    """Find decimal and thousands signs from all cells: those with which all of them are numbers.

    With a remark where commas were taken for thousands because whole numbers below 1000 have none.

    Raises
    ------
    InputError
        If there are none, or several and the numbers differ.
    """
    reading = table.source.reading
    if reading.decimal:
        return Signs(reading.decimal, "." if reading.decimal == "," else ","), None
    columns = ["\n".join(cells) for cells in zip(*table.rows, strict=False)]  # rows may differ in length
    points = not any("," in cells or _TWO_POINTS.search(cells) for cells in columns)
    if points and not (table.delimiter in (";", "\t") and _beside_small_numbers(table)):
        return Signs(), None
    signed = [
        (cell, line)
        for row, line in zip(table.rows, table.lines, strict=True)
        for cell in row
        if _DIGITS_AND_SIGNS.fullmatch(cell) and any(s.read(cell) is not None for s in _READINGS)  # no dates
    ]
    left: tuple[Signs, ...] = _READINGS
    for cell, line in signed:
        fitting = tuple(signs for signs in left if signs.read(cell) is not None)
        if not fitting:
            message = f"{shown(cell)}: cannot be read with {left[0].decimal} as the decimal sign"
            message += f" and {left[0].thousands} between thousands" if left[0].thousands else ""
            raise table.source.error(f"{message}, which other cells need", line)
        left = fitting
    for cell, line in signed:
        if len({signs.read(cell) for signs in left}) > 1:
            sign = "," if "," in cell else "."
            whole, real = cell.replace(sign, ""), cell.replace(sign, ".")
            every = f"every {'comma' if sign == ',' else 'point'} is followed by three digits"
            if sign == "," and _beside_small_numbers(table):
                other = "with , as the decimal sign it would be another number"
                return Signs(".", ","), f"{every}: read as thousands ({cell} is {whole}); {other}"
            point = "." if sign == "," else ","
            message = (
                f"{shown(cell)}: cannot tell {whole} from {real}, for {every}; by the decimal sign {point}"
            )
            raise table.source.error(
                f"{message} it is {whole}, by {sign} {real}", line, use={"decimal": sign}
            )
    return left[0], None


def _beside_small_numbers(table: Table) -> bool:
    """Tell whether in a column with points or commas whole numbers have none, and are all below 1000."""
    for cells in zip(*table.rows, strict=False):
        plain = [len(cell.lstrip("+-")) for cell in cells if cell.lstrip("+-").isdecimal()]
        if plain and max(plain) <= 3 and any(_DIGITS_AND_SIGNS.fullmatch(cell) for cell in cells):
            return True
    return False


def to_record(table: Table, bound: Mapping[Column, int], notes: Mapping[str, Any] | None = None) -> Record:
    """Make a record of the columns of a table.

    Parameters
    ----------
    table : Table
    bound : mapping of Column to int
        Place of each column.
    notes : mapping, optional
        What holds for the whole table.

    Returns
    -------
    Record
        One list a bound column, under the column's key.

    Raises
    ------
    InputError
        If there are no rows, or a cell that should hold a number does not.
    """
    if not table.rows:
        raise table.source.error("has a header but no rows", table.first)
    data = dict(notes or {})
    for column, at in bound.items():
        data[column.key] = _texts(table, table.columns[at]) if column.text else _numbers(table, at, column)
    return Record(data, table.source, locator({}, table.lines), remarks=table.remarks)


def _numbers(table: Table, at: int, column: Column) -> list[int | float]:
    if (values := table.numbers(at)) is not None:
        return values
    rows = zip(table.columns[at], table.lines, strict=True)
    cell, line = next(row for row in rows if table.number(row[0]) is None)
    got = shown(cell) if cell else "an empty cell"
    raise table.source.error(f"{column.headers[0]}: expected a number, got {got}", line)


def _texts(table: Table, cells: Sequence[str]) -> list[int | str]:
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
