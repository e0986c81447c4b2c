"""File formats of the knapsack problem.

==========  ==============================================================================
standard    ``n C``, then n lines ``value weight`` (knapsacksolver, unibo, courses)
            or ``C n`` in the first line: the number of lines tells which; a last line
            of n zeros and ones is the best selection
mknap       number of instances; each: ``n m best``, n values, m times n weights, m
            capacities (OR-Library), of which m = 1 is this problem
jooken      ``n``, then n lines ``id value weight``, then ``C``
pisinger    blocks: name, ``n N``, ``c C``, ``z optimum``, ``time T``, lines
            ``i,value,weight,x``, a line of dashes
burkardt    files of a list each: ``x_c.txt`` capacity, ``x_w.txt`` weights, ``x_p.txt``
            profits, ``x_s.txt`` the best selection (J. Burkardt, KNAPSACK_01)
==========  ==============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import shown
from nsa_cli.core.exact import exact_sum
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.tokens import Line, read_numbers, read_one_by_one, split_lines, to_count, to_number
from nsa_cli.problems.items import read_lists


def read_standard(source: Source) -> list[Record]:
    """Read ``n C`` or ``C n`` and the items.

    Raises
    ------
    InputError
        If neither number of the first line is the number of items, or a line has not two numbers.
    """
    (head, first), *rows = split_lines(source)
    counts = [to_number(source, token, first, "header") for token in head]
    chosen = rows.pop().tokens if _ends_with_selection(rows) else []
    if len(rows) not in counts:
        last = rows[-1].number if rows else first
        raise source.error(
            f"expected n and the capacity in line {first} and n items; got {shown(' '.join(head))} "
            f"and {len(rows)} items",
            last,
        )
    capacity = counts[1] if counts[0] == len(rows) else counts[0]
    items = [(row, row.tokens) for row in rows]
    record = _record(source, items, {"capacity": capacity}, {"capacity": first})
    if chosen:
        record.data["best_known"] = _worth(record.data["values"], [x == "1" for x in chosen])
    return [record]


def _worth(values: Sequence[int | float], chosen: Sequence[Any]) -> int | float:
    """Exact value of a selection."""
    taken = [value for value, yes in zip(values, chosen, strict=True) if yes]
    return sum(taken) if all(isinstance(x, int) for x in taken) else exact_sum(np.array(taken, np.float64))


def _ends_with_selection(rows: list[Line]) -> bool:
    """Tell a last line with 0 or 1 for each of the lines before it."""
    return len(rows) > 3 and len(rows[-1].tokens) == len(rows) - 1 and set(rows[-1].tokens) <= {"0", "1"}


def read_mknap(source: Source) -> list[Record]:
    """Read all instances of one constraint; an optimum of 0 is unknown.

    Raises
    ------
    InputError
        If an instance has several constraints, is cut short, or there are more or fewer than announced.
    """
    tokens = [(token, line.number) for line in split_lines(source) for token in line.tokens]
    count = to_count(source, *tokens[0], "number of instances")
    records = read_one_by_one(source, tokens, 1, _mknap_instance)
    if len(records) != count:
        raise source.error(f"expected {count} instances, got {len(records)}", tokens[0][1])
    return records


def _mknap_instance(source: Source, tokens: Sequence[tuple[str, int]], begin: int) -> tuple[Record, int]:
    """Read the instance that begins at a position in `tokens`; tell the position after it."""
    if len(tokens) < begin + 3:
        raise source.error("expected n, m and the optimum, got the end of the file", tokens[-1][1])
    line = tokens[begin][1]
    size = to_count(source, *tokens[begin], "n")
    constraints = to_count(source, *tokens[begin + 1], "m")
    best = to_number(source, *tokens[begin + 2], "optimum")
    if constraints != 1:
        raise source.error(
            f"is a multi-dimensional knapsack of {constraints} constraints; only one is supported", line
        )
    end = begin + 3 + 2 * size + 1
    if len(tokens) < end:
        got = len(tokens) - begin - 3
        message = f"expected {size} values, {size} weights and the capacity, got {got} numbers"
        raise source.error(message, line)
    numbers = [to_number(source, token, at, "number") for token, at in tokens[begin + 3 : end]]
    data = {"values": numbers[:size], "weights": numbers[size:-1], "capacity": numbers[-1]}
    if best:
        data["best_known"] = best
    places = [at for _, at in tokens[begin + 3 : end]]
    lines = {"values": places[:size], "weights": places[size:-1]}
    return Record(data, source, locator({**lines, "capacity": places[-1]}, line)), end


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
    extra: dict[str, Any] = {"capacity": capacity}
    if names != list(range(1, count + 1)):
        extra["names"] = names
    pairs = [(row, row.tokens[1:]) for row in items]
    return [_record(source, pairs, extra, {"capacity": last.number})]


def read_pisinger(source: Source) -> list[Record]:
    """Read all blocks; ``z`` is the known optimum.

    Raises
    ------
    InputError
        If a block is cut short or a line is not ``i,value,weight,x``.
    """
    lines = [line for line in split_lines(source) if not re.fullmatch(r"-+", line.tokens[0])]
    return read_one_by_one(source, lines, 0, _pisinger_block)


def _pisinger_block(source: Source, lines: Sequence[Line], begin: int) -> tuple[Record, int]:
    """Read the block that begins at a position in `lines`; tell the position after it."""
    name, first = lines[begin].tokens[0], lines[begin].number
    at, head = begin + 1, {}
    while at < len(lines) and re.fullmatch(r"[a-z]+", lines[at].tokens[0]) and len(lines[at].tokens) == 2:
        head[lines[at].tokens[0]] = lines[at]
        at += 1
    for key in ("n", "c"):
        if key not in head:
            raise source.error(f"block {shown(name)}: expected a line '{key} NUMBER' below its name", first)
    count = to_count(source, head["n"].tokens[1], head["n"].number, "n")
    rows = [(line, "".join(line.tokens).split(",")) for line in lines[at : at + count]]
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
    return _record(source, [(line, cells[1:3]) for line, cells in rows], extra, heads), at + count


def _record(
    source: Source, rows: list[tuple[Line, list[str]]], extra: dict[str, Any], heads: dict[str, int]
) -> Record:
    """Make a record of rows ``value weight``; `heads` are the lines of the other data."""
    for line, cells in rows:
        _check_width(source, line, cells, 2, "value, weight")
    values = [to_number(source, cells[0], line.number, "value") for line, cells in rows]
    weights = [to_number(source, cells[1], line.number, "weight") for line, cells in rows]
    lines = [line.number for line, _ in rows]
    return Record({**extra, "values": values, "weights": weights}, source, locator(heads, lines))


def _check_width(source: Source, line: Line, cells: list[str], width: int, what: str) -> None:
    if len(cells) != width:
        raise source.error(f"expected {width} numbers ({what}), got {len(cells)}", line.number)


def read_burkardt(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read capacity, weights and profits; best known is the value of the selection in ``s``."""
    record = read_lists(stem, sources, {"w": "weights", "p": "values"})
    if "s" in sources:
        chosen, at = read_numbers(sources["s"], "selection")
        values = record.data["values"]
        if len(chosen) != len(values) or not set(chosen) <= {0, 1}:
            raise sources["s"].error(f"expected 0 or 1 for each of {len(values)} items", at[-1])
        record.data["best_known"] = _worth(values, chosen)
    return record
