"""JSON with one object an element: ``{"capacity": 5, "items": [{"value": 3, "weight": 2}, …]}``.

Keys of the objects are the headers of the problem's tables; the list may have any name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nsa_cli.core.problem import Column, Problem
from nsa_cli.core.record import Record


def spread_rows(record: Record, problems: Sequence[Problem[Any]]) -> Record:
    """Turn a list of objects into one list a column, for the problem that requires most columns.

    Parameters
    ----------
    record : Record
    problems : sequence of Problem
        Candidates.

    Returns
    -------
    Record
        The same if no problem has such objects, or if it is not clear which list they are in.

    Raises
    ------
    InputError
        If two keys mean the same.
    """
    lists = [key for key, value in record.data.items() if _are_objects(value)]
    if len(lists) != 1:
        return record
    (name,) = lists
    rows: list[Mapping[str, Any]] = record.data[name]
    keys = {key.lower() for row in rows for key in row}
    fitting = [
        p for p in problems if p.columns and all(c.required <= bool(_means(c, keys)) for c in p.columns)
    ]
    if not fitting:
        return record
    problem = max(fitting, key=lambda p: sum(column.required for column in p.columns))
    bound = {column: found for column in problem.columns if (found := _means(column, keys))}
    for column, found in bound.items():
        if len(found) > 1 and not column.text:  # of names the one listed first is the name
            message = f"{name}: {' and '.join(found)} mean the same; expected one of them"
            raise record.source.error(message, record.locate(name, None))
    others = {key: value for key, value in record.data.items() if key != name}
    columns = {column.key: [_get(row, found[0]) for row in rows] for column, found in bound.items()}
    return record.revised({"problem": problem.name, **others, **columns}, dict.fromkeys(columns, name))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _means(column: Column, keys: Collection[str]) -> list[str]:
    """Find the keys that mean a column."""
    return [header for header in column.headers if header in keys]


def _get(row: Mapping[str, Any], header: str) -> Any:
    return next((value for key, value in row.items() if key.lower() == header), None)
