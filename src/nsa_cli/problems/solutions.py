"""Reading solutions: results in JSON or CSV, a problem's own format, or ids in plain text."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import IdSet, Instance, Number, Solution
from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Source
from nsa_cli.io import json_text, table
from nsa_cli.io.tokens import read_number


@dataclass(frozen=True, eq=False)
class ClaimedSolution:
    """An unchecked solution from a file, with the file's claims about it.

    Attributes
    ----------
    ids : list
        As `Instance.from_ids` wants them.
    claims : mapping
        The other keys of a result in JSON: ``name``, ``objective``, ``bound``, …
    """

    ids: list[Any]
    claims: Mapping[str, Any] = field(default_factory=dict)


def read_answers(source: Source, problem: Problem[Any]) -> list[ClaimedSolution]:
    """Read all solutions of a text: results in JSON or CSV, a bare list of ids, a tour, or ids in plain text.

    Plain text has ids between blanks, commas or line breaks; a line each where they are names with blanks,
    and a line a group where a solution is a list of lists.

    Raises
    ------
    InputError
        If the text holds no solution, or one of another problem.
    """
    if json_text.looks_like_json(source):
        return _from_json(source, problem)
    for fmt in problem.solution_formats:
        if fmt.recognises(source) or source.suffix in fmt.suffixes:
            return [ClaimedSolution(fmt.read(source))]
    if (ids := _from_table(source, problem)) is not None:
        return [ClaimedSolution(ids)]
    return [ClaimedSolution(_from_text(source.text, problem.nested_ids))]


def choose_answer(answers: Sequence[ClaimedSolution], name: str | None, source: Source) -> ClaimedSolution:
    """Choose the only solution, or the one that names the instance.

    Raises
    ------
    InputError
        If there are several, and not one of that name.
    """
    if len(answers) == 1:
        return answers[0]
    named = [answer for answer in answers if name is not None and answer.claims.get("name") == name]
    if len(named) != 1:
        what = "an instance without a name" if name is None else shown(name)
        raise source.error(f"holds {len(answers)} solutions; expected one, or one of {what}")
    return named[0]


# --- ids of other programs ---------------------------------------------------------------------------


def solution_of(ids: Sequence[Any], problem: Problem[Any], instance: Instance) -> tuple[Solution, list[str]]:
    """Make a solution of ids, or of what other programs write instead, where that can mean one thing only.

    Positions from 0 or from 1 instead of the file's ids; the number of cities before a tour, its first city
    again behind it; 0 or 1 for each item; the bin of each item.

    Returns
    -------
    solution : ndarray
    remarks : list of str
        How the ids were read, if they are not the file's.

    Raises
    ------
    DataError
        If there is no such reading, or more than one.
    """
    elements = instance.elements
    readings = iter(()) if elements is None else _readings(ids, problem, elements)
    try:
        solution = instance.from_ids(ids)
    except DataError:
        for how, other in readings:
            with contextlib.suppress(DataError):
                return instance.from_ids(other), [f"read {how}"]
        raise
    how, other = next(readings, ("", []))
    if how == _SELECTION and other != list(ids):
        raise DataError("0 and 1 are ids of items here: cannot tell a selection from a list of ids")
    return solution, []


_SELECTION = "as 0 or 1 for each item"


def _readings(ids: Sequence[Any], problem: Problem[Any], elements: IdSet) -> Iterator[tuple[str, list[Any]]]:
    """Give the ids that may be meant, each with how they are read; a selection comes first."""
    size = len(elements.ids)
    if problem.nested_ids:
        groups = [group if isinstance(group, list) else [group] for group in ids]
        flat = [x for group in groups for x in group]
        for how, first in _positions(flat, size, whole=True):
            yield how, [[elements.ids[x - first] for x in group] for group in groups]
        if len(flat) == size and (len(groups) == 1 or all(len(group) == 1 for group in groups)):
            bins: dict[Any, list[Any]] = {}
            for item, number in zip(elements.ids, flat, strict=True):
                bins.setdefault(str(number), []).append(item)
            yield "as the bin of each item", list(bins.values())
        return
    tours = problem.answer_columns[0] != problem.answer_columns[1]
    rows = [("", list(ids))]
    if not tours:
        digits = size > 1 == len(ids) and re.fullmatch("[01]+", str(ids[0]))
        marks = [int(digit) for digit in str(ids[0])] if digits else ids
        if len(marks) == size and all(isinstance(x, int) and x in (0, 1) for x in marks):
            yield _SELECTION, [x for x, yes in zip(elements.ids, marks, strict=True) if yes]
    elif len(ids) == size + 1:
        rows += [("the first city again at the end", list(ids[:-1]))] if ids[0] == ids[-1] else []
        rows += [("the number of cities first", list(ids[1:]))] if ids[0] == size else []
    for what, row in rows:
        if what:
            yield f"with {what}", row
        for how, first in _positions(row, size, whole=tours):
            yield f"{how}{' and ' if what else ''}{what}", [elements.ids[x - first] for x in row]


def _positions(ids: Sequence[Any], size: int, *, whole: bool) -> Iterator[tuple[str, int]]:
    """Tell numbers that can only be positions from 0, or from 1."""
    if not ids or not all(isinstance(x, int) and not isinstance(x, bool) for x in ids):
        return
    for first in (0, 1):
        there = set(range(first, first + size))
        # Of a few positions a 0 tells that they count from there; from 1 they could count from 0 as well.
        if set(ids) == there if whole else (first == 0 and 0 in ids and set(ids) <= there):
            yield f"as positions in the file from {first}", first


def _from_table(source: Source, problem: Problem[Any]) -> list[Any] | None:
    """Read a solution as `Instance.table` lays it out; None if the text has not its header."""
    wanted = set(problem.answer_columns)
    first = source.text.lstrip().partition("\n")[0]
    if not wanted <= {cell.strip() for cell in re.split(r"[,;\t|]", first.lower())}:
        if _is_other_table(source.text):
            needed = " and ".join(map(repr, problem.answer_columns))
            raise source.error(f"is a table, but no solution, which has the columns {needed}", 1)
        return None
    cells = table.read_table(source)
    headers = cells.headers or []
    if not wanted <= set(headers):  # one of the cells beside them is a number
        return None
    order, ids = map(headers.index, problem.answer_columns)
    if problem.nested_ids:
        groups: dict[str, list[str | Number]] = {}
        for row in cells.rows:
            groups.setdefault(row[order], []).append(_token(row[ids]))
        return list(groups.values())
    numbers = [cells.number(row[order]) for row in cells.rows]
    places = sorted(range(len(numbers)), key=lambda i: -1 if (x := numbers[i]) is None else x)
    return [_token(cells.rows[i][ids]) for i in places]


def _is_other_table(text: str) -> bool:
    """Tell a header above rows of as many cells, with numbers among them."""
    rows = [re.split(r"[,;\t|]", line) for line in text.split("\n", 3)[:3] if line.strip()]
    numbers = [sum(read_number(cell.strip()) is not None for cell in row) for row in rows]
    equal = len(rows) > 1 and len(rows[0]) > 1 and len({*map(len, rows)}) == 1
    return equal and numbers[0] == 0 and all(numbers[1:])


def _from_json(source: Source, problem: Problem[Any]) -> list[ClaimedSolution]:
    if re.match(r"\s*(\{|\[\s*\{)", source.text):
        results = [record.data for record in json_text.read_records(source)]
    else:
        results = [{"solution": json_text.loads(source)}]
    for data in results:
        if "solution" not in data and "error" in data:
            raise source.error(f"has no solution of {data.get('name')}: {data['error']}")
        if (other := data.get("problem")) not in (None, problem.name):
            raise source.error(f"holds a solution of {shown(other)}, expected one of {problem.name}")
        if not isinstance(data.get("solution"), list):
            raise source.error("expected a list under the key 'solution'")
    return [ClaimedSolution(data["solution"], data) for data in results]


def _from_text(text: str, nested: bool) -> list[Any]:
    text = re.sub("-->|->|=>|→", ",", text)  # as other programs print routes
    lines = [bare for line in text.splitlines() if (bare := line.partition("#")[0].strip())]
    if nested:
        return [_tokens(group) for line in lines for group in line.split("|")]
    numbers = all(re.fullmatch(r"[-+.0-9eE\s]+", line) for line in lines)
    if len(lines) > 1 and not numbers and not any("," in line for line in lines):
        return [*lines]
    return [x for line in lines for x in _tokens(line)]


def _tokens(line: str) -> list[str | Number]:
    """Split at commas if there are any, else at blanks."""
    parts = line.split(",") if "," in line else line.split()
    return [_token(part.strip()) for part in parts if part.strip()]


def _token(text: str) -> str | Number:
    """Read a number, or a name; 007 is a name, and 1.0 may be one: it stays a float."""
    number = None if re.fullmatch("0[0-9]+", text) else read_number(text)
    return text if number is None else float(number) if "." in text else number
