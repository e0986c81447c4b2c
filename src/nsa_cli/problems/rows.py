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
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.core.words import squeezed
from nsa_cli.io.json_text import JsonValue, dumps, read_values
from nsa_cli.io.table import table_of
from nsa_cli.problems.tables import table_record
from nsa_cli.problems.vocabulary import Vocabulary, axes_of, vocabulary


def json_records(source: Source, problems: Sequence[Problem[Any]]) -> list[Record | InputError]:
    """Read the instances of a JSON text; one that is malformed in a line of its own is an error.

    Raises
    ------
    InputError
        If the whole text is not JSON, or something in it is no instance.
    """
    values = read_values(source)
    if (whole := _elements_by_line(values, problems)) is not None:
        return [whole]
    found: list[Record | InputError] = []
    for value in values:
        if isinstance(value, InputError):
            found.append(value)
        elif isinstance(value.value, list) and value.value and not isinstance(value.value[0], dict):
            found += _lists(value, problems)
        else:
            rows = value.value
            if isinstance(rows, list) and rows and _are_elements(rows, problems):
                found.append(_joined(source, rows, value.lines(), problems))
            else:
                found += [spread_rows(record, problems) for record in value.records()]
    return found


def _elements_by_line(
    values: Sequence[JsonValue | InputError], problems: Sequence[Problem[Any]]
) -> Record | None:
    """Join objects that are elements, one a line, to one instance; None if there is something else.

    Raises
    ------
    InputError
        If one of the lines is malformed: without it the instance would be another.
    """
    objects = [v for v in values if not isinstance(v, InputError)]
    head: list[JsonValue] = []
    if (
        len(objects) > 1
        and isinstance(objects[0].value, dict)
        and not _are_elements([objects[0].value], problems)
    ):
        head, objects = objects[:1], objects[1:]  # what holds for all of them
    if not objects or not _are_elements([v.value for v in objects], problems):
        odd = next((v for v in objects if _are_elements([v.value], problems)), None)
        if odd is None:
            return None
        raise odd.error("is a city or an item among objects that are none; give them in a list under a key")
    for value in values:
        if isinstance(value, InputError):
            raise value
    lines = [value.line for value in objects]
    record = _joined(objects[0].source, [value.value for value in objects], lines, problems)
    for whole in head:
        for key in whole.value.keys() & record.data.keys() - {"problem"}:
            raise whole.error(f"{key} are in the lines below, too")
        record = replace(record, data={**record.data, **whole.value})
    return record


def _are_elements(rows: Sequence[Any], problems: Sequence[Problem[Any]]) -> bool:
    """Tell objects that are cities or items, each one, from objects that are instances."""
    if not all(isinstance(row, dict) and "problem" not in row for row in rows):
        return False
    shapes = {_shape(row) for row in rows}  # few, of many rows
    return all(
        any(
            _fits(shape, problem)
            and not any(axes and vocabulary(problem).means(word, axes) for word, axes in shape)
            for problem in problems
        )
        for shape in shapes
    )


def _shape(row: Mapping[str, Any]) -> frozenset[tuple[str, int]]:
    """Words of an object whose values are numbers, texts or lists of them, with their numbers of axes."""
    return frozenset(
        (word, axes)
        for word, value in row.items()
        if (axes := axes_of(value)) is not None and not (isinstance(value, list) and not value)
    )


def _shape_of_all(rows: Sequence[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    return frozenset().union(*{_shape(row) for row in rows})


def _fits(shape: frozenset[tuple[str, int]], problem: Problem[Any]) -> bool:
    """Tell whether objects have all keys that an element of a problem needs."""
    words = vocabulary(problem)
    keys = {_element_key(words, word, axes) for word, axes in shape}
    return any(set(needed) <= keys for needed in problem.column_sets)


def _element_key(words: Vocabulary, word: str, axes: int) -> str | None:
    """Find the key of the record that a key of an element fills; an element's value has an axis less."""
    among = [*words.columns, *(key for key, count in words.problem.arrays.items() if count == axes + 1)]
    key = words.key_of(word, axes + 1, among)
    return key if key is None or key not in words.columns or axes == 0 else None


def _joined(
    source: Source, rows: Sequence[Mapping[str, Any]], lines: Sequence[int], problems: Sequence[Problem[Any]]
) -> Record:
    """Make one record of elements, given with their lines."""
    data, _ = _columns(rows, problems, source, lines.__getitem__)
    return Record(data, source, locator({}, lines))


def spread_rows(record: Record, problems: Sequence[Problem[Any]]) -> Record:
    """Turn a list of objects in a record into one list a column, for the problem that needs most columns.

    Returns
    -------
    Record
        The same if no problem has such objects, or if it is not clear which list they are in.

    Raises
    ------
    InputError
        If a key is not understood, or two mean the same.
    """
    lists = [key for key, value in record.data.items() if _are_objects(value)]
    if len(lists) != 1:
        return record
    (name,) = lists
    if not any(_fits(_shape_of_all(record.data[name]), problem) for problem in problems):
        return record
    data, bound = _columns(record.data[name], problems, record.source, lambda i: record.locate(name, i))
    others = {key: value for key, value in record.data.items() if key != name}
    for key in others.keys() & data.keys() - {"problem"}:
        raise record.source.error(f"{key} are in {shown(name)}, too", record.locate(key, None))
    return record.revised({**data, **others}, dict.fromkeys(bound, name))


def _columns(
    rows: Sequence[Mapping[str, Any]], problems: Sequence[Problem[Any]], source: Source, line: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """Collect the values of elements by keys of the problem that needs most of them."""
    whole = _shape_of_all(rows)
    fitting = [p for p in problems if _fits(whole, p)]
    problem = max(fitting, key=lambda p: max(map(len, p.column_sets)))
    words = vocabulary(problem)
    found: dict[str, list[str]] = {}
    where: dict[str, int] = {}
    for i, row in enumerate(rows):
        for word, value in row.items():
            if word in where or value is None:
                continue
            where[word] = i
            if source.reading.leaves_out(word):
                continue
            for _, axes in _shape({word: value}):
                if (key := _element_key(words, word, axes)) is not None:
                    found.setdefault(key, []).append(word)

    def fail(message: str, word: str, **hints: Any) -> NoReturn:
        raise source.error(message, line(where[word]), **hints)

    meant = {word for known in found.values() for word in known}
    for word in where:
        if word not in meant and not source.reading.leaves_out(word):
            values = [row.get(word) for row in rows]
            constant = values[0] if all(value == values[0] for value in values) else None
            if not words.is_harmless(word, constant):
                message, hints = words.refusal(word, constant)
                fail(message, word, **hints)
    data: dict[str, Any] = {"problem": problem.name}
    bound = {}
    for key, known in found.items():
        # Of words that differ in how they are written each row may have another.
        alike = len({squeezed(word) for word in known}) == 1
        both = next((i for i, row in enumerate(rows) if sum(word in row for word in known) > 1), None)
        if alike and both is not None:
            fail(f"{known[0]} and {known[1]} are in one object; expected one of them", known[1])
        columns = {word: [row.get(word) for row in rows] for word in known}
        bound[key] = known[0] if alike else words.choose(key, known, columns, fail)
        data[key] = (
            [next((row[w] for w in known if w in row), None) for row in rows]
            if alike
            else columns[bound[key]]
        )
    return data, bound


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


# --- lists without keys ------------------------------------------------------------------------------


def _lists(value: JsonValue, problems: Sequence[Problem[Any]]) -> list[Record | InputError]:
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
            found.append(table_record(table_of(source, cells, lines), problems))
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
