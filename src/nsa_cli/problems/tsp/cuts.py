"""Tours cut into parts of cities that lie together, and joined again.

A part is several pieces of the tour; what the tour visits between two pieces is left out, and one edge stands
for it. A part may be changed at will as long as these edges stay: put back in their places, the left-out
pieces make it a whole tour again. All parts may be changed at once if they do not cross: of the two arcs
between two pieces of one part, no other part has cities in both.

Such parts come from chords, as polygons are cut: the tour is cut in two near both ends of a candidate edge
that halves it, so that cities beside each other stay together however far apart along the tour, and so on
with the halves. Parts of one piece, by contrast, part each long stretch of the tour from the one that runs
beside it. (Karp 1977 cuts the plane instead, Helsgaun 2009 the tour in single pieces.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, kernel

#: A chord halves a part if neither half is smaller than this share of it; if none does, the best one that
#: leaves at least the second share to the smaller half; else a chord anywhere.
_HALF, _LEAST = 0.47, 0.6

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
    tour: NDArray[np.uint32], neighbours: NDArray[np.uint32], width: int, draws: NDArray[np.float64], least: float, debt: NDArray[np.float64], tries: int
) -> Cut:
    """Cut a tour uint32[N] into parts of about the same size, one more than there are draws: a power of two.

    Parameters
    ----------
    tour : uint32[N]
    neighbours : uint32[N * width]
        Candidates of each city.
    width : int
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
        widest = 0
        for part in range(made):
            if bounds[part + 1] - bounds[part] > bounds[widest + 1] - bounds[widest]:
                widest = part
        low, high = bounds[widest], bounds[widest + 1]
        middle = low + _halve(cities[low:high], place, low, scratch, neighbours, width, draws[made - 1], least, debt, tries)
        for part in range(made, widest, -1):
            bounds[part + 1] = bounds[part]
        bounds[widest + 1] = middle
    return Cut(tour.copy(), cities, bounds, place, rank)


@kernel
def _halve(
    cities: NDArray[np.int64],
    place: NDArray[np.int64],
    base: int,
    scratch: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    width: int,
    draw: float,
    least: float,
    debt: NDArray[np.float64],
    tries: int,
) -> int:
    """Put one half of a part's cities int64[M] first, and the other half behind it; return the size of the first.

    The chord is the first good one from a random city on. `place` counts from `base`.
    """
    size = len(cities)
    begin, count, least_lost = 0, 0, np.inf
    for trial in range(tries):
        shift = int((draw + 0.6180339887498949 * trial) % 1.0 * size)
        lost = 0.0
        for k in range(int(size * (1.0 - least))):
            one = shift + k if shift + k < size else shift + k - size
            city = cities[one]
            weight = debt[city]
            for y in range(city * width, city * width + width):
                other = place[neighbours[y]] - base
                if other < 0 or other >= size:
                    continue
                along = other - shift if other >= shift else other - shift + size
                lost += (weight + debt[neighbours[y]]) if along > k else - weight - debt[neighbours[y]]
            if lost < least_lost and k + 1 >= least * size:
                least_lost = lost
                begin, count = (shift if shift > 0 else size) - 1, k + 1
    # The first half follows `begin`, and wraps round where there is no chord.
    for k in range(size):
        source = begin + 1 + k
        scratch[k] = cities[source if source < size else source - size]
    for k in range(size):
        cities[k] = scratch[k]
        place[scratch[k]] = base + k
    return count


@kernel
def members(
    cities: NDArray[np.int64], rank: NDArray[np.int64], found: NDArray[np.int64]
) -> int:
    """Write a part's cities with its gaps into int64[2 M]; return how many there are."""
    size, count = len(cities), 0
    for k in range(size):
        found[count] = cities[k]
        count += 1
        following = rank[cities[k]] + 1
        if rank[cities[k + 1 if k + 1 < size else 0]] != (following if following < len(rank) else 0):
            found[count] = GAP
            count += 1
    return count


@kernel
def restrict(
    cut: Cut,
    part: int,
    members: NDArray[np.int64],
    local: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    distances: NDArray[np.float64],
    width: int,
    near: NDArray[np.uint32],
    lengths: NDArray[np.float64],
    lost: NDArray[np.uint8],
) -> None:
    """Find the candidates of a part's cities among them.

    Parameters
    ----------
    cut : Cut
    part : int
    members : int64[M]
        Cities and gaps of the part.
    local : int64[N]
        For each city of the part its place in `members`: filled in.
    neighbours, distances : uint32[N * width], float64[N * width]
        Of all cities, nearest first.
    width : int
    near, lengths : uint32[M * width], float64[M * width]
        The same for the members: filled in; of a gap none.
    lost : uint8[N]
        Whether a city has candidates outside of its part: filled in.
    """
    low, high = cut.bounds[part], cut.bounds[part + 1]
    for k in range(len(members)):
        if members[k] != GAP:
            local[members[k]] = k
    for k in range(len(members)):
        count, city = k * width, members[k]
        if city != GAP:
            for y in range(city * width, city * width + width):
                other = neighbours[y]
                if low <= cut.place[other] < high:
                    near[count] = local[other]
                    lengths[count] = distances[y]
                    count += 1
            lost[city] = count < (k + 1) * width
        for y in range(count, (k + 1) * width):
            near[y] = 0
            lengths[y] = np.inf


@kernel
def link_part(order: NDArray[np.uint32], members: NDArray[np.int64], links: NDArray[np.int64]) -> None:
    """Note who is beside whom in a part's tour uint32[M]; links int64[N, 2] are -1 where there are none yet."""
    before = members[order[len(order) - 1]]
    for k in range(len(order)):
        city = members[order[k]]
        if city != GAP and before != GAP:
            _link(links, before, city)
        before = city


@kernel
def link_gaps(cut: Cut, links: NDArray[np.int64]) -> None:
    """Note the edges of the tour that lead from part to part."""
    bounds, before = cut.bounds, np.int64(cut.tour[len(cut.tour) - 1])
    part = np.searchsorted(bounds, cut.place[before], side="right")
    for k in range(len(cut.tour)):
        city = np.int64(cut.tour[k])
        if not bounds[part - 1] <= cut.place[city] < bounds[part]:
            part = np.searchsorted(bounds, cut.place[city], side="right")
            _link(links, before, city)
        before = city


@kernel
def _link(links: NDArray[np.int64], one: int, other: int) -> None:
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
    return city == 0
