"""File formats of bin packing.

==========  ==============================================================================
bpplib      ``n``, ``C``, then n weights (Scholl, Falkenauer, Schwerin, Wäscher, hard28)
            or ``m``, ``C``, then m pairs ``weight demand`` (cutting stock); ``n C`` or
            ``C n`` in one line, then one weight in each
orlib       number of instances; each: its id, ``C n best``, n weights (OR-Library)
burkardt    three files of a list each: ``x_c.txt`` capacity, ``x_w.txt`` weights,
            ``x_s.txt`` the bin of each item (J. Burkardt, BIN_PACKING)
packing-    ``items.csv`` (ID, X, COPIES), ``bins.csv`` (ID, X, COST, COPIES) with one type
solver      of bins (F. Fontan, PackingSolver, one-dimensional)
==========  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.problem import Column
from nsa_cli.core.record import Record, Source, locator
from nsa_cli.core.words import squeezed
from nsa_cli.io.table import read_table
from nsa_cli.io.tokens import (
    Line,
    read_number,
    read_numbers,
    read_one_by_one,
    split_lines,
    to_count,
    to_number,
)
from nsa_cli.problems.items import COPIES, read_lists


def read_bpplib(source: Source) -> list[Record]:
    """Read weights, or weights with demands: the number of numbers tells which, not the line breaks.

    Raises
    ------
    InputError
        If there are more or fewer than the first number says.
    """
    lines = split_lines(source)
    tokens = [(token, line.number) for line in lines for token in line.tokens]
    if len(tokens) < 3:
        raise source.error("expected n, the capacity, then n weights", lines[0].number)
    (first, at_count), (second, at_capacity), *rest = tokens
    if at_count == at_capacity and read_number(second) == len(rest) != read_number(first):
        first, second = second, first
    count = to_count(source, first, at_count, "number of items")
    capacity = to_number(source, second, at_capacity, "capacity")
    width = 2 if len(rest) == 2 * count else 1
    if len(rest) != count * width:
        rows = [line for line in lines if line.number > at_capacity] or lines[-1:]
        raise _miscounted(source, count, at_count, rows)
    pairs = [rest[i : i + width] for i in range(0, len(rest), width)]
    weights = [to_number(source, *pair[0], "weight") for pair in pairs]
    data: dict[str, Any] = {"capacity": capacity, "weights": weights}
    if width == 2:
        data["copies"] = [to_count(source, *pair[1], "demand") for pair in pairs]
    at = [line for ((_, line), *_) in pairs]
    return [Record(data, source, locator({"capacity": at_capacity}, at))]


def _miscounted(source: Source, count: int, first: int, rows: list[Line]) -> InputError:
    """Name the line that differs from those above it, if there is one, else both numbers."""
    width = len(rows[0].tokens)
    for row in rows:
        if width <= 2 and len(row.tokens) != width:
            what = "a weight" if width == 1 else "a weight and a demand"
            return source.error(f"expected {what}, got {len(row.tokens)} numbers", row.number)
    got = sum(len(row.tokens) for row in rows) if width > 2 else len(rows)
    return source.error(f"expected {count} weights as line {first} says, got {got}", rows[-1].number)


def read_orlib(source: Source) -> list[Record]:
    """Read all instances; the third number of each head is the best known number of bins.

    Raises
    ------
    InputError
        If an instance is cut short, or there are more or fewer than the first line says.
    """
    lines = split_lines(source)
    count = to_count(source, lines[0].tokens[0], lines[0].number, "number of instances")
    records = read_one_by_one(source, lines, 1, _orlib_instance)
    if len(records) != count:
        raise source.error(f"expected {count} instances, got {len(records)}", lines[0].number)
    return records


def _orlib_instance(source: Source, lines: Sequence[Line], begin: int) -> tuple[Record, int]:
    """Read the instance that begins at a position in `lines`; tell the position after it."""
    id_, head = lines[begin], lines[min(begin + 1, len(lines) - 1)]
    if head is id_ or len(id_.tokens) != 1 or len(head.tokens) != 3:
        message = "expected an instance's id, then a line with capacity, n and best known"
        raise source.error(message, id_.number)
    name = id_.tokens[0]
    capacity = to_number(source, head.tokens[0], head.number, "capacity")
    count = to_count(source, head.tokens[1], head.number, "n")
    best = to_count(source, head.tokens[2], head.number, "best known")
    weights: list[int | float] = []
    places: list[int] = []
    end = begin + 2
    while len(weights) < count and end < len(lines):
        weights += [to_number(source, token, lines[end].number, "weight") for token in lines[end].tokens]
        places += [lines[end].number] * len(lines[end].tokens)
        end += 1
    if len(weights) != count:
        message = f"instance {shown(name)}: expected {count} weights, got {len(weights)}"
        raise source.error(message, lines[end - 1].number)
    heads: dict[str, Any] = {"name": name, "capacity": capacity, "best_known": best}
    locate = locator(dict.fromkeys(heads, head.number), places)
    return Record({**heads, "weights": weights}, source, locate), end


def read_burkardt(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read capacity and weights; best known is the number of bins in ``s``."""
    record = read_lists(stem, sources, {"w": "weights"})
    if "s" in sources:
        bins, at = read_numbers(sources["s"], "bin")
        if len(bins) != (size := len(record.data["weights"])):
            raise sources["s"].error(
                f"expected the bin of each of {size} items, got {len(bins)} numbers", at[-1]
            )
        record.data["best_known"] = len(set(bins))
    return record


_ITEMS = (Column("weights", ("x",)), COPIES, Column("names", ("id",), text=True))
_BINS = (Column("capacity", ("x",)), COPIES)
#: Columns that no answer depends on; any other is a rule that an answer might break.
_HARMLESS = ("id", "x", "copies", "cost", "profit")


def read_packingsolver(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read items, and bins of one type."""
    items, bins = _table(sources["items"], _ITEMS), _table(sources["bins"], _BINS)
    if len(bins.data["capacity"]) != 1:
        raise sources["bins"].error(f"expected one type of bins, got {len(bins.data['capacity'])}")
    copies = bins.data.get("copies", [-1])[0]
    needed = sum(items.data.get("copies", [1] * len(items.data["weights"])))
    if 0 <= copies < needed:
        message = f"COPIES: expected -1 or at least {shown(needed)}, got {shown(copies)}"
        raise sources["bins"].error(message, bins.locate("copies", 0))
    data = {**items.data, "capacity": bins.data["capacity"][0], "name": stem.rstrip("_-") or "items"}

    def locate(key: str | None, index: int | None) -> int | None:
        return bins.locate("capacity", 0) if key == "capacity" else items.locate(key, index)

    return Record(data, sources["items"], locate, {"capacity": sources["bins"]})


def _table(source: Source, columns: Sequence[Column]) -> Record:
    table = read_table(source)
    if not table.rows:
        raise source.error("has a header but no rows", table.first)
    bound: dict[Column, int] = {}
    for at, header in enumerate(table.headers or []):
        values = {row[at] for row in table.rows} - {"", "0", "-1"}
        if squeezed(header) not in _HARMLESS and values:
            message = f"column {shown(header)} is not supported, and answers depend on it"
            raise source.error(message, table.first)
        bound |= {column: at for column in columns if squeezed(header) in column.headers}
    if columns[0] not in bound:
        raise source.error(f"no column 'X', which {source.name} needs", table.first)
    data = {column.key: table.values(at, column) for column, at in bound.items()}
    return Record(data, source, locator({}, table.lines))
