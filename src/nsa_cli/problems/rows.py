"""JSON that is laid out as a table: objects or lists, one an element.

``{"capacity": 5, "items": [{"value": 3, "weight": 2}, …]}``, ``[{"name": "A", "x": 1, "y": 2}, …]``, one such
object a line, ``[[0, 12], [12, 0]]``. Keys of the objects are the headers of the problem's tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Locate, Record, Source, locator
from nsa_cli.core.words import squeezed
from nsa_cli.io.json_text import JsonValue, dumps, read_values
from nsa_cli.io.table import table_of
from nsa_cli.problems.tables import table_record
from nsa_cli.problems.vocabulary import axes_of, candidates, recognise, vocabulary


def json_records(source: Source, problem: Problem[Any] | None) -> list[Record | InputError]:
    """Read the instances of a JSON text; one that is malformed in a line of its own is an error.

    Raises
    ------
    InputError
        If the whole text is not JSON, or something in it is no instance.
    """
    values = read_values(source)
    objects = [value for value in values if isinstance(value, JsonValue)]
    if objects and _are_elements([value.value for value in objects], problem):
        for value in values:
            if isinstance(value, InputError):
                raise value  # without it the instance would be another
        lines = [value.line for value in objects]
        return [_joined(source, [value.value for value in objects], lines, problem)]
    found: list[Record | InputError] = []
    for value in values:
        if isinstance(value, InputError):
            found.append(value)
        elif isinstance(value.value, list) and value.value and not isinstance(value.value[0], dict):
            found += _lists(value, problem)
        elif isinstance(value.value, list) and value.value and _are_elements(value.value, problem):
            found.append(_joined(source, value.value, value.lines(), problem))
        else:
            found += [spread_rows(record, problem) for record in value.records()]
    return found


def _are_elements(rows: Any, problem: Problem[Any] | None) -> bool:
    """Tell a list of objects each of which is a city or an item of some problem."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return False
    vocabularies = [vocabulary(p) for p in candidates(problem)]
    alike = {tuple((word, axes_of(value)) for word, value in row.items()): row for row in rows}
    return all(any(words.is_element(row) for words in vocabularies) for row in alike.values())


def _joined(
    source: Source, rows: Sequence[Mapping[str, Any]], lines: Sequence[int], problem: Problem[Any] | None
) -> Record:
    """Make one record of elements, given with their lines."""
    return _spread(Record({}, source), rows, locator({}, lines), problem)


def spread_rows(record: Record, problem: Problem[Any] | None) -> Record:
    """Turn a list of objects in a record into one list a key of theirs.

    Returns
    -------
    Record
        The same if no problem has such objects, or if it is not clear which list they are in.

    Raises
    ------
    InputError
        If a key is in an object twice, or in the record, too.
    """
    lists = [key for key, value in record.data.items() if _are_elements(value, problem)]
    if len(lists) != 1:
        return record
    (name,) = lists
    others = {key: value for key, value in record.data.items() if key != name}

    def locate(key: str | None, index: int | None) -> int | None:
        of_record = key in others or (key is None and index is None)
        return record.locate(key if of_record else name, index)

    return _spread(replace(record, data=others), record.data[name], locate, problem)


def _spread(
    record: Record, rows: Sequence[Mapping[str, Any]], locate: Locate, problem: Problem[Any] | None
) -> Record:
    """Add the values of elements to a record, a list a word; words may be written otherwise in each row."""
    spelt: dict[str, str] = {}
    names: dict[str, str] = {}
    columns: dict[str, list[Any]] = {}
    first: dict[str, int] = {}

    def fail(message: str, word: str, row: int | None = None) -> NoReturn:
        raise record.source.error(message, locate(None, first[word] if row is None else row))

    for i, row in enumerate(rows):
        for word, value in row.items():
            if value is None or record.source.reading.leaves_out(word):
                continue
            if word not in names:
                names[word] = spelt.setdefault(squeezed(word), word)
            name = names[word]
            if name not in columns:
                columns[name], first[name] = [None] * len(rows), i
            if columns[name][i] is not None:
                fail(f"{shown(name)} and {shown(word)} are in one object; expected one of them", name, i)
            columns[name][i] = value
    for key in record.data.keys() & columns.keys() - {"problem"}:
        fail(f"{shown(key)} is beside the rows, too", key)
    if problem is None:
        problem = recognise(replace(record, data={**record.data, **columns}))
    data = {**record.data, **vocabulary(problem).spread(columns, fail)}

    def place(key: str | None, index: int | None) -> int | None:
        return locate(key, first[key] if index is None and key in first else index)

    return replace(record, data=data, locate=place)


# --- lists without keys ------------------------------------------------------------------------------


def _lists(value: JsonValue, problem: Problem[Any] | None) -> list[Record | InputError]:
    """Read a list of rows, or a list of such lists, as tables without a header."""
    axes, elements = axes_of(value.value), value.value
    if axes == 3 and all(isinstance(rows, list) for rows in elements):
        parts = [(rows, [line] * len(rows)) for rows, line in zip(elements, value.lines(), strict=True)]
    elif axes in (1, 2):
        parts = [(elements, value.lines())]
    else:
        raise value.error("expected objects, rows of numbers, or a list of such; got something else")
    found: list[Record | InputError] = []
    for i, (rows, lines) in enumerate(parts, start=1):
        cells = [
            _cells(value, row if axes != 1 else [row], line) for row, line in zip(rows, lines, strict=True)
        ]
        source = value.source if axes != 3 else replace(value.source, name=f"{value.source.name}[{i}]")
        try:
            found.append(table_record(table_of(source, cells, lines), problem))
        except InputError as error:
            if len(parts) == 1:
                raise
            found.append(error)
    return found


def _cells(value: JsonValue, row: Any, line: int) -> list[str]:
    if (
        not isinstance(row, list)
        or not row
        or not all(x is None or type(x) in (int, float, str) for x in row)
    ):
        raise value.source.error(f"expected a row of numbers, got {shown(dumps(row))}", line)
    return [x if isinstance(x, str) else "null" if x is None else repr(x) for x in row]
