"""Tables of elements: which problem they are of, and what their columns mean.

With a header the words tell. Without one the data tell where they can, and the user where they cannot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from nsa_cli.core.errors import shown, visible
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, locator
from nsa_cli.core.words import NO_NUMBER, misspellings, nearest
from nsa_cli.io.table import Table, to_record
from nsa_cli.problems.vocabulary import Vocabulary, vocabulary

#: Word that makes all columns distances.
MATRIX = "matrix"


class _Head(NamedTuple):
    """Number of items and capacity in the first line of a table.

    Attributes
    ----------
    capacity : int or float
    line : int
    """

    capacity: int | float
    line: int


def table_record(table: Table, problems: Sequence[Problem[Any]]) -> Record:
    """Make the record of a table, for the one of some problems that it is of.

    Raises
    ------
    InputError
        If the problem cannot be told, a column is not understood, or several readings are possible.
    """
    given = table.source.reading.columns
    if given is not None and given != (MATRIX,):
        table = _with_columns(table, given)
    if (record := _matrix(table, problems, named=given == (MATRIX,))) is not None:
        return record
    problem = _problem(table, problems)
    words = vocabulary(problem)
    _refuse_solution(table, words)
    head = _head(table, problem)
    if head is not None:
        table = replace(table, rows=table.rows[1:], lines=table.lines[1:])
    headerless = table.headers is None
    bound = _by_order(table, words, head) if headerless else _by_header(table, words)
    notes, lines = _notes(table, words, {words.columns[key].key: at for key, at in bound.items()})
    record = to_record(table, {words.columns[key]: at for key, at in bound.items()}, notes)
    remarks = list(record.remarks)
    if head is not None:
        record.data.setdefault("capacity", head.capacity)
        lines.setdefault("capacity", head.line)
        remarks.append(f"line {head.line} is read as the number of items and the capacity {head.capacity}")
    if headerless and len(_required(words)) > 1 and problem.sense == "max":
        remarks.append(f"without a header the columns are read as {', '.join(_names(words, bound, table))}")
    data = {"problem": problem.name, **record.data}
    locate = locator(lines, table.lines)
    return replace(record, data=data, remarks=tuple(remarks), locate=locate)


def _refuse_solution(table: Table, words: Vocabulary) -> None:
    """Refuse a table of a solution, which has a column that no instance has."""
    order, ids = words.problem.answer_columns
    there = {header.strip().lower() for header in table.headers or ()}
    if {order, ids} <= there and words.key_of(order, 1, words.columns) is None:
        name = table.source.name
        raise table.source.other("expected an instance, got a solution", table.first, use={"init": name})


def _names(words: Vocabulary, bound: dict[str, int], table: Table) -> list[str]:
    return [words.columns[key].headers[0] for key in sorted(bound, key=bound.__getitem__)]


def _required(words: Vocabulary) -> tuple[str, ...]:
    return words.problem.column_sets[0] if words.problem.column_sets else ()


def _with_columns(table: Table, given: Sequence[str]) -> Table:
    """Take the user's words as the header; a header that the file has is left out."""
    width = len(table.headers or table.rows[0])
    if len(given) != width:
        message = f"expected {width} words for the {width} columns, got {len(given)}"
        raise table.source.error(message, table.first, use={"columns": None})
    return replace(table, headers=[word or "-" for word in given])


def _problem(table: Table, problems: Sequence[Problem[Any]]) -> Problem[Any]:
    """Choose the problem whose columns the header has; of several the one that needs most."""
    if len(problems) == 1:
        return problems[0]
    headers = table.headers or []
    fitting = []
    for problem in problems:
        words = vocabulary(problem)
        keys = {words.key_of(header, 1, words.columns) for header in headers}
        sizes = [len(needed) for needed in problem.column_sets if set(needed) <= keys]
        if sizes:
            fitting.append((max(sizes), problem))
    if fitting:
        most = max(size for size, _ in fitting)
        return next(problem for size, problem in fitting if size == most)
    heads = "; ".join(f"{p.name}: {_needs(p)}" for p in problems if p.column_sets)
    separated = {" ": "blanks", "\t": "tabs"}.get(table.delimiter, shown(table.delimiter))
    got = f"a table separated by {separated} with no header"
    hints: dict[str, Any] = {"use": {"problem": None}}
    if table.headers is not None:
        got = f"header {shown(', '.join(headers), 80)}"
        got += misspellings(headers, [h for p in problems for column in p.columns for h in column.headers])
    raise table.source.other(f"cannot tell the problem: expected ({heads}), got {got}", table.first, **hints)


def _needs(problem: Problem[Any]) -> str:
    words = vocabulary(problem).columns
    return " or ".join(", ".join(words[key].headers[0] for key in keys) for keys in _of_tables(problem))


def _of_tables(problem: Problem[Any]) -> list[tuple[str, ...]]:
    """Column sets that a table can have; others are of objects."""
    keys = {column.key for column in problem.columns}
    return [needed for needed in problem.column_sets if set(needed) <= keys]


# --- with a header -----------------------------------------------------------------------------------


def _by_header(table: Table, words: Vocabulary) -> dict[str, int]:
    """Place of each column by its header.

    Raises
    ------
    InputError
        If a column is needed and missing, not understood, or one of two that mean the same.
    """
    headers = table.headers or []
    found: defaultdict[str, list[int]] = defaultdict(list)
    for at, header in enumerate(headers):
        cells = table.columns[at] if table.rows else ()
        left_out = header == "-" or table.source.reading.leaves_out(header)
        if left_out or (cells and not any(cells)):
            continue
        key = words.key_of(header, 1, words.columns)
        if key is not None:
            found[key].append(at)
        elif words.key_of(header, 0, words.problem.settings) is None and not words.is_harmless(
            header, cells[0] if len(set(cells)) == 1 else None
        ):
            message, hints = words.refusal(header)
            if not header:
                message, hints = f"column {at + 1} has no header", {"use": {"columns": None}}
            raise table.source.error(message, table.first, **hints)
    bound = {}
    for key, places in found.items():
        first = {headers[at]: list(table.columns[at]) if table.rows else [] for at in reversed(places)}

        def fail(message: str, word: str, **hints: Any) -> NoReturn:
            raise table.source.error(message, table.first, **hints)

        if len(first) < len(places):
            fail(f"two columns are called {shown(headers[places[0]])}; expected one", "")
        bound[key] = headers.index(words.choose(key, [headers[at] for at in places], first, fail))
    sets = _of_tables(words.problem)
    if sets and not any(set(needed) <= set(bound) for needed in sets):
        best = max(sets, key=lambda needed: len(set(needed) & set(bound)))
        lacking = next(key for key in best if key not in bound)
        raise table.source.error(
            f"no column {words.columns[lacking].headers[0]!r}, which {words.problem.name} needs; "
            f"the header has {shown(', '.join(headers), 80)}",
            table.first,
        )
    return bound


def _notes(table: Table, words: Vocabulary, bound: dict[str, int]) -> tuple[dict[str, Any], dict[str, int]]:
    """Read what holds for the whole table: lines above it, and columns that say the same in all rows.

    Raises
    ------
    InputError
        If such a column is not constant, or a note is given twice or nearly a word.
    """
    settings = [*words.problem.settings, *words.problem.keys]
    notes: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for word, text in table.notes.items():
        line = table.note_lines[word]
        key = words.key_of(word, 0, settings)
        if table.source.reading.leaves_out(word):
            continue
        if key is None:
            if not _is_remark(table, words, word, text):
                message, hints = words.refusal(word, table.value(text))
                raise table.source.error(message, line, **hints)
            continue
        value = table.value(text, is_text=key in ("name", "comment"))
        if notes.setdefault(key, value) != value:
            raise table.source.error(f"{key} is given twice", line)
        lines[key] = line
    for at, header in enumerate(table.headers or []):
        key = words.key_of(header, 0, words.problem.settings)
        if key is None or at in bound.values() or key in notes or not table.rows:
            continue
        if table.source.reading.leaves_out(header):
            continue
        if words.key_of(header, 1, words.columns) is not None or words.is_harmless(header):
            continue
        for row, line in zip(table.rows, table.lines, strict=True):
            if row[at] != table.rows[0][at]:
                first = shown(table.rows[0][at])
                message = f"{visible(header)}: expected {first} in all rows, got {shown(row[at])}"
                raise table.source.error(message, line)
        notes[key], lines[key] = table.value(table.rows[0][at], is_text=key == "name"), table.lines[0]
    return notes, lines


def _is_remark(table: Table, words: Vocabulary, word: str, text: str) -> bool:
    """Tell a note on which no answer depends: harmless, or with a colon and not nearly a word."""
    if words.is_neutral(word) or words.is_harmless(word):
        return words.is_harmless(word, table.value(text))
    spelt = words.spellings()
    near = nearest(word, [w for key in words.problem.settings for w in spelt[key]], 0.8)
    return word not in table.stated and near is None


# --- without a header --------------------------------------------------------------------------------


def _head(table: Table, problem: Problem[Any]) -> _Head | None:
    """Recognise a first line with the number of items and the capacity, in any order."""
    if "capacity" not in problem.settings or len(table.rows) < 2:
        return None
    if table.headers is not None and table.source.reading.columns is None:
        return None
    numbers = [table.number(cell) for cell in table.rows[0] if cell]
    if len(numbers) != 2 or None in numbers or len([cell for cell in table.rows[1] if cell]) < 2:
        return None
    count = len(table.rows) - 1
    if count < 2 or count not in numbers:
        return None
    width = len(table.rows[0])
    if width > len(problem.column_sets[0]) and any(_counts_up(table, at) for at in (0, width - 1)):
        return None  # a column of ids that goes on in the first line
    (capacity,) = [x for x in numbers if x != count] or [count]
    return _Head(capacity or 0, table.lines[0])


def _by_order(table: Table, words: Vocabulary, head: _Head | None) -> dict[str, int]:
    """Place of each column where there is no header: numbers in the order of the contract, texts as names.

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
    bound = {"names": texts[0]} if texts else {}
    if head is not None and len(needed) > 1:
        _ask(
            table,
            [wanted, wanted[::-1]],
            f"line {head.line} is read as the number of items and the capacity {head.capacity}; cannot tell "
            f"{','.join(wanted)} from {','.join(wanted[::-1])}",
        )
    if len(numbers) > len(needed):
        ids = [at for at in (numbers[0], numbers[-1]) if _counts_up(table, at)]
        if len(ids) != 1:
            _ask(table, _choices(words, wanted, numbers, ids), _why(ids))
        numbers.remove(ids[0])
        bound["ids"] = ids[0]
    return bound | dict(zip(needed, numbers, strict=True))


def _why(ids: Sequence[int]) -> str:
    what = "the first and the last of which count the rows" if ids else "none of which counts the rows"
    return f"no header, and columns of numbers, {what}: cannot tell what they are"


def _choices(
    words: Vocabulary, wanted: list[str], numbers: Sequence[int], ids: Sequence[int]
) -> list[list[str]]:
    choices = [["id", *wanted], [*wanted, "id"]]
    further = [c.headers[0] for c in words.problem.columns if not c.text and c.headers[0] not in wanted][:1]
    return (
        choices if ids else [*choices, *([*wanted, more] for more in further if more not in ("lat", "lon"))]
    )


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


def _matrix(table: Table, problems: Sequence[Problem[Any]], *, named: bool) -> Record | None:
    """Read a table of distances, bare or with the names of the rows, the columns or both; None if it is none.

    Raises
    ------
    InputError
        If it may be a list of cities as well, or an entry is no number.
    """
    problem = next((p for p in problems if MATRIX in p.arrays), None)
    if problem is None or (table.source.reading.columns is not None and not named):
        return None
    words = vocabulary(problem)
    keys = {words.key_of(header, 1, words.columns) for header in table.headers or []}
    if not named and any(set(needed) <= keys for p in problems for needed in p.column_sets if needed):
        return None
    rows, lines, names = _unlabelled(table)
    size = len(rows)
    if size < 2 or any(len(row) != size for row in rows):
        if named:
            raise table.source.error(
                f"expected as many columns as rows, got {size} rows of {len(rows[0])}", table.first
            )
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
        for j, value in enumerate(row):
            if value is None and i != j:
                got = shown(rows[i][j]) if rows[i][j] else "an empty cell"
                raise table.source.error(
                    f"matrix: expected a distance in column {j + 1}, got {got}", lines[i]
                )
            row[j] = 0 if value is None or i == j else value
    data: dict[str, Any] = {"problem": problem.name, "matrix": cells}
    if names is not None:
        data["names"] = names
    notes, at = _notes(replace(table, headers=None), words, {})
    return Record({**data, **notes}, table.source, locator(at, lines), remarks=table.remarks)


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
