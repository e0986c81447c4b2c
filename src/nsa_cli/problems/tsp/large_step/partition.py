"""Tour partitioning: large-step chains of many cities as subproblems, smaller arrays for several threads.

A part is one or more segments of the tour; what the tour visits between two of them is left out, and one
fixed edge, a gap, stands for it. A part may be changed at will as long as its gaps stay: put back in their
places, the left-out segments make it a whole tour again. All parts may be changed at once if they do not
cross: of the two arcs between two segments of one part, no other part has cities in both. (Karp 1977
partitions the plane instead, Helsgaun 2009 the tour into single segments.)

Parts come from dividing the tour in two, as a polygon is divided by a chord, and then the largest part again.
Near cities may lie far apart along the tour, and kicks cannot mend what lies between two parts: the arc that
becomes a part is one that is separated from few candidates, and above all few that were separated before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Draws, Segment
from nsa_cli.kernels.jit import kernel
from nsa_cli.problems.tsp.large_step.kicks import Kicked, Tours, fitting, start_at
from nsa_cli.problems.tsp.large_step.local_search import HEAD, QUEUED
from nsa_cli.problems.tsp.links import follow_links
from nsa_cli.problems.tsp.metric_kernel import KernelMetric, tour_length

#: Parts have this many cities or more, up to twice as many; measured, see benchmarks/results/tours.md.
PART_SIZE = 4000

#: But there are at least so many, smaller ones where need be: two of different sizes do not fill two threads.
_FEWEST = 4

#: Kicks a city in a round.
KICKS_PER_CITY = 0.5

#: The weight of separating a city from a candidate: this, and how often it was, each round a share less.
BASE, DECAY = 0.1, 0.9

#: An arc that becomes a part has at least this share of a part's cities, and at most the rest.
_LEAST = 0.3

#: Random places where that arc may begin, of which the best counts.
_TRIES = 4

#: Spreads them over the part.
_GOLDEN = 0.6180339887498949

#: Stands for a gap among the cities of a part.
GAP = -1


class _Part(NamedTuple):
    """Cities of a part, int64[M], with its gaps; and its chain, whose numbers are places among them."""

    members: NDArray[np.int64]
    state: Kicked


class TourPartition:
    """A chain's tour in parts; see `nsa_cli.core.problem.Partition`.

    Parameters
    ----------
    tours : Tours
        Not of a matrix: its parts are no shorter rows.
    state : Kicked
        Of the whole chain: its tour and its best tour are kept up to date, the rest is not.
    """

    def __init__(self, tours: Tours, state: Kicked) -> None:
        size = len(state.best)
        self.count, self.steps = part_count(size), int(KICKS_PER_CITY * size)
        self._tours, self._state = tours, state
        self._partition: TourParts  # of the last `cut`
        self._parts: dict[int, _Part] = {}
        #: Whether a city is separated from candidates; and how often it was, lately above all.
        self._separated, self._often = np.zeros(size, dtype=np.uint8), np.zeros(size)

    def cut(self, draws: Draws) -> NDArray[np.float64]:
        self._often = DECAY * self._often + self._separated
        cities, weights = self._tours.cities, BASE + self._often
        tour = self._state.chain.order
        self._partition = partition_tour(
            tour, cities.neighbours, cities.width, weights, draws(self.count - 1)
        )
        return np.diff(self._partition.bounds) / len(tour)

    def segment(self, number: int) -> Segment:
        whole, partition = self._tours.cities, self._partition
        some = members(partition, number)
        waiting = (self._separated[some] != 0) & (some != GAP)
        lists = (whole.neighbours, whole.distances, whole.alpha)
        near, lengths, alpha = restrict(partition, number, some, *lists, whole.width, self._separated)
        metric = _gathered(whole.metric, some)
        tours = self._tours._replace(
            cities=whole._replace(metric=metric, neighbours=near, distances=lengths, alpha=alpha),
            longest=fitting(self._tours.longest, len(some)),
        )
        state = start_at(tours, np.arange(len(some)))
        state.costs[:] = 0.0
        # Cities that were separated from candidates may have some of them back: they are queued.
        chain, first = state.chain, np.flatnonzero(waiting)
        chain.queue[: len(first)], chain.waiting[:] = first, waiting
        chain.counts[HEAD], chain.counts[QUEUED] = 0, len(first)
        self._parts[number] = _Part(some, state)
        return Segment(tours, state)

    def join(self, *, improved: bool) -> tuple[float, float]:
        metric, order, best = self._tours.cities.metric, self._state.chain.order, self._state.best
        parts = list(self._parts.values())
        self._join([(part.members, part.state.chain.order) for part in parts], order)
        if improved:
            self._join([(part.members, part.state.best) for part in parts], best)
        return tour_length(metric, order), tour_length(metric, best)

    def _join(
        self, tours: list[tuple[NDArray[np.int64], NDArray[np.uint32]]], target: NDArray[np.uint32]
    ) -> None:
        """Write the tour that consists of the parts' tours."""
        links = np.full((len(target), 2), -1, dtype=np.int64)
        for some, tour in tours:
            link_part(tour, some, links)
        link_gaps(self._partition, links)
        if not follow_links(links, target, 0):
            raise AssertionError("expected one tour of all parts, got several")


def part_count(size: int) -> int:
    """Choose the number of parts: a power of two, to fill as many cores; 1 where there are none."""
    return 1 if size < 2 * PART_SIZE else max(1 << (size // PART_SIZE).bit_length() - 1, _FEWEST)


def _gathered(metric: KernelMetric, some: NDArray[np.int64]) -> KernelMetric:
    """Renumber some cities; the length of an edge to a gap is not a number."""
    data = metric.data.reshape(-1, metric.stride)[some]
    data[some == GAP] = np.nan
    return metric._replace(data=data.ravel())


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
        Where each city is in `cities`.
    rank : int64[N]
        Where each city is in `tour`.
    """

    tour: NDArray[np.uint32]
    cities: NDArray[np.int64]
    bounds: NDArray[np.int64]
    place: NDArray[np.int64]
    rank: NDArray[np.int64]


def partition_tour(
    tour: NDArray[np.uint32],
    neighbours: NDArray[np.uint32],
    width: int,
    weights: NDArray[np.float64],
    draws: NDArray[np.float64],
) -> TourParts:
    """Divide a tour into parts, one more than there are draws.

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
    cities, rank, bounds = (
        tour.astype(np.int64),
        np.empty(len(tour), np.int64),
        np.zeros(len(draws) + 2, np.int64),
    )
    rank[cities] = np.arange(len(tour))
    bounds[1], place = len(tour), rank.copy()
    _divide(cities, place, bounds, neighbours, width, weights, draws, np.empty_like(cities))
    return TourParts(tour.copy(), cities, bounds, place, rank)


@kernel
def _divide(
    cities: NDArray[np.int64],
    place: NDArray[np.int64],
    bounds: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    width: int,
    weights: NDArray[np.float64],
    draws: NDArray[np.float64],
    scratch: NDArray[np.int64],
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
    cities: NDArray[np.int64],
    place: NDArray[np.int64],
    base: int,
    neighbours: NDArray[np.uint32],
    width: int,
    weights: NDArray[np.float64],
    draw: float,
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


def members(partition: TourParts, part: int) -> NDArray[np.int64]:
    """List a part's cities in the order of the tour, with its gaps; int64[M]."""
    cities = partition.cities[partition.bounds[part] : partition.bounds[part + 1]]
    rank = partition.rank[cities]
    gaps = np.flatnonzero(np.roll(rank, -1) != (rank + 1) % len(partition.rank))
    return np.insert(cities, gaps + 1, GAP)


def restrict(
    partition: TourParts,
    part: int,
    some: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    distances: NDArray[np.float64],
    alpha: NDArray[np.float64],
    width: int,
    separated: NDArray[np.uint8],
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]:
    """Restrict candidate lists to a part's own cities.

    Parameters
    ----------
    partition : TourParts
    part : int
    some : int64[M]
        As `members` gives them.
    neighbours, distances, alpha : uint32[N * width], float64[N * width], float64[N * width]
        Of all cities, nearest first.
    width : int
    separated : uint8[N]
        Whether a city has candidates outside of its part: written for the part's cities.

    Returns
    -------
    neighbours, distances, alpha : uint32[M * width], float64[M * width], float64[M * width]
        As places in `some`, nearest first; distances of gaps and to cities outside of the part are NaN.
    """
    cities, low, high = np.flatnonzero(some != GAP), partition.bounds[part], partition.bounds[part + 1]
    listed = some[cities, None] * width + np.arange(width)
    at = partition.place[neighbours[listed]]
    kept = (low <= at) & (at < high)
    separated[some[cities]] = ~kept.all(1)
    listed, places = listed[kept], (cities[:, None] * width + kept.cumsum(1) - 1)[kept]
    local = np.empty(high - low, np.uint32)
    local[partition.place[some[cities]] - low] = cities
    near, lengths = np.zeros(len(some) * width, np.uint32), np.full(len(some) * width, np.nan)
    nearness = np.full(len(some) * width, np.inf)
    near[places], lengths[places], nearness[places] = local[at[kept] - low], distances[listed], alpha[listed]
    return near, lengths, nearness


@kernel
def link_part(order: NDArray[np.uint32], members: NDArray[np.int64], links: NDArray[np.int64]) -> None:
    """Link neighbours in a part's tour uint32[M], in int64[N, 2]; -1 where there is no link yet."""
    before = members[order[len(order) - 1]]
    for k in range(len(order)):
        city = members[order[k]]
        if city != GAP and before != GAP:
            _link(links, before, city)
        before = city


@kernel
def link_gaps(partition: TourParts, links: NDArray[np.int64]) -> None:
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
def _link(links: NDArray[np.int64], one: np.int64, other: np.int64) -> None:
    links[one, 0 if links[one, 0] < 0 else 1] = other
    links[other, 0 if links[other, 0] < 0 else 1] = one
