"""Large-step chains of many cities in parts: shorter arrays, and work for several threads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Draws, Segment
from nsa_cli.problems.tsp.cuts import GAP, Cut, cut, link_gaps, link_part, members, restrict, walk
from nsa_cli.problems.tsp.kicks import Kicked, Tours, fitting, start_at
from nsa_cli.problems.tsp.local_search import HEAD, QUEUED
from nsa_cli.problems.tsp.measure import AnyMeasure, tour_length

#: Parts have this many cities or more, up to twice as many; measured, see benchmarks/RESULTS.md.
PART = 4000

#: But there are at least so many, smaller ones where need be: two of different sizes do not fill two threads.
_FEWEST = 4

#: Kicks a city in a round.
KICKS = 0.5

#: The weight of parting a city from a candidate: this, and how often it was parted, each round a share less.
BASE, DECAY = 0.1, 0.9


class _Part(NamedTuple):
    """Cities of a part, int64[M], with its gaps; and its chain, whose numbers are places among them."""

    members: NDArray[np.int64]
    state: Kicked


class TourParts:
    """Parts of a chain; see `nsa_cli.core.problem.Partition`.

    Parameters
    ----------
    tours : Tours
        Not of a matrix: its parts are no shorter rows.
    state : Kicked
        Of the whole chain: its tour and its best tour are kept up to date, the rest is not.
    """

    def __init__(self, tours: Tours, state: Kicked) -> None:
        size = len(state.best)
        self.count, self.steps = parts_of(size), int(KICKS * size)
        self._tours, self._state = tours, state
        self._cut: Cut | None = None
        self._parts: dict[int, _Part] = {}
        #: Whether a city is parted from candidates; and by the cuts until now, the last ones above all.
        self._parted, self._parted_often = np.zeros(size, dtype=np.uint8), np.zeros(size)

    def cut(self, draws: Draws) -> NDArray[np.float64]:
        self._parted_often = DECAY * self._parted_often + self._parted
        cities, weights = self._tours.cities, BASE + self._parted_often
        tour = self._state.chain.order
        self._cut = cut(tour, cities.neighbours, cities.width, weights, draws(self.count - 1))
        return np.diff(self._cut.bounds) / len(tour)

    def segment(self, number: int) -> Segment:
        whole, found = self._tours.cities, self._found()
        some = members(found, number)
        waiting = (self._parted[some] != 0) & (some != GAP)
        lists = (whole.neighbours, whole.distances, whole.alpha)
        near, lengths, alpha = restrict(found, number, some, *lists, whole.width, self._parted)
        measure = _gathered(whole.measure, some)
        tours = self._tours._replace(
            cities=whole._replace(measure=measure, neighbours=near, distances=lengths, alpha=alpha),
            longest=fitting(self._tours.longest, len(some)),
        )
        state = start_at(tours, np.arange(len(some)))
        state.costs[:] = 0.0
        # Who was parted from candidates may have some of them back.
        chain, first = state.chain, np.flatnonzero(waiting)
        chain.queue[: len(first)], chain.waiting[:] = first, waiting
        chain.counts[HEAD], chain.counts[QUEUED] = 0, len(first)
        self._parts[number] = _Part(some, state)
        return Segment(tours, state)

    def join(self, *, improved: bool) -> tuple[float, float]:
        measure, order, best = self._tours.cities.measure, self._state.chain.order, self._state.best
        parts = list(self._parts.values())
        self._join([(part.members, part.state.chain.order) for part in parts], order)
        if improved:
            self._join([(part.members, part.state.best) for part in parts], best)
        return tour_length(measure, order), tour_length(measure, best)

    def _join(
        self, tours: list[tuple[NDArray[np.int64], NDArray[np.uint32]]], target: NDArray[np.uint32]
    ) -> None:
        """Write the tour that consists of the parts' tours."""
        links = np.full((len(target), 2), -1, dtype=np.int64)
        for some, tour in tours:
            link_part(tour, some, links)
        link_gaps(self._found(), links)
        if not walk(links, target):
            raise AssertionError("the parts make no tour")

    def _found(self) -> Cut:
        assert self._cut is not None
        return self._cut


def parts_of(size: int) -> int:
    """Choose the number of parts: a power of two, to fill as many cores; 1 where there are none."""
    return 1 if size < 2 * PART else max(1 << (size // PART).bit_length() - 1, _FEWEST)


def _gathered(measure: AnyMeasure, some: NDArray[np.int64]) -> AnyMeasure:
    """Give some cities numbers of their own; an edge to a gap is no number long."""
    data = measure.data.reshape(-1, getattr(measure, "stride", 2))[some]
    data[some == GAP] = np.nan
    return measure._replace(data=data.ravel())
