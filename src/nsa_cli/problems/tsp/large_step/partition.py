"""Tour partitioning: large-step chains of many cities as subproblems, smaller arrays for several threads.

A part is one or more segments of the tour; what the tour visits between two of them is left out, and one
fixed edge, a gap, stands for it. A part may be changed at will as long as its gaps stay: put back in their
places, the left-out segments make it a whole tour again. All parts may be changed at once if they do not
cross: of the two arcs between two segments of one part, no other part has cities in both. (Karp 1977
partitions the plane instead, Helsgaun 2009 the tour into single segments.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Draws, Segment
from nsa_cli.problems.tsp.kernels.kicks import Kicked, Tours, fitting, start_at
from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.local_search import HEAD, QUEUED
from nsa_cli.problems.tsp.kernels.metric import KernelMetric, tour_length
from nsa_cli.problems.tsp.kernels.partition import GAP, TourParts, link_gaps, link_part, partition_tour

#: Parts have this many cities or more, up to twice as many; measured, see benchmarks/results/tours.md.
PART_SIZE = 4000

#: The fewest parts, smaller ones where need be: two of different sizes do not fill two threads.
_FEWEST = 4

#: The number of kicks a city in a round.
KICKS_PER_CITY = 0.5

#: The weight of separating a city from a candidate is this, and how often that was.
BASE = 0.1

#: A round weighs this share of the next one.
DECAY = 0.9


class _Part(NamedTuple):
    """Cities of a part, int64[M], with its gaps; and its chain, whose numbers are places among them."""

    cities: NDArray[np.int64]
    state: Kicked


class TourPartition:
    """A chain's tour in parts; see `nsa_cli.core.problem.Partition`.

    Parameters
    ----------
    tours : Tours
        The instance made ready, which has no matrix: a part of one has no shorter rows.
    state : Kicked
        The state of the whole chain: its tour and its best tour are kept up to date, the rest is not.
    """

    def __init__(self, tours: Tours, state: Kicked) -> None:
        size = len(state.best)
        self.count, self.steps = part_count(size), int(KICKS_PER_CITY * size)
        self._tours, self._state = tours, state
        self._partition: TourParts  # of the last `cut`
        self._parts: dict[int, _Part] = {}
        #: For each city, whether it is separated from candidates; and how often it was, lately above all.
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
        some = cities_of(partition, number)
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
        self._join([(part.cities, part.state.chain.order) for part in parts], order)
        if improved:
            self._join([(part.cities, part.state.best) for part in parts], best)
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


def cities_of(partition: TourParts, part: int) -> NDArray[np.int64]:
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
        The part's cities, see `cities_of`.
    neighbours, distances, alpha : uint32[N * width], float64[N * width], float64[N * width]
        The candidate lists of all cities, nearest first.
    width : int
    separated : uint8[N]
        Whether a city has candidates outside of its part: written for the part's cities.

    Returns
    -------
    neighbours, distances, alpha : uint32[M * width], float64[M * width], float64[M * width]
        The lists of the part's cities, as places in `some`, nearest first; distances of gaps and to cities
        outside of the part are NaN.
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
