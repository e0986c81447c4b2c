"""Labelled tours for supervised learning: one instance a line, with its tour.

``x1 y1 x2 y2 … output i1 i2 … i1``: cities from 1, the tour closed, real Euclidean lengths (the files of
Joshi, Laurent, Bresson 2019, and of those who took them over). The tour's length is the best known.
"""

from __future__ import annotations

import math
from typing import Any

from nsa_cli.core.record import Record, Source, locator
from nsa_cli.io.tokens import Line, split_lines, to_number

_WORD = "output"


def read(source: Source) -> list[Record]:
    """Read all lines.

    Raises
    ------
    InputError
        If a line has an odd number of coordinates, or a tour that is none of its cities'.
    """
    return [_record(source, line) for line in split_lines(source)]


def _record(source: Source, line: Line) -> Record:
    if line.tokens.count(_WORD) != 1:
        raise source.error(f"expected cities, the word {_WORD!r} and a tour", line.number)
    at = line.tokens.index(_WORD)
    numbers = [to_number(source, token, line.number, "coordinate") for token in line.tokens[:at]]
    if not numbers or len(numbers) % 2:
        raise source.error(f"expected x and y of each city, got {len(numbers)} numbers", line.number)
    coords = [numbers[i : i + 2] for i in range(0, len(numbers), 2)]
    tour = [to_number(source, token, line.number, "city") for token in line.tokens[at + 1 :]]
    data: dict[str, Any] = {"coords": coords}
    if tour:
        data["best_known"] = _length(source, line, coords, tour)
    return Record(data, source, locator({}, line.number))


def _length(
    source: Source, line: Line, coords: list[list[int | float]], tour: list[int | float]
) -> float | None:
    """Measure the tour, which must visit each city once and may name the first again at its end.

    None if a coordinate is too large, which the instance refuses.
    """
    if len(tour) == len(coords) + 1 and tour[0] == tour[-1]:
        tour = tour[:-1]
    if sorted(tour) != list(range(1, len(coords) + 1)):
        raise source.error(f"expected a tour through the cities 1 to {len(coords)}, each once", line.number)
    places = [coords[int(i) - 1] for i in tour]
    try:
        return math.fsum(math.dist(a, b) for a, b in zip(places, places[1:] + places[:1], strict=True))
    except OverflowError:
        return None
