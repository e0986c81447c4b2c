"""JSON that is laid out as a table: objects or lists, one an element.

``{"capacity": 5, "items": [{"value": 3, "weight": 2}, …]}``, ``[{"name": "A", "x": 1, "y": 2}, …]``, one such
object a line, ``[[0, 12], [12, 0]]``. Keys of the objects are the headers of the problem's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.core.words import squeezed
from nsa_cli.io.json_text import JsonValue, dumps, read_values
from nsa_cli.io.table import table_of
from nsa_cli.problems.datasets import read_arrays
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
        return [_spread(Record({}, source), [value.value for value in objects], lines.__getitem__, problem)]
    found: list[Record | InputError] = []
    for value in values:
        if isinstance(value, InputError):
            found.append(value)
        elif isinstance(value.value, list) and value.value and not isinstance(value.value[0], dict):
            found += _lists(value, problem)
        elif _are_elements(value.value, problem):
            found.append(_spread(Record({}, source), value.value, value.line_of, problem))
        else:
            found += [spread_rows(record, problem) for record in value.records()]
    return found


def _are_elements(rows: Any, problem: Problem[Any] | None) -> bool:
    """Tell a list of objects that are cities or items of some problem, if not each has all keys."""
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return False
    whole = {word: value for row in rows for word, value in row.items() if value is not None}
    return any(vocabulary(p).is_element(whole) for p in candidates(problem))


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
    others = {key: value for key, value in record.data.items() if key != lists[0]}
    rows = record.data[lists[0]]
    return _spread(replace(record, data=others), rows, partial(record.locate, lists[0]), problem)


def _spread(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    line_of: Callable[[int], int | None],
    problem: Problem[Any] | None,
) -> Record:
    """Add the values of elements to a record, a list a word; words may be written otherwise in each row."""
    names: dict[str, str] = {}
    spelt: dict[str, str] = {}
    columns: dict[str, list[Any]] = {}
    first: dict[str, int] = {}

    def fail(message: str, word: str, row: int | None = None) -> NoReturn:
        raise record.source.error(message, line_of(first[word] if row is None else row))

    for i, row in enumerate(rows):
        for word, value in row.items():
            if value is None or record.source.reading.leaves_out(word):
                continue
            if word not in names:
                names[word] = name = spelt.setdefault(squeezed(word), word)
                columns.setdefault(name, [None] * len(rows))
                first.setdefault(name, i)
            name = names[word]
            if columns[name][i] is not None:
                fail(f"{shown(name)} and {shown(word)} are in one object; expected one of them", name, i)
            columns[name][i] = value
    for key in record.data.keys() & columns.keys() - {"problem"}:
        fail(f"{shown(key)} is beside the rows, too", key)
    if problem is None:
        problem = recognise(replace(record, data={**record.data, **columns}))
    data = {**record.data, **vocabulary(problem).spread(columns, fail)}

    def locate(key: str | None, index: int | None) -> int | None:
        if key not in first:
            return record.locate(key, index)
        return line_of(first[key] if index is None or index >= len(rows) else index)

    return replace(record, data=data, locate=locate)


def _lists(value: JsonValue, problem: Problem[Any] | None) -> Sequence[Record]:
    """Read a list of rows as a table without a header, and a list of such lists as arrays."""
    if axes_of(value.value) == 3:
        return read_arrays(replace(value.source, arrays=value.value), problem)
    rows = [row if isinstance(row, list) else [row] for row in value.value]
    for i, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or not all(x is None or type(x) in (int, float, str) for x in row):
            expected = f"expected {len(rows[0])} numbers or names as in the first one"
            raise value.error(f"row {i}: {expected}, got {shown(dumps(row))}")
    cells = [[x if isinstance(x, str) else "null" if x is None else repr(x) for x in row] for row in rows]
    return [table_record(table_of(value.source, cells, [value.line] * len(rows)), problem)]
