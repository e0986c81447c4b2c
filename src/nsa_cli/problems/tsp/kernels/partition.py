"""Division of a tour into parts, and the parts' tours as links of one tour.

Parts come from dividing the tour in two, as a polygon is divided by a chord, and then the largest part again.
Near cities may lie far apart along the tour, and kicks cannot mend what lies between two parts: the arc that
becomes a part is one that is separated from few candidates, and above all few that were separated before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nsa_cli.kernels.jit import kernel
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, Words

#: The arc that becomes a part has at least this share of the cities of the part divided, and at most the
#: rest.
_LEAST = 0.3

#: The arc may begin at so many random places, of which the best counts.
_TRIES = 4

#: The golden ratio, less 1: its multiples spread these places over the part.
_GOLDEN = 0.6180339887498949

#: Stands for a gap among the cities of a part.
GAP = -1


class TourParts(NamedTuple):
    """A tour in parts.

    Attributes
    ----------
    tour : uint32[N]
        The tour that was partitioned.
    cities : int64[N]
        The cities of each part, in the order of the tour.
    bounds : int64[P + 1]
        Part p has ``cities[bounds[p] : bounds[p + 1]]``.
    place : int64[N]
        The place of each city in `cities`.
    rank : int64[N]
        The place of each city in `tour`.
    """

    tour: Words
    cities: Ints
    bounds: Ints
    place: Ints
    rank: Ints


def partition_tour(tour: Words, neighbours: Words, width: int, weights: Floats, draws: Floats) -> TourParts:
    """Divide a tour into parts, one more than there are draws.

    Parameters
    ----------
    tour : uint32[N]
    neighbours : uint32[N * width]
        The candidates of each city.
    width : int
    weights : float64[N]
        Each says how bad it is to separate a city from a candidate.
    draws : float64[P - 1]
        Uniform numbers in (0, 1).
    """
    cities, bounds = tour.astype(np.int64), np.zeros(len(draws) + 2, np.int64)
    rank = np.empty_like(cities)
    rank[cities] = np.arange(len(tour))
    bounds[1], place = len(tour), rank.copy()
    _divide(cities, place, bounds, neighbours, width, weights, draws, np.empty_like(cities))
    return TourParts(tour.copy(), cities, bounds, place, rank)


@kernel
def _divide(
    cities: Ints,
    place: Ints,
    bounds: Ints,
    neighbours: Words,
    width: int,
    weights: Floats,
    draws: Floats,
    scratch: Ints,
) -> None:
    """Divide the largest part again and again; see `TourParts` for the arrays, of one part at first."""
    parts = len(bounds) - 1
    for made in range(1, parts):
        largest = 0
        for part in range(made):
            if bounds[part + 1] - bounds[part] > bounds[largest + 1] - bounds[largest]:
                largest = part
        low, high = bounds[largest], bounds[largest + 1]
        some = cities[low:high]
        begin, count = _least_separating(some, place, low, neighbours, width, weights, draws[made - 1])
        for k in range(high - low):
            scratch[k] = some[k]
        for k in range(high - low):
            moved = k + begin if k + begin < high - low else k + begin - (high - low)
            some[k] = scratch[moved]
            place[some[k]] = low + k
        for part in range(made, largest, -1):
            bounds[part + 1] = bounds[part]
        bounds[largest + 1] = low + count


@kernel
def _least_separating(
    cities: Ints, place: Ints, base: int, neighbours: Words, width: int, weights: Floats, draw: float
) -> tuple[int, int]:
    """Choose the arc to divide off a part's cities int64[M], at the places from `base` on: begin and length.

    It grows city by city from each random begin; its cost is the weight of what it separates at this length.
    """
    size = len(cities)
    begin, count, least = 0, size // 2, np.inf
    for trial in range(_TRIES):
        first = int((draw + _GOLDEN * trial) % 1.0 * size)
        separated = 0.0
        for k in range(int(size * (1.0 - _LEAST))):
            city = cities[first + k if first + k < size else first + k - size]
            for y in range(city * width, city * width + width):
                other = place[neighbours[y]] - base
                if 0 <= other < size:
                    along = other - first if other >= first else other - first + size
                    weight = weights[city] + weights[neighbours[y]]
                    separated += weight if along > k else -weight
            if separated < least and k + 1 >= _LEAST * size:
                begin, count, least = first, k + 1, separated
    return begin, count


@kernel
def link_part(order: Words, some: Ints, links: Ints) -> None:
    """Link neighbours in a part's tour uint32[M] of the cities `some` int64[M].

    Links are int64[N, 2], -1 where there is none yet.
    """
    before = some[order[len(order) - 1]]
    for k in range(len(order)):
        city = some[order[k]]
        if city != GAP and before != GAP:
            _link(links, before, city)
        before = city


@kernel
def link_gaps(partition: TourParts, links: Ints) -> None:
    """Link the ends of the tour's edges that lead from part to part."""
    bounds, tour, place = partition.bounds, partition.tour, partition.place
    before = np.int64(tour[len(tour) - 1])
    part = np.searchsorted(bounds, place[before], side="right")
    for k in range(len(tour)):
        city = np.int64(tour[k])
        if not bounds[part - 1] <= place[city] < bounds[part]:
            part = np.searchsorted(bounds, place[city], side="right")
            _link(links, before, city)
        before = city


@kernel
def _link(links: Ints, one: np.int64, other: np.int64) -> None:
    links[one, 0 if links[one, 0] < 0 else 1] = other
    links[other, 0 if links[other, 0] < 0 else 1] = one
