"""Instances of JSON: an object each, with lists of elements, or a list of elements.

``{"capacity": 5, "items": [{"value": 3, "weight": 2}, …]}``, ``[{"name": "A", "x": 1, "y": 2}, …]``, one such
object a line, ``[[0, 12], [12, 0]]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.core.words import squeezed
from nsa_cli.io.json_text import JsonValue, dumps, read_values
from nsa_cli.io.table import table_of
from nsa_cli.problems import declared
from nsa_cli.problems.datasets import read_arrays
from nsa_cli.problems.tables import Columns, spread, table_record
from nsa_cli.problems.vocabulary import (
    axes_of,
    candidates,
    vocabulary,
)


def json_records(source: Source, problem: Problem[Any] | None) -> list[Record | InputError]:
    """Read the instances of a JSON text; one that is malformed in a line of its own is an error.

    Raises
    ------
    InputError
        If the whole text is not JSON, or something in it is no instance.
    """
    values = read_values(source)
    objects = [value for value in values if isinstance(value, JsonValue)]
    if objects and are_elements([value.value for value in objects], problem):
        for value in values:
            if isinstance(value, InputError):
                raise value  # without it the instance would be another
        rows = [value.value for value in objects]
        return [object_record(rows, source, problem, lambda i: objects[i].line)]
    found: list[Record | InputError] = []
    for value in values:
        if isinstance(value, InputError):
            found.append(value)
        elif isinstance(value.value, list) and value.value and not isinstance(value.value[0], dict):
            found += list_records(value.value, value.source, problem, value.line)
        elif are_elements(value.value, problem):
            found.append(object_record(value.value, source, problem, value.line_of))
        elif record := foreign_record(value.value, source, value.line_of, problem):
            found.append(record)
        else:
            found += [spread_rows(record, problem) for record in value.records()]
    return found


def foreign_record(
    value: Any, source: Source, line_of: Callable[..., int | None], problem: Problem[Any] | None
) -> Record | None:
    """Read a JSON value in the first form of other programs that recognises it; None if none does."""
    for name, (recognises, read) in declared("json_forms", problem):
        if recognises(value):
            record = read(value, source, line_of)
            return replace(record, data={"problem": name, **record.data})
    return None


def object_record(
    rows: Sequence[Mapping[str, Any]],
    source: Source,
    problem: Problem[Any] | None,
    row_line: Callable[[int], int | None] = lambda _: None,
) -> Record:
    """Make the record of a list of objects, each of which is an element; see `are_elements`."""
    return _spread_objects(Record({}, source), rows, row_line, problem)


def are_elements(rows: Any, problem: Problem[Any] | None) -> bool:
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
    lists = [key for key, value in record.data.items() if are_elements(value, problem)]
    if len(lists) != 1:
        return record
    others = {key: value for key, value in record.data.items() if key != lists[0]}
    rows = record.data[lists[0]]
    return _spread_objects(replace(record, data=others), rows, lambda i: record.locate(lists[0], i), problem)


def _spread_objects(
    record: Record,
    rows: Sequence[Mapping[str, Any]],
    row_line: Callable[[int], int | None],
    problem: Problem[Any] | None,
) -> Record:
    """Add the values of elements to a record, a list a word; words may be written otherwise in each row."""
    names: dict[str, str] = {}
    columns: dict[str, Any] = {}
    for i, row in enumerate(rows):
        for word, value in row.items():
            if value is None or record.source.reading.leaves_out(word):
                continue
            name = names.setdefault(squeezed(word), word)
            column = columns.get(name) or columns.setdefault(name, [None] * len(rows))
            if column[i] is not None:
                message = f"{shown(name)} and {shown(word)} are in one object; expected one of them"
                raise record.source.error(message, row_line(i))
            column[i] = value

    def head_line(word: str) -> int | None:
        return row_line(next((i for i, value in enumerate(columns[word]) if value is not None), 0))

    return spread(record, Columns(columns, head_line, row_line), problem)


def list_records(
    values: list[Any], source: Source, problem: Problem[Any] | None, line: int = 1
) -> Sequence[Record]:
    """Read a list of rows as a table without a header, and a list of such lists as arrays.

    Raises
    ------
    InputError
        If rows differ in length, or hold anything but numbers and texts.
    """
    if axes_of(values) == 3:
        return read_arrays(replace(source, arrays=values), problem)
    rows = [row if isinstance(row, list) else [row] for row in values]
    for i, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]) or not all(x is None or type(x) in (int, float, str) for x in row):
            expected = f"expected {len(rows[0])} numbers or names as in the first one"
            raise source.error(f"row {i}: {expected}, got {shown(dumps(row))}", line)
    cells = [[x if isinstance(x, str) else "null" if x is None else repr(x) for x in row] for row in rows]
    return [table_record(table_of(source, cells, [line] * len(rows)), problem)]
