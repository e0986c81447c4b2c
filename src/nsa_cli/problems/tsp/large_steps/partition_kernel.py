"""Tours cut into parts that may be changed at the same time, and joined again.

A part is one or more pieces of the tour; what the tour visits between two of its pieces is left out, and one
edge stands for it. A part may be changed at will as long as these edges stay: put back in their places, the
left-out pieces make it a whole tour again. All parts may be changed at once if they do not cross: of the two
arcs between two pieces of one part, no other part has cities in both. (Karp 1977 cuts the plane instead,
Helsgaun 2009 the tour in single pieces.)

Parts come from cutting the tour in two, as a polygon is cut by a chord, and then the largest part again.
Cities near each other may lie far apart along the tour, and kicks cannot mend what lies between two parts:
the arc that is cut off is one that parts few candidates, and above all few that were parted before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, kernel

#: An arc that is cut off has at least this share of a part's cities, and at most the rest.
_LEAST = 0.3

#: Random places where an arc to cut off may begin, of which the best counts.
_TRIES = 4

#: Spreads them over the part.
_GOLDEN = 0.6180339887498949

#: Stands for a gap among the cities of a part.
GAP = -1


class Cut(NamedTuple):
    """A tour cut into parts.

    Attributes
    ----------
    tour : uint32[N]
        The tour that was cut.
    cities : int64[N]
        The cities of each part, in the order of the tour.
    bounds : int64[P + 1]
        Part p has ``cities[bounds[p] : bounds[p + 1]]``.
    place : int64[N]
        Where each city is in `cities`.
    rank : int64[N]
        Where each city is in `tour`.
    """

    tour: NDArray[np.uint32]
    cities: NDArray[np.int64]
    bounds: NDArray[np.int64]
    place: NDArray[np.int64]
    rank: NDArray[np.int64]


@allocating
def cut(
    tour: NDArray[np.uint32],
    neighbours: NDArray[np.uint32],
    width: int,
    weights: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> Cut:
    """Cut a tour into parts, one more than there are draws.

    Parameters
    ----------
    tour : uint32[N]
    neighbours : uint32[N * width]
        Candidates of each city.
    width : int
    weights : float64[N]
        How bad it is to part a city from a candidate.
    draws : float64[P - 1]
        In (0, 1).
    """
    size, parts = len(tour), len(draws) + 1
    cities = tour.astype(np.int64)
    scratch, place, rank = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    for k in range(size):
        place[cities[k]] = rank[cities[k]] = k
    bounds = np.zeros(parts + 1, np.int64)
    bounds[1] = size
    for made in range(1, parts):
        largest = 0
        for part in range(made):
            if bounds[part + 1] - bounds[part] > bounds[largest + 1] - bounds[largest]:
                largest = part
        low, high = bounds[largest], bounds[largest + 1]
        some = cities[low:high]
        begin, count = _least_parting(some, place, low, neighbours, width, weights, draws[made - 1])
        _turn(some, begin, scratch)
        for k in range(low, high):
            place[cities[k]] = k
        for part in range(made, largest, -1):
            bounds[part + 1] = bounds[part]
        bounds[largest + 1] = low + count
    return Cut(tour.copy(), cities, bounds, place, rank)


@kernel
def _least_parting(
    cities: NDArray[np.int64],
    place: NDArray[np.int64],
    base: int,
    neighbours: NDArray[np.uint32],
    width: int,
    weights: NDArray[np.float64],
    draw: float,
) -> tuple[int, int]:
    """Choose an arc of a part's cities int64[M], which lie at the places from `base` on: begin and length.

    It grows city by city from each random begin; weights are what it parts at this length.
    """
    size = len(cities)
    begin, count, least = 0, size // 2, np.inf
    for trial in range(_TRIES):
        first = int((draw + _GOLDEN * trial) % 1.0 * size)
        parted = 0.0
        for k in range(int(size * (1.0 - _LEAST))):
            city = cities[first + k if first + k < size else first + k - size]
            for y in range(city * width, city * width + width):
                other = place[neighbours[y]] - base
                if 0 <= other < size:
                    along = other - first if other >= first else other - first + size
                    weight = weights[city] + weights[neighbours[y]]
                    parted += weight if along > k else -weight
            if parted < least and k + 1 >= _LEAST * size:
                begin, count, least = first, k + 1, parted
    return begin, count


@kernel
def _turn(cities: NDArray[np.int64], begin: int, scratch: NDArray[np.int64]) -> None:
    """Let a part's cities begin elsewhere."""
    size = len(cities)
    for k in range(size):
        scratch[k] = cities[begin + k if begin + k < size else begin + k - size]
    for k in range(size):
        cities[k] = scratch[k]


@allocating
def members(found: Cut, part: int) -> NDArray[np.int64]:
    """Give a part's cities in the order of the tour, with its gaps; int64[M]."""
    cities, rank = found.cities[found.bounds[part] : found.bounds[part + 1]], found.rank
    size, count = len(cities), 0
    some = np.empty(2 * size, np.int64)
    for k in range(size):
        some[count] = cities[k]
        count += 1
        following = rank[cities[k]] + 1
        if rank[cities[k + 1 if k + 1 < size else 0]] != (following if following < len(rank) else 0):
            some[count] = GAP
            count += 1
    return some[:count].copy()


@allocating
def restrict(
    found: Cut,
    part: int,
    some: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    distances: NDArray[np.float64],
    alpha: NDArray[np.float64],
    width: int,
    parted: NDArray[np.uint8],
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]:
    """Find the candidates of a part's cities among them.

    Parameters
    ----------
    found : Cut
    part : int
    some : int64[M]
        As `members` gives them.
    neighbours, distances, alpha : uint32[N * width], float64[N * width], float64[N * width]
        Of all cities, nearest first.
    width : int
    parted : uint8[N]
        Whether a city has candidates outside of its part: written for the part's cities.

    Returns
    -------
    neighbours, distances, alpha : uint32[M * width], float64[M * width], float64[M * width]
        As places in `some`, nearest first; what is outside of the part, and a gap's, is no number away.
    """
    low, high = found.bounds[part], found.bounds[part + 1]
    near, lengths = np.zeros(len(some) * width, np.uint32), np.full(len(some) * width, np.nan)
    nearness = np.full(len(some) * width, np.inf)
    local = np.empty(high - low, np.uint32)
    for k in range(len(some)):
        if some[k] != GAP:
            local[found.place[some[k]] - low] = k
    for k in range(len(some)):
        if some[k] == GAP:
            continue
        count, city = k * width, some[k]
        for y in range(city * width, city * width + width):
            at = found.place[neighbours[y]]
            if low <= at < high:
                near[count], lengths[count], nearness[count] = local[at - low], distances[y], alpha[y]
                count += 1
        parted[city] = count < (k + 1) * width
    return near, lengths, nearness


@kernel
def link_part(order: NDArray[np.uint32], members: NDArray[np.int64], links: NDArray[np.int64]) -> None:
    """Note who is beside whom in a part's tour uint32[M], in int64[N, 2]; -1 where nobody is yet."""
    before = members[order[len(order) - 1]]
    for k in range(len(order)):
        city = members[order[k]]
        if city != GAP and before != GAP:
            _link(links, before, city)
        before = city


@kernel
def link_gaps(found: Cut, links: NDArray[np.int64]) -> None:
    """Note the edges of the tour that lead from part to part."""
    bounds, tour, place = found.bounds, found.tour, found.place
    before = np.int64(tour[len(tour) - 1])
    part = np.searchsorted(bounds, place[before], side="right")
    for k in range(len(tour)):
        city = np.int64(tour[k])
        if not bounds[part - 1] <= place[city] < bounds[part]:
            part = np.searchsorted(bounds, place[city], side="right")
            _link(links, before, city)
        before = city


@kernel
def _link(links: NDArray[np.int64], one: np.int64, other: np.int64) -> None:
    links[one, 0 if links[one, 0] < 0 else 1] = other
    links[other, 0 if links[other, 0] < 0 else 1] = one


@kernel
def walk(links: NDArray[np.int64], tour: NDArray[np.uint32]) -> bool:
    """Follow links int64[N, 2] into a tour; tell whether it visits each city once."""
    before, city = np.int64(-1), np.int64(0)
    for k in range(len(tour)):
        if k > 0 and city == 0:
            return False
        tour[k] = city
        following = links[city, 0] if links[city, 0] != before else links[city, 1]
        before, city = city, following
    return bool(city == 0)
