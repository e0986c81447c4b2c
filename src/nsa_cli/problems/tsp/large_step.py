"""Iterated local search of tours (large-step Markov chains): Lin-Kernighan, kicked by double bridges.

`prepare` makes an instance ready: candidate lists by alpha-nearness, and scales. Runs go on from a population
where cities are some hundreds or more, and in parts where they are many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import CONSTRUCTION_SHARE, LEAST_POPULATION, Draws, LargeStepRun, Segment
from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.edge_assembly import new_assembly
from nsa_cli.problems.tsp.kernels.kicks import Kicked, Tours, fitting, start_at
from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.local_search import HEAD, QUEUED, Cities, descend
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, Words, lengths, tour_length
from nsa_cli.problems.tsp.kernels.partition import GAP, TourParts, link_gaps, link_part, partition_tour
from nsa_cli.problems.tsp.kernels.spanning_tree import alpha_nearness, choose, graph_of
from nsa_cli.problems.tsp.matrix import penalty
from nsa_cli.problems.tsp.neighbour_lists import Sites, neighbour_lists, with_quadrants
from nsa_cli.problems.tsp.starts import NoisyGreedy, greedy_edge

#: Fewer sites than this leave no room for kicks.
_LEAST = 13

#: Fewer nodes than this leave none in a closed tour that stands for another.
_LEAST_NODES = 8

#: The sizes with populations. Fewer cities are solved as well by a chain alone; the construction of a tour of
#: more takes half a second and longer, and an interrupt waits for it.
_POPULATED = range(150, 200_001)

#: Where cities lie close together a construction may take this share of its time as a rule.
_QUICK = 0.4

#: The number of candidates of a city, by alpha-nearness: moves may add these edges. And the number of further
#: ones for populations, and where cities lie close together.
_CANDIDATES, _MORE, _MORE_IF_CLOSE = 5, 1, 3

#: The number of subgradient steps; few cities have half as many.
_SUBGRADIENT_STEPS = 40

#: The most open moves in a Lin-Kernighan chain.
_DEPTH = 6

#: The most cities of a segment of a kick. Measured at 500 cities in .2 s: 10/30/45/60/80/100 give
#: .12/.063/.039/.028/.027/.025 %, longer ones no better in large tours.
_LONGEST = 80

#: The temperature is s exp(-decay t): s the mean distance of a city to its nearest neighbour, t the used
#: fraction of the budget.
_DECAY = 3.5

#: Up to this many cities the set-up weighs more, and half the subgradient steps do.
_FEW = 150

#: Beyond so many cities candidates are near ones: alpha-nearness would take the first minute.
_WEIGHED_UP_TO = 200_000

#: Cities lie close together, as in clusters and narrow strips, where the mean distance to the nearest
#: neighbour is below this share of a mean edge of the first tour. Measured: .6 for uniform cities, .3 to .5
#: for clusters, .4 for strips a hundred times as long as wide.
_CLOSE_BELOW = 0.5

#: Size of the first subgradient step, in units of `Tours.scale`.
_FIRST_STEP = 0.3

#: Size of the last one.
_LAST_STEP = 0.02

#: Lengths are multiplied by exp(noise); this is the standard deviation of the noise. Measured: from .5 to .7
#: it is all one.
_NOISE = 0.5

#: The construction of a tour takes as long as so many kicks, in any case and for each city.
_CONSTRUCTION_KICKS = (3.0, 0.035)

#: The crossover of two tours takes as long as so many kicks, in any case and for each city.
_CROSSOVER_KICKS = (0.1, 0.0007)

#: Parts have this many cities or more, up to twice as many. On two threads they make tours of 10,000
#: to 50,000 cities 0.05 to 0.14 % shorter.
PART_SIZE = 4000

#: The fewest parts, smaller ones where need be: two of different sizes do not fill two threads.
_FEWEST = 4

#: The number of kicks a city in a round.
KICKS_PER_CITY = 0.5

#: The weight of separating a city from a candidate is this, and how often that was.
_BASE = 0.1

#: A round weighs this share of the next one.
_FORGOTTEN = 0.9

#: Cities that a descent looks at: all.
_UNLIMITED = 1 << 62


class TspLargeStep:
    """Large-step chains of tours; see `nsa_cli.core.problem.LargeStep`."""

    def fits(self, instance: TspInstance) -> bool:
        """Tell whether there are enough cities apart, at finite distances; nothing is compiled for that."""
        if isinstance(instance, ClosedTour):
            return instance.size >= _LEAST_NODES
        if instance.size < _LEAST or not instance.has_finite_lengths:
            return False
        if instance.matrix is not None:
            return True
        some = instance.measured[: 8 * _LEAST].tolist()  # as a rule they tell
        return len(set(map(tuple, some))) >= _LEAST or len(np.unique(instance.measured, axis=0)) >= _LEAST

    def budget(self, instance: TspInstance) -> Budget:
        """Choose some seconds at most, and far less for few cities.

        Temperatures are in units of the mean distance of a city to its nearest neighbour. Measured on uniform
        cities: from three hundred kicks a city on, twice as many gain less than 0.01 %.
        """
        kicks, chains = int(np.clip(30 * instance.size, 1_000, max(40_000, instance.size))), 2
        if _goes_in_parts(instance):
            kicks, chains = chains * kicks, 1
        return Budget(kicks, 1.0, float(np.exp(-_DECAY)), chains)

    def chains(self, instance: TspInstance, seconds: float, threads: int) -> int:
        """Choose the number of chains for a time limit: as many as keep all threads busy."""
        return max(threads // part_count(instance.size), 1) if _goes_in_parts(instance) else threads

    def runs(
        self,
        instances: Sequence[TspInstance],
        x: NDArray[Any],
        kicks: float = math.inf,
        fast_setup: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first tours; the first one of an instance has a say in its candidates."""
        made: dict[int, Setting] = {}
        for instance, tour in zip(instances, x, strict=True):
            if id(instance) not in made:
                populated = _is_populated(instance.size, kicks)
                made[id(instance)] = prepare(instance, tour, populated=populated, fast_setup=fast_setup)
        return [_run(made[id(i)], i, tour, kicks) for i, tour in zip(instances, x, strict=True)]


def _is_populated(size: int, kicks: float, *, close: bool = False) -> bool:
    """Tell whether there are to be populations of so many cities.

    Where they lie close together constructions may take far less time than as a rule, and gain far more.
    """
    least = construction_kicks(size) * (_QUICK if close else 1.0)
    return size in _POPULATED and CONSTRUCTION_SHARE * kicks >= LEAST_POPULATION * least


def _run(setting: Setting, instance: TspInstance, first: Solution, kicks: float) -> LargeStepRun:
    sites, tours, close = setting
    state = start_at(tours, sites.order(first))

    def current() -> Solution:
        return sites.tour(state.chain.order)

    def best() -> Solution:
        tour = sites.tour(state.best)
        # Cities on the same place are one here; where lengths are rounded, a start can still be shorter.
        some_are_one = len(state.best) < instance.size
        return first if some_are_one and instance.objective(first) < instance.objective(tour) else tour

    divided = part_count(len(state.best)) > 1 and not tours.cities.metric.is_matrix
    partition = TourPartition(tours, state) if divided else None
    populated = _is_populated(len(state.best), kicks, close=close)
    population = TourPopulation(instance, tours) if populated else None
    return LargeStepRun(tours, state, current, best, partition=partition, recombination=population)


def tightened(instance: TspInstance) -> TspInstance:
    """Lower the length that a matrix has for edges that are not there, for the sake of temperatures.

    A tour with such an edge stays longer than the shortest one without, if local search finds any.
    """
    if not large_step.fits(instance):
        return instance
    first = greedy_edge(instance)
    sites, tours, _ = prepare(instance, first, fast_setup=True)
    chain = start_at(tours, sites.order(first)).chain
    descend(tours.cities, chain, tours.depth, _UNLIMITED)
    tour, matrix, absent = sites.tour(chain.order), instance.matrix, instance.absent
    assert matrix is not None
    assert absent is not None
    if instance.violation(tour) is not None:
        return instance
    matrix = matrix.copy()
    matrix[absent] = penalty(matrix, absent, float(instance.objective(tour)))
    return replace(instance, matrix=matrix)


def _goes_in_parts(instance: TspInstance) -> bool:
    """Tell whether one chain in parts does better than several chains; parts of a matrix are no smaller."""
    return instance.matrix is None and part_count(instance.size) > 1


large_step = TspLargeStep()


# --- set-up ------------------------------------------------------------------------------------------


class Setting(NamedTuple):
    """An instance made ready for chains, which share it.

    Attributes
    ----------
    sites : Sites
        The cities, those on one place as one.
    tours : Tours
        The sites made ready for chains.
    close : bool
        Whether cities lie close together.
    """

    sites: Sites
    tours: Tours
    close: bool


def prepare(
    instance: TspInstance, start: Solution, *, populated: bool = False, fast_setup: bool = False
) -> Setting:
    """Make an instance ready: candidates and scales; edges of the first tour int64[N] are among them.

    Parameters
    ----------
    instance : TspInstance
    start : int64[N]
    populated : bool
        Whether there will be a population: it needs more candidates, and from all sides.
    fast_setup : bool
        Whether to take the nearest cities, not those of the best alpha-nearness.
    """
    sites, metric, neighbours, distances = neighbour_lists(instance)
    size, order = len(sites.numbers), sites.order(start)
    fast_setup = fast_setup or size > _WEIGHED_UP_TO
    scale, candidates = max(float(distances[:, 0].mean()), 0.0), _CANDIDATES
    if isinstance(instance, ClosedTour):  # its penalties are no distances; each city has a fixed edge
        scale, candidates = instance.spacing, candidates + instance.outer.route.directed
    close = False
    if not fast_setup and size > _FEW and instance.matrix is None and instance.points.shape[1] == 2:
        edges = float(lengths(metric, order, np.roll(order, 1)).sum())
        close = bool(scale * size < _CLOSE_BELOW * edges)
        if close or populated:
            candidates += _MORE_IF_CLOSE if close else _MORE
            neighbours = with_quadrants(instance.points[sites.numbers], neighbours)
    elif populated:
        candidates += _MORE
    graph = graph_of(metric, neighbours, order)
    steps = _SUBGRADIENT_STEPS // (2 if size <= _FEW else 1)
    ends = _FIRST_STEP * scale, _LAST_STEP * scale
    scores = graph.lengths if fast_setup else alpha_nearness(graph, steps, *ends)
    chosen = choose(graph, scores, candidates)
    tolerance = max(1e-7 * scale, 1e-12 * float(np.abs(graph.lengths).max()))
    cities = Cities(metric, *chosen, candidates, tolerance)
    tours = Tours(cities, scale, tolerance, _DEPTH, fitting(_LONGEST, size))
    return Setting(sites, tours, close)


# --- populations -------------------------------------------------------------------------------------


def construction_kicks(size: int) -> float:
    """Count the kicks that take as long as the construction of a tour of so many cities."""
    return _CONSTRUCTION_KICKS[0] + _CONSTRUCTION_KICKS[1] * size


class TourPopulation:
    """Population of tours; see `nsa_cli.core.problem.Recombination`.

    Parameters
    ----------
    instance : TspInstance
    tours : Tours
        The instance's sites made ready for chains.
    """

    def __init__(self, instance: TspInstance, tours: Tours) -> None:
        self.size = len(tours.cities.neighbours) // tours.cities.width
        self.construction_kicks = construction_kicks(self.size)
        self.crossover_kicks = _CROSSOVER_KICKS[0] + _CROSSOVER_KICKS[1] * self.size
        self._instance, self._tours = instance, tours

    def worker(self) -> Kicked:
        return start_at(self._tours, np.arange(self.size), new_assembly(self.size))

    def start(self, number: int, draws: Draws) -> NDArray[Any]:
        """Go along Hilbert's curve, if cities have places; any but the first are greedy on noisy lengths."""
        if number == 0 and self._instance.matrix is None:
            return np.arange(self.size, dtype=np.uint32)
        even = draws(self._greedy.edges)
        return self._greedy.order(np.exp(_NOISE * np.sqrt(12.0) * (even - 0.5))).astype(np.uint32)

    @cached_property
    def _greedy(self) -> NoisyGreedy:
        return NoisyGreedy(self._instance)


# --- parts -------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """Cities of a part, int64[M], with its gaps; and its chain, whose numbers are places among them."""

    cities: Ints
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

    def cut(self, draws: Draws) -> Floats:
        self._often = _FORGOTTEN * self._often + self._separated
        cities, weights, tour = self._tours.cities, _BASE + self._often, self._state.chain.order
        near, width, some = cities.neighbours, cities.width, draws(self.count - 1)
        self._partition = partition_tour(tour, near, width, weights, some)
        return np.diff(self._partition.bounds) / len(tour)

    def segment(self, number: int) -> Segment:
        whole, partition = self._tours.cities, self._partition
        some = cities_of(partition, number)
        waiting = (self._separated[some] != 0) & (some != GAP)
        cities = restrict(whole, partition, number, some, self._separated)
        tours = self._tours._replace(cities=cities, longest=fitting(self._tours.longest, len(some)))
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

    def _join(self, tours: list[tuple[Ints, Words]], target: Words) -> None:
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


def _gathered(metric: KernelMetric, some: Ints) -> KernelMetric:
    """Renumber some cities; the length of an edge to a gap is not a number."""
    data = metric.data.reshape(-1, metric.stride)[some]
    data[some == GAP] = np.nan
    return metric._replace(data=data.ravel())


def cities_of(partition: TourParts, part: int) -> Ints:
    """List a part's cities in the order of the tour, with its gaps; int64[M]."""
    cities = partition.cities[partition.bounds[part] : partition.bounds[part + 1]]
    rank = partition.rank[cities]
    gaps = np.flatnonzero(np.roll(rank, -1) != (rank + 1) % len(partition.rank))
    return np.insert(cities, gaps + 1, GAP)


def restrict(
    whole: Cities, partition: TourParts, part: int, some: Ints, separated: NDArray[np.uint8]
) -> Cities:
    """Restrict metric and candidate lists to a part's own cities.

    Parameters
    ----------
    whole : Cities
    partition : TourParts
    part : int
    some : int64[M]
        The part's cities, see `cities_of`.
    separated : uint8[N]
        Whether a city has candidates outside of its part: written for the part's cities.

    Returns
    -------
    Cities
        Their numbers are places in `some`; distances of gaps and to cities outside of the part are NaN.
    """
    cities, low, high = np.flatnonzero(some != GAP), partition.bounds[part], partition.bounds[part + 1]
    listed = some[cities, None] * whole.width + np.arange(whole.width)
    at = partition.place[whole.neighbours[listed]]
    kept = (low <= at) & (at < high)
    separated[some[cities]] = ~kept.all(1)
    listed, places = listed[kept], (cities[:, None] * whole.width + kept.cumsum(1) - 1)[kept]
    local = np.empty(high - low, np.uint32)
    local[partition.place[some[cities]] - low] = cities
    count = len(some) * whole.width
    near, far, alpha = np.zeros(count, np.uint32), np.full(count, np.nan), np.full(count, np.inf)
    near[places], far[places] = local[at[kept] - low], whole.distances[listed]
    alpha[places] = whole.alpha[listed]
    metric = _gathered(whole.metric, some)
    return whole._replace(metric=metric, neighbours=near, distances=far, alpha=alpha)
