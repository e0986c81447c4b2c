"""Knapsack text files of the field.

==========  ==============================================================================
standard    ``n C``, then n lines ``value weight`` (knapsacksolver, unibo, courses)
            or ``C n`` in the first line: the number of lines tells which
jooken      ``n``, then n lines ``id value weight``, then ``C``
pisinger    blocks: name, ``n N``, ``c C``, ``z optimum``, ``time T``, lines
            ``i,value,weight,x``, a line of dashes
==========  ==============================================================================
"""

from __future__ import annotations

import re
from typing import Any

from nsa_cli.core.errors import shown
from nsa_cli.core.record import Record, Source
from nsa_cli.io.tokens import Line, locator, shape, split_lines, to_count, to_number


def recognises_standard(source: Source) -> bool:
    """Two numbers in the first line, and in the second."""
    return shape(source, 2) == (2, 2)


def read_standard(source: Source) -> list[Record]:
    """Read ``n C`` or ``C n`` and the items.

    Raises
    ------
    InputError
        If neither number of the first line is the number of items, or a line has not two numbers.
    """
    (head, first), *rows = split_lines(source)
    counts = [to_number(source, token, first, "header") for token in head]
    if len(rows) not in counts:
        last = rows[-1].number if rows else first
        raise source.error(
            f"expected n and the capacity in line {first} and n items; got {shown(' '.join(head))} "
            f"and {len(rows)} items",
            last,
        )
    capacity = counts[1] if counts[0] == len(rows) else counts[0]
    items = [(row, row.tokens) for row in rows]
    return [_record(source, items, {"capacity": capacity}, {"capacity": first})]


def recognises_jooken(source: Source) -> bool:
    """One number in the first line, three in the second."""
    return shape(source, 2) == (1, 3)


def read_jooken(source: Source) -> list[Record]:
    """Read ``n``, the items with their ids, and the capacity in the last line.

    Raises
    ------
    InputError
        If the numbers do not match.
    """
    (head, first), *rows = split_lines(source)
    count = to_count(source, head[0], first, "number of items")
    *items, last = rows
    if len(items) != count or len(last.tokens) != 1:
        raise source.error(
            f"expected {count} items and a line with the capacity, got {len(rows)} lines", last.number
        )
    for row in items:
        _check_width(source, row, row.tokens, 3, "id, value, weight")
    capacity = to_number(source, last.tokens[0], last.number, "capacity")
    names = [to_number(source, row.tokens[0], row.number, "id") for row in items]
    extra = (
        {"capacity": capacity}
        if names == list(range(1, count + 1))
        else {"capacity": capacity, "names": names}
    )
    pairs = [(row, row.tokens[1:]) for row in items]
    return [_record(source, pairs, extra, {"capacity": last.number})]


def recognises_pisinger(source: Source) -> bool:
    """A name, then ``n`` and ``c`` with a number each."""
    head = [line.tokens for line in split_lines(source, 12)[:3]]
    return len(head) == 3 and [t[0] for t in head[1:]] == ["n", "c"] and all(len(t) == 2 for t in head[1:])


def read_pisinger(source: Source) -> list[Record]:
    """Read all blocks; ``z`` is the known optimum.

    Raises
    ------
    InputError
        If a block is cut short or a line is not ``i,value,weight,x``.
    """
    lines = [line for line in split_lines(source) if not re.fullmatch(r"-+", line.tokens[0])]
    records = []
    while lines:
        record, lines = _pisinger_block(source, lines)
        records.append(record)
    return records


def _pisinger_block(source: Source, lines: list[Line]) -> tuple[Record, list[Line]]:
    name, first, head, lines = lines[0].tokens[0], lines[0].number, {}, lines[1:]
    while lines and re.fullmatch(r"[a-z]+", lines[0].tokens[0]) and len(lines[0].tokens) == 2:
        head[lines[0].tokens[0]] = lines[0]
        lines = lines[1:]
    for key in ("n", "c"):
        if key not in head:
            raise source.error(f"block {shown(name)}: expected a line '{key} NUMBER' below its name", first)
    count = to_count(source, head["n"].tokens[1], head["n"].number, "n")
    rows = [(line, "".join(line.tokens).split(",")) for line in lines[:count]]
    for line, cells in rows:
        if len(cells) not in (3, 4):
            raise source.error(
                f"block {shown(name)}: expected {count} items as i,value,weight,x, got {len(cells)} cells",
                line.number,
            )
    if len(rows) < count:
        raise source.error(f"block {shown(name)}: expected {count} items, got {len(rows)}", head["n"].number)
    extra: dict[str, Any] = {"name": name}
    extra["capacity"] = to_number(source, head["c"].tokens[1], head["c"].number, "c")
    if "z" in head:
        extra["best_known"] = to_number(source, head["z"].tokens[1], head["z"].number, "z")
    heads = {"capacity": head["c"].number, "best_known": head["z"].number if "z" in head else first}
    return _record(source, [(line, cells[1:3]) for line, cells in rows], extra, heads), lines[count:]


def _record(
    source: Source, rows: list[tuple[Line, list[str]]], extra: dict[str, Any], heads: dict[str, int]
) -> Record:
    """Make a record of rows ``value weight``; `heads` are the lines of what is not in rows."""
    for line, cells in rows:
        _check_width(source, line, cells, 2, "value, weight")
    values = [to_number(source, cells[0], line.number, "value") for line, cells in rows]
    weights = [to_number(source, cells[1], line.number, "weight") for line, cells in rows]
    lines = [line.number for line, _ in rows]
    return Record({**extra, "values": values, "weights": weights}, source, locator(lines, heads))


def _check_width(source: Source, line: Line, cells: list[str], width: int, what: str) -> None:
    if len(cells) != width:
        raise source.error(f"expected {width} numbers ({what}), got {len(cells)}", line.number)
