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
from nsa_cli.core.record import Source
from nsa_cli.core.words import NO_NUMBER
from nsa_cli.io.tokens import read_all, read_number, without_remark

_NOTE = re.compile(r"#\s*([A-Za-z_0-9 ]+?)\s*([:=])\s*(.*)")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,3999}")
_DELIMITERS = (";", "\t", ",", "|")
#: What spreadsheets write for numbers that they cannot compute.
_ERROR = re.compile(r"#(N/A|REF!|VALUE!|DIV/0!|NAME\?|NUM!|NULL!)")
#: Begins a number, or what stands for none in a table of distances.
_NUMERIC = re.compile(rf"\s*[\"']?([-+]?[.,]?[0-9]|({'|'.join(map(re.escape, NO_NUMBER))})\b)", re.IGNORECASE)
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

    def read(self, cell: str) -> int | float | None:
        """Read a cell; None if it is no number.

        Groups of three digits after a blank or an apostrophe are thousands in any case.
        """
        if self.decimal == "." and (value := read_number(cell)) is not None:
            return value
        if not _SIGNED.fullmatch(cell) or not _pattern(*self).fullmatch(cell):
            return None
        return read_number(re.sub(f"[{self.thousands}{_BLANKS}]", "", cell).replace(self.decimal, "."))


#: What a number with any signs consists of.
_BLANKS = "' \u00a0\u202f\u2009\u2019"
_SIGNED = re.compile(rf"[-+]?[0-9.,{_BLANKS}]{{1,60}}(e[-+]?[0-9]{{1,4}})?", re.IGNORECASE)


@functools.cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    """Compile the form of numbers with some signs."""
    groups = rf"[1-9][0-9]{{0,2}}(?P<sign>[{thousands}{_BLANKS}])[0-9]{{3}}(?:(?P=sign)[0-9]{{3}})*"
    return re.compile(rf"[-+]?(?:{groups}|[0-9]*)(?:[{decimal}][0-9]*)?(?:e[-+]?[0-9]+)?", re.IGNORECASE)


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
            decimal, cells = self.signs.decimal, self.columns[at]
            plain = decimal == "." or not (self.signs.thousands or any("." in cell for cell in cells))
            values = read_all([cell.replace(decimal, ".") for cell in cells]) if plain else None
            if values is None:
                values = [x for x in map(self.number, cells) if x is not None]
            self._numbers[at] = values if len(values) == len(cells) else None
        return self._numbers[at]

    def values(self, at: int, column: Column) -> Sequence[int | float | str]:
        """Read a column of numbers, or one of names, which stay text unless all of them are integers.

        Raises
        ------
        InputError
            If a cell is empty, or holds no number where it should.
        """
        if not column.text and (numbers := self.numbers(at)) is not None:
            return numbers
        cells = self.columns[at]
        for cell, line in zip(cells, self.lines, strict=True):
            if not cell or not (column.text or self.number(cell) is not None):
                what = "expected a name" if column.text else f"{column.headers[0]}: expected a number"
                raise self.source.error(f"{what}, got {shown(cell) if cell else 'an empty cell'}", line)
        whole = all(map(_PLAIN_INTEGER.fullmatch, cells))
        return [int(cell) if whole else cell for cell in cells]


def looks_like_table(source: Source) -> bool:
    """Recognise a table by its suffix, a separator of its cells, or a word above a number."""
    rows = _first_rows(source.text.split("\n", _HEAD)[:_HEAD])
    return (
        source.suffix in (".csv", ".tsv")
        or bool(source.reading.of_tables)
        or (bool(rows) and (sign := _delimiter(source, rows)) is not None and _has_numbers(rows[1:], sign))
        or re.fullmatch(r"\s*[A-Za-z_]+\s*\n\s*\S*[0-9]\S*\s*", "\n".join(rows[:2])) is not None
    )


def _has_numbers(rows: Sequence[str], sign: str) -> bool:
    """Tell rows of a table, half of which have a cell that begins like a number, from prose with commas."""
    told = [any(_NUMERIC.match(cell) for cell in row.split(sign)) for row in rows]
    return 2 * sum(told) >= len(told)


def _first_rows(lines: Sequence[str]) -> list[str]:
    """Give the first lines that are no remarks, without the number of rows above them."""
    rows = [line for line in lines if line.strip() and not _is_remark(line)]
    return rows[1:] if len(rows) > 1 and rows[0].strip().isdecimal() else rows


def _is_blank_separated(lines: Sequence[str]) -> bool:
    """Tell rows of several words, among which are numbers in all but the first, from prose."""
    rows = [without_remark(line).split() for line in lines[1:]]
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
        delimiter = _delimiter(source, _first_rows(lines[begin : begin + _HEAD])) or ","
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
        lines = [without_remark(line).replace("\t", " ").strip() for line in lines]
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


def _delimiter(source: Source, rows: Sequence[str]) -> str | None:
    """Find the sign between the cells of the first rows; None if there is none."""
    if rows[0].lower().startswith("sep="):
        if rows[0][4:5] in _DELIMITERS:
            return rows[0][4]
        line = source.text.split("\n").index(rows[0]) + 1
        raise source.error(f"sep=: expected ; , | or a tab after it, got {shown(rows[0][4:])}", line)
    if source.reading.separator is not None:
        return source.reading.separator
    found = next((sign for sign in _DELIMITERS if sign in rows[0]), None)
    commas_in_numbers = found == "," and all(re.search(r"[0-9],[0-9]+\s+[-+]?[0-9]", row) for row in rows)
    return " " if (found is None or commas_in_numbers) and _is_blank_separated(rows) else found


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
    found, remarks = (signs, ()) if signs else _signs(table)
    table = replace(table, signs=found, remarks=remarks)
    if any(table.number(cell) is not None for cell in rows[0]):
        return table
    return replace(table, headers=rows[0], rows=rows[1:], lines=at[1:])


def _join_names(rows: list[list[str]]) -> None:
    """Join the words of a name between blanks, where that makes all rows equally long."""
    width = min(map(len, rows))
    joined = [row.copy() for row in rows]
    for row in joined:
        words = [i for i, cell in enumerate(row) if read_number(cell) is None]
        if len(row) == width:
            continue
        if not words or words != [*range(words[0], words[0] + len(row) - width + 1)]:
            return
        row[words[0] : words[-1] + 1] = [" ".join(row[i] for i in words)]
    rows[:] = joined


#: Signs that numbers may have; all cells of a table have the same.
_READINGS = (Signs(), Signs(","), Signs(".", ","), Signs(",", "."))
_TWO_POINTS = re.compile(r"\.[0-9]{3}\.")
_DIGITS_AND_SIGNS = re.compile(rf"[-+]?[0-9{_BLANKS}]*[.,][0-9.,]*(e[-+]?[0-9]+)?", re.IGNORECASE)


def _signs(table: Table) -> tuple[Signs, tuple[str, ...]]:
    """Find decimal and thousands signs from all cells: those with which all of them are numbers.

    With a remark where commas were taken for thousands because whole numbers below 1000 have none.

    Raises
    ------
    InputError
        If there are none, or several and the numbers differ.
    """
    if decimal := table.source.reading.decimal:
        return Signs(decimal, "." if decimal == "," else ","), ()
    cells = "\n".join(cell for row in table.rows for cell in row)
    points = "," not in cells and not _TWO_POINTS.search(cells)
    if points and not (table.delimiter in (";", "\t") and _beside_small_numbers(table)):
        return Signs(), ()
    fitting: Sequence[Signs] = _READINGS
    signed = []
    for row, line in zip(table.rows, table.lines, strict=True):
        for cell in filter(_DIGITS_AND_SIGNS.fullmatch, row):
            these = [signs for signs in _READINGS if signs.read(cell) is not None]
            if not these:
                continue  # a date, as it may be
            signed.append((cell, line))
            before, fitting = fitting[0], [signs for signs in fitting if signs in these]
            if not fitting:
                message = f"{shown(cell)}: cannot be read with {before.decimal} as the decimal sign"
                message += f" and {before.thousands} between thousands" if before.thousands else ""
                raise table.source.error(f"{message}, which other cells need", line)
    for cell, line in signed:
        if len({signs.read(cell) for signs in fitting}) == 1:
            continue
        sign, point, name = (",", ".", "comma") if "," in cell else (".", ",", "point")
        whole, real = cell.replace(sign, ""), cell.replace(sign, ".")
        every = f"every {name} is followed by three digits"
        if sign == "," and _beside_small_numbers(table):
            other = "with , as the decimal sign it would be another number"
            return Signs(".", ","), (f"{every}: read as thousands ({cell} is {whole}); {other}",)
        message = f"{shown(cell)}: cannot tell {whole} from {real}, for {every}; "
        message += f"by the decimal sign {point} it is {whole}, by {sign} {real}"
        raise table.source.error(message, line, use={"decimal": sign})
    return fitting[0], ()


def _beside_small_numbers(table: Table) -> bool:
    """Tell whether in a column with points or commas whole numbers have none, and are all below 1000."""
    for cells in zip(*table.rows, strict=False):
        plain = [len(cell.lstrip("+-")) for cell in cells if cell.lstrip("+-").isdecimal()]
        if plain and max(plain) <= 3 and any(map(_DIGITS_AND_SIGNS.fullmatch, cells)):
            return True
    return False


def format_table(headers: Sequence[str], rows: Sequence[Sequence[Any]], notes: Mapping[str, Any] = {}) -> str:
    """Write comma-separated values, floats with all their digits, under lines of notes."""
    out = io.StringIO()
    out.writelines(f"# {key} = {' '.join(str(value).split())}\n" for key, value in notes.items())
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headers)
    writer.writerows(rows)
    return out.getvalue()
