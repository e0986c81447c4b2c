"""Elements laid out as a table: one row an element, one column a word.

Headers tell what the columns are. Without them the data tell where they can, and the user where they cannot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.core.words import NO_NUMBER, nearest, squeezed
from nsa_cli.io.frames import Frame
from nsa_cli.io.table import Table
from nsa_cli.problems.vocabulary import (
    Vocabulary,
    candidates,
    has_keys,
    leave_out,
    needs,
    not_understood,
    recognise,
    understood,
    vocabulary,
)

#: Headers of a column without one, as pandas reads it, too.
_UNNAMED = re.compile(r"|Unnamed: [0-9]+")

#: Word that makes all columns distances.
MATRIX = "matrix"


class Columns(NamedTuple):
    """Elements as columns.

    Attributes
    ----------
    values : dict of str to sequence
        Values, row by row, by words.
    head_line : callable
        ``head_line(word)``: line of a word.
    row_line : callable
        ``row_line(i)``: line of a row.
    """

    values: dict[str, Sequence[Any]]
    head_line: Callable[[str], int | None]
    row_line: Callable[[int], int | None]


def spread(record: Record, columns: Columns, problem: Problem[Any] | None) -> Record:
    """Add the columns of elements to a record, recognising its problem.

    Raises
    ------
    InputError
        If a word is in the record, too, or the problem cannot be told.
    """

    def fail(message: str, word: str, row: int | None = None) -> NoReturn:
        line = columns.head_line(word) if row is None else columns.row_line(row)
        raise record.source.error(message, line)

    for word in record.data.keys() & columns.values.keys() - {"problem"}:
        fail(f"{shown(word)} is beside the rows, too", word)
    if problem is None:
        problem = recognise(replace(record, data={**record.data, **columns.values}))
    data = {**record.data, **vocabulary(problem).spread(columns.values, fail)}
    rows = max(map(len, columns.values.values()), default=0)

    def locate(key: str | None, index: int | None) -> int | None:
        if key is None or key not in columns.values:
            return record.locate(key, index)
        return columns.head_line(key) if index is None or index >= rows else columns.row_line(index)

    return replace(record, data=data, locate=locate)


def frame_record(frame: Frame, source: Source, problem: Problem[Any] | None) -> Record:
    """Read a table in memory; lines of errors are its rows, counted from 1."""
    lines = list(range(1, len(frame.rows) + 1))
    return table_record(Table(source, frame.headers, frame.rows, lines, ","), problem)


def table_record(table: Table, problem: Problem[Any] | None) -> Record:
    """Make the record of a table.

    Parameters
    ----------
    table : Table
    problem : Problem, optional
        Recognised by the header.

    Raises
    ------
    InputError
        If the problem cannot be told, a column is not understood, or several readings are possible.
    """
    given = table.source.reading.columns
    if given and "=" in given[0]:
        table = _renamed(table, given)
    elif given is not None and given != (MATRIX,):
        width = len(table.headers or table.rows[0])
        if len(given) != width:
            message = f"expected {width} words for the {width} columns, got {len(given)}"
            raise table.source.error(message, table.first, use={"columns": None})
        table = replace(table, headers=[word or "-" for word in given])
    if (record := _matrix(table, problem, named=given == (MATRIX,))) is not None:
        return record
    if table.headers is None:
        if problem is None:
            separated = {" ": "blanks", "\t": "tabs"}.get(table.delimiter, shown(table.delimiter))
            message = f"expected ({needs()}), got a table separated by {separated} with no header"
            use = {"problem" if any(_fits(table, p) for p in candidates(None)) else "columns": None}
            raise table.source.other(f"cannot tell the problem: {message}", table.first, use=use)
        headers = _header(table, problem)
        table = replace(table, headers=headers)
        degrees = [at for at, header in enumerate(headers) if header in ("x", "y")]
        if len(headers) > 1 and (problem.sense == "max" or _on_globe(table, degrees)):
            remark = f"without a header the columns are read as {','.join(headers)}"
            table = replace(table, remarks=(*table.remarks, remark))
    return _with_header(table, problem)


def _renamed(table: Table, given: Sequence[str]) -> Table:
    """Give columns the words that the user has for their headers, ``WORD=HEADER``."""
    headers = list(table.headers or ())
    forms = [squeezed(header) for header in headers]
    for word, _, header in (pair.partition("=") for pair in given):
        at = headers.index(header) if header in headers else None
        if at is None and forms.count(squeezed(header)) == 1:
            at = forms.index(squeezed(header))
        if at is None:
            got = shown(", ".join(headers), 80) if headers else "no header"
            message = f"there is no column {shown(header)}; the header has {got}"
            raise table.source.error(message, table.first, use={"columns": None})
        headers[at] = word.strip()
    return replace(table, headers=headers)


def _with_header(table: Table, problem: Problem[Any] | None) -> Record:
    """Make the record of a table whose header tells what its columns are.

    Raises
    ------
    InputError
        If a column is needed and missing, or holds what it should not.
    """
    places, source = _places(table), table.source
    if problem is None:
        cells: dict[str, Any] = {word: table.columns[at] for word, at in places.items()}
        if not any(has_keys(cells, p) for p in candidates(None)):
            _ask_columns(table, places, candidates(None))
        problem = recognise(Record(cells, source, locator({}, table.first)))
    words = vocabulary(problem)
    _refuse_solution(table, words)
    places, remarks = _named(table, places, words)
    table = replace(table, remarks=(*table.remarks, *remarks))
    notes, lines = _notes(table, words)
    if source.reading.columns and (capacity := _capacity_in_first(table, problem)) is not None:
        line = table.lines[0]
        remark = f"line {line} is read as the number of items and the capacity {capacity}"
        notes, lines = {"capacity": capacity, **notes}, {"capacity": line, **lines}
        remarks = (*table.remarks, remark)
        table = replace(table, rows=table.rows[1:], lines=table.lines[1:], remarks=remarks)
    keys = {word: words.key_of(word, 1, words.columns) for word in places}
    for word in places.keys() & notes.keys():
        if (key := keys[word]) is not None:  # the names of elements beside that of the instance
            places[key], keys[key] = places.pop(word), key
    notes = {"problem": problem.name, **notes}
    record = Record(notes, source, locator(lines, table.lines), remarks=table.remarks)
    cells = {word: table.columns[at] for word, at in places.items()}
    record = spread(record, Columns(cells, lambda _: table.first, table.lines.__getitem__), problem)
    for word, at in places.items():
        if (key := keys[word]) is not None:
            record.data[word] = table.values(at, words.columns[key])
        elif isinstance(text := record.data[word], str):
            record.data[word] = _value(table, words, word, text)
    record = understood(record, problem)
    needed = [keys for keys in problem.column_sets if set(keys) <= words.columns.keys()]
    if needed and not any(set(keys) <= record.data.keys() for keys in needed):
        _ask_columns(table, places, [problem])
    return record


def _index(table: Table) -> str | None:
    """Give the first column a word where it is what pandas writes there: an index of numbers or names."""
    if not table.rows:
        return None
    cells, numbers = table.columns[0], table.numbers(0)
    if len({*cells}) < len(cells) or not all(cells):
        return None
    if numbers is None:
        return "label"
    return "index" if all(isinstance(x, int) for x in numbers) else None


def _named(table: Table, places: dict[str, int], words: Vocabulary) -> tuple[dict[str, int], tuple[str, ...]]:
    """Find the column of names among those that are not understood, and refuse the others.

    Returns
    -------
    places, remarks
    """
    cells = {word: table.columns[at] for word, at in places.items()}
    texts = {word for word, at in places.items() if table.numbers(at) is None}
    name = words.column_of_names(cells, texts)
    if unknown := [word for word in words.unknown_columns(cells) if word != name]:
        near = words.nearest_key(unknown[0])
        known = ", ".join(column.headers[0] for column in words.columns.values())
        what = f"the nearest word is {near!r}" if near else f"{words.problem.name} has the columns {known}"
        hints = leave_out(*unknown)
        given = table.source.reading.columns or ()
        labels = [word for word in unknown if word in texts]
        if labels and "names" not in {words.key_of(word, 1, words.columns) for word in places}:
            hints = {"use": {"columns": ",".join([*given, f"name={labels[0]}"])}}
        if given and "=" not in given[0]:
            hints = {}  # these are the user's own words
        raise table.source.error(f"{not_understood(unknown)}; {what}", table.first, **hints)
    if name is None:
        return places, ()
    renamed = {"names" if word == name else word: at for word, at in places.items()}
    return renamed, (f"column {shown(name)} is read as the names",)


def _ask_columns(table: Table, places: dict[str, int], problems: Sequence[Problem[Any]]) -> NoReturn:
    """Refuse a table with headers that are not understood, and spell out what its columns may be."""
    found = {problem.name: _readings(table, places, problem) for problem in problems}
    most = max((known for known, choices in found.values() if choices), default=0)
    readings = [(name, choices) for name, (known, choices) in found.items() if choices and known == most]
    got = shown(", ".join(table.headers or []), 80)
    what = "are not understood" if len(problems) > 1 else f"lack a column that {problems[0].name} needs"
    if not readings:
        message = f"the headers {got} {what}; expected ({needs(problems)})"
        raise table.source.other(message, table.first, use={"columns": None})
    readings.sort(key=lambda reading: (reading[1][0].split(",").count("-"), "lat,lon" not in reading[1][0]))
    may_be = ", or ".join(f"{' or '.join(choices)} ({name})" for name, choices in readings)
    message = f"the headers {got} {what}; the columns may be {may_be}"
    raise table.source.other(message, table.first, use={"columns": readings[0][1][0]})


def _readings(table: Table, places: dict[str, int], problem: Problem[Any]) -> tuple[int, list[str]]:
    """Count the columns that a problem has words for, and spell out what all may be, the likely one first."""
    words = vocabulary(problem)
    known = {at: words.key_of(word, 1, words.columns) for word, at in places.items()}
    unknown = [at for at, key in known.items() if key is None]
    numbers = [at for at in unknown if table.numbers(at) is not None]
    texts = sorted({*unknown} - {*numbers})
    if texts and "names" in words.columns.keys() - known.values():
        known[texts[0]] = "names"
    choices = []
    for needed in problem.column_sets:
        lacking = [key for key in needed if key not in known.values()]
        if not set(needed) <= words.columns.keys() or not 0 < len(lacking) <= len(numbers):
            continue
        # Of two numbers an item either may be the value; those of a point come in their order.
        either = problem.sense == "max" and len(lacking) > 1
        for keys in [lacking, lacking[::-1]] if either else [lacking]:
            row = {**known, **dict(zip(numbers, keys, strict=False))}
            columns = (words.columns.get(row.get(at) or "") for at in range(len(table.headers or ())))
            choices.append(",".join(column.headers[0] if column else "-" for column in columns))
    if _on_globe(table, numbers[:2]):
        choices.reverse()
    return sum(key is not None for key in known.values()), choices


def _on_globe(table: Table, places: Sequence[int]) -> bool:
    """Tell whether two columns may be latitudes and longitudes: decimals within their ranges."""
    if len(places) != 2:
        return False
    latitude, longitude = ([*map(float, table.numbers(at) or ())] for at in places)
    largest = max(map(abs, latitude)), max(map(abs, longitude))
    decimal = any(x != int(x) for x in latitude + longitude) and max(largest) > 1  # of no unit square
    return decimal and largest[0] <= 90 and largest[1] <= 180


def _places(table: Table) -> dict[str, int]:
    """Find the column of each header, without those that are empty or left out."""
    places: dict[str, int] = {}
    for at, header in enumerate(table.headers or []):
        empty = table.rows and not any(table.columns[at])
        if header == "-" or table.source.reading.leaves_out(header) or empty:
            continue
        if at == 0 and _UNNAMED.fullmatch(header):
            header = _index(table) or header
        if header in places:
            raise table.source.error(f"two columns are called {shown(header)}; expected one", table.first)
        if _UNNAMED.fullmatch(header):
            raise table.source.error(f"column {at + 1} has no header", table.first, use={"columns": None})
        places[header] = at
    if not table.rows:
        raise table.source.error("has a header but no rows", table.first)
    return places


def _notes(table: Table, words: Vocabulary) -> tuple[dict[str, Any], dict[str, int]]:
    """Read the lines above a table: values and lines by word.

    A note with a colon is a remark if it is no key, nor nearly one, nor a word of another problem.
    """
    settings = words.problem.settings
    known = [spelt for key in settings for spelt in words.spelt[key]]
    notes = {
        word: _value(table, words, word, note.text)
        for word, note in table.notes.items()
        if note.stated
        or words.key_of(word, 0, [*settings, *words.problem.keys]) is not None
        or nearest(word, known, 0.8) is not None
        or words.is_neutral(word)
    }
    return notes, {word: table.notes[word].line for word in notes}


def _value(table: Table, words: Vocabulary, word: str, text: str) -> Any:
    """Read what holds for a whole table: a number where it can be, unless the key is of a text."""
    number = None if words.key_of(word, 0) in ("name", "comment") else table.number(text)
    return text if number is None else number


def _refuse_solution(table: Table, words: Vocabulary) -> None:
    """Refuse a table of a solution, which has a column that no instance has."""
    order, ids = words.problem.answer_columns
    there = {header.strip().lower() for header in table.headers or ()}
    if {order, ids} <= there and words.key_of(order, 1, words.columns) is None:
        use = {"init": table.source.name}
        raise table.source.other("expected an instance, got a solution", table.first, use=use)


# --- without a header --------------------------------------------------------------------------------


def _capacity_in_first(table: Table, problem: Problem[Any]) -> int | float | None:
    """Read a first line with the number of items and the capacity, in any order; None if it is none."""
    if "capacity" not in problem.settings or len(table.rows) < 3:
        return None
    numbers = [table.number(cell) for cell in table.rows[0] if cell]
    count, width = len(table.rows) - 1, len(table.rows[0])
    if len(numbers) != 2 or None in numbers or count not in numbers or not all(table.rows[1][:2]):
        return None
    if width > len(problem.column_sets[0]) and any(_counts_up(table, at) for at in (0, width - 1)):
        return None  # a column of ids that goes on in the first line
    return next((x for x in numbers if x != count), count)


def _header(table: Table, problem: Problem[Any]) -> list[str]:
    """Give a table without a header one: numbers in the order of the contract, texts as names.

    Raises
    ------
    InputError
        If the numbers allow several readings; spells out the choice.
    """
    columns = {column.key: column for column in problem.columns}
    width = len(table.rows[0])
    numbers = [at for at in range(width) if table.numbers(at) is not None]
    texts = sorted({*range(width)} - {*numbers})
    for at in texts:
        faults = [i for i, row in enumerate(table.rows) if table.number(row[at]) is None]
        if len(faults) < len(table.rows):  # names, or numbers with something else among them
            got = shown(cell) if (cell := table.rows[faults[0]][at]) else "an empty cell"
            message = f"no header, and column {at + 1} has numbers and {got}; cannot tell what it is"
            raise table.source.error(message, table.lines[faults[0]], use={"columns": None})
    wanted = [columns[key].headers[0] for key in next(iter(problem.column_sets), ())]
    if len(texts) > ("names" in columns) or not len(wanted) <= len(numbers) <= len(wanted) + 1:
        message = f"no header, {len(numbers)} columns of numbers and {len(texts)} of text"
        message += f"; {problem.name} needs {', '.join(wanted)}"
        raise table.source.error(message, table.first, use={"columns": ",".join(wanted)})
    if len(wanted) > 1 and (capacity := _capacity_in_first(table, problem)) is not None:
        first = f"line {table.first} is read as the number of items and the capacity {capacity}"
        why = f"{first}; cannot tell {','.join(wanted)} from {','.join(wanted[::-1])}"
        _ask(table, [wanted, wanted[::-1]], why)
    header = dict.fromkeys(texts, "name")
    if len(numbers) > len(wanted):
        ids = [at for at in (numbers[0], numbers[-1]) if _counts_up(table, at)]
        if len(ids) != 1:
            what = "the first and the last of which count the rows"
            others = []
            if not ids:
                what = "none of which counts the rows"
                others = [c.headers[0] for c in problem.columns if not c.text and c.headers[0] not in wanted]
            choices = [["id", *wanted], [*wanted, "id"], *([*wanted, other] for other in others[:1])]
            _ask(table, choices, f"no header, and columns of numbers, {what}: cannot tell what they are")
        numbers.remove(ids[0])
        header[ids[0]] = "id"
    header |= dict(zip(numbers, wanted, strict=True))
    return [header[at] for at in range(width)]


def _fits(table: Table, problem: Problem[Any]) -> bool:
    """Tell whether a table without a header can be read if its problem is known."""
    try:
        return bool(_header(table, problem))
    except InputError:
        return False


def _ask(table: Table, choices: Sequence[Sequence[str]], why: str) -> NoReturn:
    """Refuse a table with the readings that it allows."""
    first, *others = (",".join(choice) for choice in choices)
    message = f"{why}; the columns may be {' or '.join([first, *others])}"
    raise table.source.error(message, table.first, use={"columns": first})


def _counts_up(table: Table, at: int) -> bool:
    numbers = table.numbers(at) or []
    return numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))


# --- matrices ----------------------------------------------------------------------------------------


def _matrix(table: Table, given: Problem[Any] | None, *, named: bool) -> Record | None:
    """Read a table of distances, bare or with the names of the rows, the columns or both; None if it is none.

    Raises
    ------
    InputError
        If it may be a list of cities as well, or an entry is no number.
    """
    problem = next((p for p in candidates(given) if MATRIX in p.arrays), None)
    if problem is None or (table.source.reading.columns is not None and not named):
        return None
    headers = dict.fromkeys(table.headers or (), 0)
    if not named and any(vocabulary(p).is_element(headers) for p in candidates(given)):
        return None
    rows, lines, names = _unlabelled(table)
    size = len(rows)
    if size < 2 or any(len(row) != size for row in rows):
        if named:
            message = f"expected as many columns as rows, got {size} rows of {len(rows[0]) if rows else 0}"
            raise table.source.error(message, table.first)
        return None
    cells = [[_distance(table, cell) for cell in row] for row in rows]
    both = table.headers is not None and len(table.headers) > size
    if not named and not both and not _is_square_of_distances(cells):
        return None
    if not named and table.headers is None:
        counted = names is None and size == 3 and _counts_up(replace(table, rows=rows), 0)
        if size == 2 or counted:
            other = ["id", "x", "y"] if counted else ["name", "x", "y"] if names else ["x", "y"]
            _ask(table, [[MATRIX], other], "cannot tell distances from cities")
    for i, row in enumerate(cells):
        row[i] = 0
        if None in row:
            j = row.index(None)
            got = shown(rows[i][j]) if rows[i][j] else "an empty cell"
            message = f"matrix: expected a distance in column {j + 1}, got {got}"
            raise table.source.error(message, lines[i])
    notes, note_lines = _notes(table, vocabulary(problem))
    data = {"problem": problem.name, MATRIX: cells, **({} if names is None else {"names": names}), **notes}
    return Record(data, table.source, locator(note_lines, lines), remarks=table.remarks)


def _distance(table: Table, cell: str) -> int | float | str | None:
    """Read an entry of a matrix: a number, the word for an edge that is not there, or None."""
    number = table.number(cell)
    return cell if number is None and cell.lower() in NO_NUMBER else number


def _is_square_of_distances(cells: list[list[int | float | str | None]]) -> bool:
    """Tell a square of numbers with a zero or empty diagonal, and of few rows equal halves, too."""
    size = len(cells)
    halves = ((cells[i][j], cells[j][i]) for i in range(size) for j in range(i))
    return all(not row[i] or isinstance(row[i], str) for i, row in enumerate(cells)) and all(
        None not in pair and (size > 3 or pair[0] == pair[1]) for pair in halves
    )


def _unlabelled(table: Table) -> tuple[list[list[str]], list[int], list[str] | None]:
    """Take names off a table that may be square: the rows of numbers, their lines, and the names."""
    rows, lines, names = table.rows, table.lines, table.headers
    if names is None and not rows[0][0] and all(rows[0][1:]):
        names, rows, lines = rows[0], rows[1:], lines[1:]  # names that are numbers
    if rows and len(rows[0]) == len(rows) + 1:
        first = [row[0] for row in rows]
        if names is None and all(table.number(name) is not None for name in first):
            return rows, lines, None
        if names is not None and names[1:] != first:
            return [], [], None
        return [row[1:] for row in rows], lines, first
    return rows, lines, names
