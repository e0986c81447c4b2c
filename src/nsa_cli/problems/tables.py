"""Tables of elements: which problem they are of, and what their columns mean.

With a header the words tell. Without one the data tell where they can, and the user where they cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from nsa_cli.core.errors import shown
from nsa_cli.core.problem import Column, Problem
from nsa_cli.core.record import Record, locator
from nsa_cli.core.words import NO_NUMBER, nearest
from nsa_cli.io.table import Table, to_record
from nsa_cli.problems.vocabulary import (
    Fail,
    Vocabulary,
    candidates,
    needs,
    recognise,
    vocabulary,
)

#: Word that makes all columns distances.
MATRIX = "matrix"


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
    if given is not None and given != (MATRIX,):
        table = _with_columns(table, given)
    if (record := _matrix(table, problem, named=given == (MATRIX,))) is not None:
        return record
    if table.headers is not None:
        return _with_header(table, problem)
    words = vocabulary(_named(table, problem))
    headers = _header(table, words)
    record = _with_header(replace(table, headers=headers), problem)
    if len(_required(words)) <= 1 or words.problem.sense == "min":
        return record
    remark = f"without a header the columns are read as {', '.join(headers)}"
    return replace(record, remarks=(*record.remarks, remark))


def _with_columns(table: Table, given: Sequence[str]) -> Table:
    """Take the user's words as the header; a header that the file has is left out."""
    width = len(table.headers or table.rows[0])
    if len(given) != width:
        message = f"expected {width} words for the {width} columns, got {len(given)}"
        raise table.source.error(message, table.first, use={"columns": None})
    return replace(table, headers=[word or "-" for word in given])


# --- with a header -----------------------------------------------------------------------------------


def _with_header(table: Table, problem: Problem[Any] | None) -> Record:
    """Make the record of a table whose header tells what its columns are.

    Raises
    ------
    InputError
        If a column is needed and missing, not understood, or one of two that mean the same.
    """
    fail = _failing(table)
    columns = _columns(table, fail)
    if problem is None:
        problem = recognise(Record({**columns}, table.source, locator({}, table.first)))
    words = vocabulary(problem)
    _refuse_solution(table, words)
    values, lines = _above(table, words)
    remarks: tuple[str, ...] = ()
    if table.source.reading.columns and (capacity := _capacity_in_first(table, problem)) is not None:
        remarks = (f"line {table.lines[0]} is read as the number of items and the capacity {capacity}",)
        values, lines = {"capacity": capacity, **values}, {"capacity": table.lines[0], **lines}
        table = replace(table, rows=table.rows[1:], lines=table.lines[1:])
        columns, fail = {word: cells[1:] for word, cells in columns.items()}, _failing(table)
    data = words.spread(columns, fail)
    bound = words.bind(data, fail, table.source.reading)
    needed = [keys for keys in problem.column_sets if set(keys) <= words.columns.keys()]
    if needed and not any(set(keys) <= bound.keys() for keys in needed):
        best = max(needed, key=lambda keys: len(set(keys) & bound.keys()))
        lacking = words.columns[next(key for key in best if key not in bound)].headers[0]
        got = shown(", ".join(table.headers or []), 80)
        fail(f"no column {lacking!r}, which {problem.name} needs; the header has {got}", "")
    at: dict[Column, int] = {}
    for key, word in bound.items():
        if key in words.columns:
            at[words.columns[key]] = (table.headers or []).index(word)
        elif key in values:
            fail(f"{key} is given twice", word)
        else:
            values[key], lines[key] = _value(table, key, data[word]), table.lines[0]
    record = to_record(table, at, values)

    def locate(key: str | None, index: int | None) -> int | None:
        return lines[key] if key in lines else record.locate(key, index)

    data = {"problem": problem.name, **record.data}
    return replace(record, data=data, remarks=(*record.remarks, *remarks), locate=locate)


def _failing(table: Table) -> Fail:
    """Give what raises an error about a header, a line above the table or a row."""

    def fail(message: str, word: str, row: int | None = None, **hints: Any) -> NoReturn:
        line = table.notes[word].line if word in table.notes else table.first
        line = line if row is None else table.lines[row]
        raise table.source.error(message, line, **hints)

    return fail


def _above(table: Table, words: Vocabulary) -> tuple[dict[str, Any], dict[str, int]]:
    """Read the lines above a table: values and lines by key."""
    settings = [*words.problem.settings, *words.problem.keys]
    notes = {
        word: note.text
        for word, note in table.notes.items()
        if words.key_of(word, 0, settings) is not None or not _is_remark(table, words, word)
    }
    bound = words.bind(notes, _failing(table), table.source.reading)
    values = {key: _value(table, key, notes[word]) for key, word in bound.items()}
    return values, {key: table.notes[word].line for key, word in bound.items()}


def _value(table: Table, key: str, text: str) -> Any:
    """Read what holds for a whole table: a number where it can be, unless the key is of a text."""
    number = None if key in ("name", "comment") else table.number(text)
    return text if number is None else number


def _columns(table: Table, fail: Fail) -> dict[str, tuple[str, ...]]:
    """Give the cells of each column by its header, without those that are empty or left out."""
    columns: dict[str, tuple[str, ...]] = {}
    for at, header in enumerate(table.headers or []):
        cells = table.columns[at] if table.rows else ()
        if header == "-" or table.source.reading.leaves_out(header) or (cells and not any(cells)):
            continue
        if header in columns:
            fail(f"two columns are called {shown(header)}; expected one", "")
        if not header:
            fail(f"column {at + 1} has no header", "", use={"columns": None})
        columns[header] = cells
    if not table.rows:
        fail("has a header but no rows", "")
    return columns


def _refuse_solution(table: Table, words: Vocabulary) -> None:
    """Refuse a table of a solution, which has a column that no instance has."""
    order, ids = words.problem.answer_columns
    there = {header.strip().lower() for header in table.headers or ()}
    if {order, ids} <= there and words.key_of(order, 1, words.columns) is None:
        name = table.source.name
        raise table.source.other("expected an instance, got a solution", table.first, use={"init": name})


def _is_remark(table: Table, words: Vocabulary, word: str) -> bool:
    """Tell a note that is no key: with a colon, and not nearly a word nor one of another problem."""
    spelt = words.spellings()
    near = nearest(word, [w for key in words.problem.settings for w in spelt[key]], 0.8)
    return not table.notes[word].stated and near is None and not words.is_neutral(word)


# --- without a header --------------------------------------------------------------------------------


def _named(table: Table, problem: Problem[Any] | None) -> Problem[Any]:
    """Insist on the user's word for the problem of a table without a header."""
    if problem is not None:
        return problem
    separated = {" ": "blanks", "\t": "tabs"}.get(table.delimiter, shown(table.delimiter))
    message = f"expected ({needs()}), got a table separated by {separated} with no header"
    raise table.source.other(f"cannot tell the problem: {message}", table.first, use={"problem": None})


def _required(words: Vocabulary) -> tuple[str, ...]:
    return words.problem.column_sets[0] if words.problem.column_sets else ()


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
    (capacity,) = [x for x in numbers if x != count] or [count]
    return capacity


def _header(table: Table, words: Vocabulary) -> list[str]:
    """Give a table without a header one: numbers in the order of the contract, texts as names.

    Raises
    ------
    InputError
        If the numbers allow several readings; spells out the choice.
    """
    needed = _required(words)
    width = len(table.rows[0])
    numbers = [at for at in range(width) if table.numbers(at) is not None]
    texts = [at for at in range(width) if at not in numbers]
    for at in texts:
        faults = [i for i, row in enumerate(table.rows) if table.number(row[at]) is None]
        if len(faults) < len(table.rows):  # names, or numbers with something else among them
            got = shown(cell) if (cell := table.rows[faults[0]][at]) else "an empty cell"
            message = f"no header, and column {at + 1} has numbers and {got}; cannot tell what it is"
            raise table.source.error(message, table.lines[faults[0]], use={"columns": None})
    wanted = [words.columns[key].headers[0] for key in needed]
    label = "name" if "names" in words.columns else None
    if len(texts) > (label is not None) or not len(needed) <= len(numbers) <= len(needed) + 1:
        raise table.source.error(
            f"no header, {len(numbers)} columns of numbers and {len(texts)} of text; {words.problem.name} "
            f"needs {', '.join(wanted)}",
            table.first,
            use={"columns": ",".join(wanted)},
        )
    if len(needed) > 1 and (capacity := _capacity_in_first(table, words.problem)) is not None:
        first = f"line {table.first} is read as the number of items and the capacity {capacity}"
        why = f"{first}; cannot tell {','.join(wanted)} from {','.join(wanted[::-1])}"
        _ask(table, [wanted, wanted[::-1]], why)
    header = dict.fromkeys(texts, "name")
    if len(numbers) > len(needed):
        ids = [at for at in (numbers[0], numbers[-1]) if _counts_up(table, at)]
        if len(ids) != 1:
            others = [c.headers[0] for c in words.columns.values() if not c.text and c.key not in needed]
            third = [[*wanted, others[0]]] if others and not ids else []
            what = (
                "the first and the last of which count the rows" if ids else "none of which counts the rows"
            )
            why = f"no header, and columns of numbers, {what}: cannot tell what they are"
            _ask(table, [["id", *wanted], [*wanted, "id"], *third], why)
        numbers.remove(ids[0])
        header[ids[0]] = "id"
    header |= dict(zip(numbers, wanted, strict=True))
    return [header[at] for at in range(width)]


def _ask(table: Table, choices: Sequence[Sequence[str]], why: str) -> NoReturn:
    """Refuse a table with the readings that it allows."""
    spelt = " or ".join(",".join(choice) for choice in choices)
    raise table.source.error(
        f"{why}; the columns may be {spelt}", table.first, use={"columns": ",".join(choices[0])}
    )


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
    elements = (vocabulary(p).is_element(dict.fromkeys(table.headers or (), 0)) for p in candidates(given))
    if not named and any(elements):
        return None
    rows, lines, names = _unlabelled(table)
    size = len(rows)
    if size < 2 or any(len(row) != size for row in rows):
        if named:
            message = f"expected as many columns as rows, got {size} rows of {len(rows[0])}"
            raise table.source.error(message, table.first)
        return None
    cells = [[_distance(table, cell) for cell in row] for row in rows]
    if not named and table.headers is None:
        if not _is_square_of_distances(cells):
            return None
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
    notes, at = _above(table, vocabulary(problem))
    data = {"problem": problem.name, MATRIX: cells, **({} if names is None else {"names": names}), **notes}
    return Record(data, table.source, locator(at, lines), remarks=table.remarks)


def _distance(table: Table, cell: str) -> int | float | str | None:
    """Read an entry of a matrix: a number, the word for an edge that is not there, or None."""
    number = table.number(cell)
    return cell if number is None and cell.lower() in NO_NUMBER else number


def _is_square_of_distances(cells: list[list[int | float | str | None]]) -> bool:
    """Tell a square of numbers with a zero or empty diagonal, and of few rows equal halves, too."""
    size = len(cells)
    return all(
        (not cells[i][i] or isinstance(cells[i][i], str))
        and all(
            i == j or (cells[i][j] is not None and (size > 3 or cells[i][j] == cells[j][i]))
            for j in range(size)
        )
        for i in range(size)
    )


def _unlabelled(table: Table) -> tuple[list[list[str]], list[int], list[str] | None]:
    """Take names off a square table: the rows of numbers, their lines, and the names."""
    rows, lines, headers = table.rows, table.lines, table.headers
    if headers is None and rows and not rows[0][0] and all(rows[0][1:]):
        headers, rows, lines = rows[0], rows[1:], lines[1:]  # names that are numbers
    width = len(rows[0]) if rows else 0
    if width == len(rows) + 1:
        names = [row[0] for row in rows]
        numeric = all(table.number(name) is not None for name in names)
        if headers is not None and headers[1:] != names:
            return [], [], None
        if headers is not None or not numeric:
            return [row[1:] for row in rows], lines, names
    if headers is not None and width == len(rows):
        square = _is_square_of_distances([[_distance(table, cell) for cell in row] for row in rows])
        return (rows, lines, headers) if square else ([], [], None)
    return (rows, lines, None) if headers is None else ([], [], None)
