"""Knapsacks that are spread over several files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsa_cli.core.problem import FileSet
from nsa_cli.core.record import Record, Source
from nsa_cli.io.tokens import locator, read_numbers
from nsa_cli.problems.knapsack.textfiles import worth


def _read_burkardt(stem: str, sources: Mapping[str, Source]) -> Record:
    """Read capacity ``c``, weights ``w``, profits ``p`` and the best selection ``s``, a number a line."""
    capacities, lines = read_numbers(sources["c"], "capacity")
    if len(capacities) != 1:
        message = f"expected one capacity, got {len(capacities)}; several knapsacks are not supported"
        raise sources["c"].error(message, lines[-1])
    weights, at = read_numbers(sources["w"], "weight")
    values, at_values = read_numbers(sources["p"], "value")
    if len(values) != len(weights):
        message = f"expected {len(weights)} values as {sources['w'].name} has weights, got {len(values)}"
        raise sources["p"].error(message, at_values[-1])
    data: dict[str, Any] = {"name": stem, "capacity": capacities[0], "values": values, "weights": weights}
    if "s" in sources:
        data["best_known"] = _worth(sources["s"], values)

    def locate(key: str | None, index: int | None) -> int | None:
        return locator(at_values if key == "values" else at, {"capacity": lines[0]})(key, index)

    return Record(data, sources["c"], locate, {"weights": sources["w"], "values": sources["p"]})


def _worth(source: Source, values: list[int | float]) -> int | float:
    """Sum the values of a selection: the file holds 0 or 1 an item."""
    chosen, lines = read_numbers(source, "selection")
    if len(chosen) != len(values) or not set(chosen) <= {0, 1}:
        raise source.error(f"expected 0 or 1 for each of {len(values)} items", lines[-1])
    return worth(values, chosen)


#: J. Burkardt, data set KNAPSACK_01 (Florida State University).
BURKARDT = FileSet(
    "burkardt",
    r"(?P<stem>.+)_(?P<part>[cwps])\.txt(\.gz)?",
    {"c": True, "w": True, "p": True, "s": False},
    _read_burkardt,
)
