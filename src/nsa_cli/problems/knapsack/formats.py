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
        got = f"got {shown(' '.join(head))} and {len(rows)} items"
        message = f"expected n and the capacity in line {first} and n items; {got}"
        raise source.error(message, rows[-1].number if rows else first)
    capacity = counts[1] if counts[0] == len(rows) else counts[0]
    data = {"capacity": capacity, **_columns(source, rows, "value", "weight")}
    if chosen:
        data["best_known"] = _worth(data["values"], [x == "1" for x in chosen])
    return [Record(data, source, locator({"capacity": first}, [row.number for row in rows]))]


def _columns(source: Source, rows: Sequence[Line], *words: str) -> dict[str, Any]:
    """Read rows of numbers, one a word; lists under the words' plurals."""
    for tokens, line in rows:
        if len(tokens) != len(words):
            raise source.error(f"expected {len(words)} numbers ({', '.join(words)}), got {len(tokens)}", line)
    return {
        f"{word}s": [to_number(source, tokens[at], line, word) for tokens, line in rows]
        for at, word in enumerate(words)
    }


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
    body = begin + 3
    if len(tokens) < body:
        raise source.error("expected n, m and the optimum, got the end of the file", tokens[-1][1])
    line = tokens[begin][1]
    size = to_count(source, *tokens[begin], "n")
    best = to_number(source, *tokens[begin + 2], "optimum")
    if (m := to_count(source, *tokens[begin + 1], "m")) != 1:
        raise source.error(f"is a multi-dimensional knapsack of {m} constraints; only one is supported", line)
    end = body + 2 * size + 1
    if len(tokens) < end:
        got = len(tokens) - body
        message = f"expected {size} values, {size} weights and the capacity, got {got} numbers"
        raise source.error(message, line)
    numbers = [to_number(source, *token, "number") for token in tokens[body:end]]
    places = [at for _, at in tokens[body:end]]
    data = {"values": numbers[:size], "weights": numbers[size:-1], "capacity": numbers[-1]}
    if best:
        data["best_known"] = best
    where = {"values": places[:size], "weights": places[size:-1]}
    return Record(data, source, locator({**where, "capacity": places[-1]}, line)), end


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
        message = f"expected {count} items and a line with the capacity, got {len(rows)} lines"
        raise source.error(message, last.number)
    data = _columns(source, items, "id", "value", "weight")
    data["capacity"] = to_number(source, last.tokens[0], last.number, "capacity")
    names = data.pop("ids")
    if names != list(range(1, count + 1)):
        data["names"] = names
    return [Record(data, source, locator({"capacity": last.number}, [row.number for row in items]))]


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
    rows = [Line("".join(tokens).split(","), line) for tokens, line in lines[at : at + count]]
    what = f"block {shown(name)}: expected {count} items"
    for cells, line in rows:
        if len(cells) not in (3, 4):
            raise source.error(f"{what} as i,value,weight,x, got {len(cells)} cells", line)
    if len(rows) < count:
        raise source.error(f"{what}, got {len(rows)}", head["n"].number)
    items = [Line(cells[1:3], line) for cells, line in rows]
    data, places = {"name": name, **_columns(source, items, "value", "weight")}, dict[str, int]()
    for letter, key in (("c", "capacity"), ("z", "best_known")):
        if letter in head:
            (_, token), places[key] = head[letter]
            data[key] = to_number(source, token, places[key], letter)
    return Record(data, source, locator(places, [row.number for row in rows])), at + count


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
