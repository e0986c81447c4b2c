"""Bin packing instances that are spread over several files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsa_cli.core.errors import shown
from nsa_cli.core.problem import COPIES, Column, FileSet
from nsa_cli.core.record import Record, Source
from nsa_cli.io.table import Table, read_table, to_record
from nsa_cli.io.tokens import locator, read_numbers


def _read_burkardt(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read the capacity ``c`` and the weights ``w``, a number a line; ``s`` is the bin of each item."""
    capacities, lines = read_numbers(sources["c"], "capacity")
    if len(capacities) != 1:
        message = f"expected one capacity, got {len(capacities)}; bins of several sizes are not supported"
        raise sources["c"].error(message, lines[-1])
    weights, at = read_numbers(sources["w"], "weight")
    data: dict[str, Any] = {"name": stem, "capacity": capacities[0], "weights": weights}
    if "s" in sources:
        bins, at_bins = read_numbers(sources["s"], "bin")
        if len(bins) != len(weights):
            message = f"expected the bin of each of {len(weights)} items, got {len(bins)} numbers"
            raise sources["s"].error(message, at_bins[-1])
        data["best_known"] = len(set(bins))
    return Record(data, sources["c"], locator(at, {"capacity": lines[0]}), {"weights": sources["w"]})


#: J. Burkardt, data set BIN_PACKING (Florida State University).
BURKARDT = FileSet(
    "burkardt",
    r"(?P<stem>.+)_(?P<part>[cws])\.txt(\.gz)?",
    {"c": True, "w": True, "s": False},
    _read_burkardt,
)

_ITEMS = (Column("weights", ("x",)), COPIES, Column("names", ("id",), required=False, text=True))
_BINS = (Column("capacity", ("x",)), COPIES)
#: Columns that say nothing a bin packing answer depends on; any other is a rule that it might break.
_HARMLESS = ("id", "x", "copies", "cost", "profit")


def _read_packingsolver(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read ``items.csv`` (ID, X, COPIES) and ``bins.csv`` (ID, X, COST, COPIES) with one type of bins."""
    items, bins = _table(sources["items"], _ITEMS), _table(sources["bins"], _BINS)
    if len(bins.data["capacity"]) != 1:
        kinds = len(bins.data["capacity"])
        raise sources["bins"].error(f"expected one type of bins, got {kinds}; that is not supported")
    copies = bins.data.get("copies", [-1])[0]
    needed = sum(items.data.get("copies", [1] * len(items.data["weights"])))
    if 0 <= copies < needed:
        limit, least = shown(copies), shown(needed)
        message = f"COPIES: a limit of {limit} bins is not supported; expected -1 or at least {least}"
        raise sources["bins"].error(message, bins.locate("copies", 0))
    data = {**items.data, "capacity": bins.data["capacity"][0], "name": stem.rstrip("_-") or "items"}

    def locate(key: str | None, index: int | None) -> int | None:
        return bins.locate("capacity", 0) if key == "capacity" else items.locate(key, index)

    return Record(data, sources["items"], locate, {"capacity": sources["bins"]})


def _table(source: Source, columns: Sequence[Column]) -> Record:
    table: Table = read_table(source)
    for at, header in enumerate(table.headers or []):
        values = {row[at] for row in table.rows} - {"", "0", "-1"}
        if header not in _HARMLESS and values:
            raise source.error(
                f"column {shown(header)} is not supported; an answer without it would be wrong"
            )
    return to_record(table, columns, source.name)


#: F. Fontan's PackingSolver, one-dimensional items.
PACKINGSOLVER = FileSet(
    "packingsolver",
    r"(?P<stem>.*?)(?P<part>items|bins)\.csv(\.gz)?",
    {"items": True, "bins": True},
    _read_packingsolver,
)
