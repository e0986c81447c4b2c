"""Bin packing text files of the field.

==========  ==============================================================================
bpplib      ``n``, ``C``, then n weights (Scholl, Falkenauer, Schwerin, Wäscher, hard28)
            or ``m``, ``C``, then m lines ``weight demand`` (cutting stock)
orlib       number of instances; each: its id, ``C n best``, n weights (OR-Library)
==========  ==============================================================================
"""

from __future__ import annotations

from nsa_cli.core.errors import shown
from nsa_cli.core.record import Record, Source
from nsa_cli.io.tokens import Line, locator, shape, split_lines, to_count, to_number

#: Copies that demands may add up to.
_MOST_ITEMS = 1_000_000


def recognises_bpplib(source: Source) -> bool:
    """One number in the first line and in the second, one or two in the third."""
    return shape(source, 3) in ((1, 1, 1), (1, 1, 2))


def read_bpplib(source: Source) -> list[Record]:
    """Read weights, or weights with demands; a weight of demand 3 is three items.

    Raises
    ------
    InputError
        If there are more or fewer than the first line says, or lines of different lengths.
    """
    lines = split_lines(source)
    if len(lines) < 3 or any(len(line.tokens) != 1 for line in lines[:2]):
        raise source.error("expected n in a line, the capacity in the next, then n weights", lines[0].number)
    count = to_count(source, lines[0].tokens[0], lines[0].number, "number of items")
    capacity = to_number(source, lines[1].tokens[0], lines[1].number, "capacity")
    rows = lines[2:]
    width = len(rows[0].tokens)
    for row in rows:
        if len(row.tokens) != width or width > 2:
            what = "a weight" if width == 1 else "a weight and a demand"
            raise source.error(f"expected {what}, got {len(row.tokens)} numbers", row.number)
    if len(rows) != count:
        raise source.error(
            f"expected {count} weights as line {lines[0].number} says, got {len(rows)}", lines[-1].number
        )
    weights: list[int | float] = []
    at: list[int] = []
    for row in rows:
        weight = to_number(source, row.tokens[0], row.number, "weight")
        copies = to_count(source, row.tokens[1], row.number, "demand") if width == 2 else 1
        if len(weights) + copies > _MOST_ITEMS:
            raise source.error(f"demand: more than {_MOST_ITEMS} items in all", row.number)
        weights += [weight] * copies
        at += [row.number] * copies
    return [_record(source, {"capacity": capacity}, weights, at, {"capacity": lines[1].number})]


def recognises_orlib(source: Source) -> bool:
    """One number, an id, then three numbers of which the last two are whole."""
    head = split_lines(source, 12)[:4]
    counts = [len(line.tokens) for line in head]
    return counts[:3] == [1, 1, 3] and shape(source, 3)[::2] == (1, 3)


def read_orlib(source: Source) -> list[Record]:
    """Read all instances; the third number of each head is the best known number of bins.

    Raises
    ------
    InputError
        If an instance is cut short, or there are more or fewer than the first line says.
    """
    lines = split_lines(source)
    count = to_count(source, lines[0].tokens[0], lines[0].number, "number of instances")
    rest, records = lines[1:], []
    while rest:
        record, rest = _orlib_instance(source, rest)
        records.append(record)
    if len(records) != count:
        raise source.error(f"expected {count} instances, got {len(records)}", lines[0].number)
    return records


def _orlib_instance(source: Source, lines: list[Line]) -> tuple[Record, list[Line]]:
    name = lines[0].tokens[0]
    if len(lines) < 2 or len(lines[0].tokens) != 1 or len(lines[1].tokens) != 3:
        raise source.error(
            "expected an instance's id, then a line with capacity, n and best known", lines[0].number
        )
    head = lines[1]
    capacity = to_number(source, head.tokens[0], head.number, "capacity")
    count = to_count(source, head.tokens[1], head.number, "n")
    best = to_count(source, head.tokens[2], head.number, "best known")
    weights: list[int | float] = []
    at: list[int] = []
    rest = lines[2:]
    while len(weights) < count:
        if not rest:
            raise source.error(
                f"instance {shown(name)}: expected {count} weights, got {len(weights)}", lines[-1].number
            )
        weights += [to_number(source, token, rest[0].number, "weight") for token in rest[0].tokens]
        at += [rest[0].number] * len(rest[0].tokens)
        rest = rest[1:]
    if len(weights) > count:
        raise source.error(f"instance {shown(name)}: expected {count} weights, got {len(weights)}", at[-1])
    extra: dict[str, object] = {"name": name, "capacity": capacity, "best_known": best}
    return _record(source, extra, weights, at, dict.fromkeys(extra, head.number)), rest


def _record(
    source: Source,
    extra: dict[str, object],
    weights: list[int | float],
    lines: list[int],
    heads: dict[str, int],
) -> Record:
    """Make a record that knows the lines of the weights, `lines`, and of the rest, `heads`."""
    return Record({**extra, "weights": weights}, source, locator(lines, heads))
