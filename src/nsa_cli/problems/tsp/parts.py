"""Large-step chains of tours in parts: short arrays, and work for several threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Draws, LargeStepPart
from nsa_cli.problems.tsp.cuts import GAP, Cut, cut, link_gaps, link_part, members, restrict, walk
from nsa_cli.problems.tsp.kicks import Kicked, Tours, start_at
from nsa_cli.problems.tsp.local_search import HEAD, QUEUED
from nsa_cli.problems.tsp.measure import AnyMeasure, Rows, tour_length

#: Parts have about this many cities.
PART = 1000

#: Kicks a city in a round.
KICKS = 0.5

#: The weight of parting a city from a candidate: this, and how often it was parted, each round a share less.
BASE, DECAY = 0.1, 0.9


class _Part(NamedTuple):
    members: NDArray[np.int64]
    state: Kicked


class TourParts:
    """Parts of a chain; see `nsa_cli.core.problem.LargeStepParts`.

    Parameters
    ----------
    tours : Tours
    state : Kicked
        Of the whole chain: its tour and its best tour are kept up to date, the rest is not.
    """

    def __init__(self, tours: Tours, state: Kicked) -> None:
        size = len(state.best)
        self.count = parts_for(tours, size)
        self.steps = int(KICKS * size)
        self._tours, self._state = tours, state
        self._parts: list[_Part] = []
        self._cut: Cut | None = None
        self._lost = np.zeros(size, dtype=np.uint8)
        self._parted = np.zeros(size)
        self._local = np.empty(size, dtype=np.int64)
        self._scratch = np.empty(2 * size, dtype=np.int64)

    def cut(self, draws: Draws) -> list[LargeStepPart]:
        cities = self._tours.cities
        found = self._cut = cut(
            self._state.chain.order, cities.neighbours, cities.width, BASE + self._parted, draws(self.count - 1)
        )
        made = [self._part(found, part) for part in range(self.count)]
        self._parted *= DECAY
        self._parted += self._lost
        self._parts = [part for part, _ in made]
        sizes = np.diff(found.bounds)
        return [
            LargeStepPart(tours, part.state, size / len(found.tour))
            for (part, tours), size in zip(made, sizes, strict=True)
        ]

    def _part(self, found: Cut, part: int) -> tuple[_Part, Tours]:
        """Make the cities of a part a chain of their own, numbered along the tour."""
        whole = self._tours.cities
        cities = found.cities[found.bounds[part] : found.bounds[part + 1]]
        some = self._scratch[: members(cities, found.rank, self._scratch)].copy()
        before = (self._lost[some] != 0) & (some != GAP)
        near = np.empty(len(some) * whole.width, dtype=np.uint32)
        lengths = np.empty(len(near))
        restrict(
            found, part, some, self._local, whole.neighbours, whole.distances, whole.width, near, lengths,
            self._lost,
        )
        measure = _gathered(whole.measure, some)
        tours = self._tours._replace(
            cities=whole._replace(measure=measure, neighbours=near, distances=lengths),
            longest=max(min(self._tours.longest, (len(some) - 1) // 2), 1),
        )
        state = start_at(tours, np.arange(len(some)))
        state.costs[:] = 0.0
        # Whoever had lost candidates may have found them again.
        chain, waiting = state.chain, np.flatnonzero(before)
        chain.counts[HEAD], chain.counts[QUEUED] = 0, len(waiting)
        chain.queue[: len(waiting)] = waiting
        chain.waiting[:] = before
        return _Part(some, state), tours

    def join(self, *, improved: bool) -> tuple[float, float]:
        measure, order, best = self._tours.cities.measure, self._state.chain.order, self._state.best
        self._put([part.state.chain.order for part in self._parts], order)
        if improved:
            self._put([part.state.best for part in self._parts], best)
        return tour_length(measure, order), tour_length(measure, best)

    def _put(self, tours: list[NDArray[np.uint32]], target: NDArray[np.uint32]) -> None:
        links = np.full((len(target), 2), -1, dtype=np.int64)
        for part, tour in zip(self._parts, tours, strict=True):
            link_part(tour, part.members, links)
        assert self._cut is not None
        link_gaps(self._cut, links)
        if not walk(links, target):
            raise AssertionError("the parts make no tour")


def parts_for(tours: Tours, size: int) -> int:
    """Choose the number of parts: a power of two, 1 where there are none."""
    if isinstance(tours.cities.measure, Rows):
        return 1
    return 1 << max(round(np.log2(size / PART)), 0)


def _gathered(measure: AnyMeasure, some: NDArray[np.int64]) -> AnyMeasure:
    """Give some cities numbers of their own; nothing is a number of edges to a gap."""
    axes = getattr(measure, "stride", 2)
    data = measure.data.reshape(-1, axes)[some]
    data[some == GAP] = np.nan
    return measure._replace(data=data.ravel())
