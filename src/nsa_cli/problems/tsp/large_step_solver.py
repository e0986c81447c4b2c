"""Solve a TSP instance by large-step chains: set-up, temperatures, chains and threads, stopping.

The seam to the rest: `solve_large_step` is all that callers need. Kernels never call back; time limits,
progress and interrupts live here, between chunks of kicks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import stream_keys
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.candidates import (
    along_curve,
    alpha_nearness,
    by_length,
    choose,
    graph_of,
    nearest,
    nearest_in_matrix,
)
from nsa_cli.problems.tsp.greedy import greedy_tour
from nsa_cli.problems.tsp.held_karp import shortest_tour
from nsa_cli.problems.tsp.heuristics import positions
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.large_step import (
    ACCEPTED,
    BEST,
    CURRENT,
    KICKS,
    advance,
    settle,
    start_at,
)
from nsa_cli.problems.tsp.local_search import QUEUED, Cities
from nsa_cli.problems.tsp.measure import measure_of, tour_length

#: Up to this many cities, the optimum is computed.
_EXACT_UP_TO = 12

#: Up to this many cities, independent runs of a share of the budget beat one long run.
RUNS_UP_TO = 150
RUNS = 4

#: But each of these runs is to have at least so many kicks a city, or so many seconds.
_RUN_KICKS, _RUN_SECONDS = 3, 25e-6

#: Up to this many cities, one open move in a Lin-Kernighan chain does better than many.
_SHALLOW_UP_TO = 150

#: Cities lie in clusters where the mean distance to the nearest neighbour is below this share of a mean edge
#: of a greedy tour. Measured: 0.75 for uniform cities, 0.4 for the clusters of fl417 and fl1400.
_CLUSTERED_BELOW = 0.5

#: Sizes of the first and last subgradient step, in units of `Setting.scale`.
_FIRST_STEP, _LAST_STEP = 0.3, 0.02

#: A chunk takes this share of a chain's time, within these seconds.
_CHUNK_SHARE = 1 / 64
_CHUNK_SECONDS = (0.0003, 0.1)

#: Cities of the first local search between two looks at the clock.
SETTLE = 2000


@dataclass(frozen=True)
class LargeStepSettings:
    """What a chain is made of; the defaults are measured, one set for all sizes.

    Attributes
    ----------
    neighbours : int
        Nearest neighbours a city in the sparse graph.
    candidates : int
        Edges a city that moves may add, by alpha-nearness.
    clustered : (int, int)
        Neighbours and candidates where cities lie in clusters, whose cities have few neighbours outside.
    subgradient_steps : int
        Half as many for few cities, where the set-up weighs more.
    depth : int or None
        Open moves in a Lin-Kernighan chain; None: by size.
    longest : int
        Most cities of a segment that a kick swaps.
    decay : float
        The temperature is s exp(-decay t): s the mean distance of a city to its nearest neighbour, t the used
        fraction of the budget.
    """

    neighbours: int = 10
    candidates: int = 5
    clustered: tuple[int, int] = (25, 8)
    subgradient_steps: int = 40
    depth: int | None = None
    longest: int = 100
    decay: float = 3.5


class LargeStepProgress(NamedTuple):
    """What a stop rule or a progress line may look at.

    Attributes
    ----------
    step, steps : int
        Kicks of this chain done, and planned (0 where seconds are the budget).
    temperature : float
        In units of length.
    acceptance : float
        Accepted share of the kicks.
    best, current : float
        Lengths of this chain's tours.
    seconds : float
        Since the start.
    """

    step: int
    steps: int
    temperature: float
    acceptance: float
    best: float
    current: float
    seconds: float


class LargeStepOutcome(NamedTuple):
    """The result of `solve_large_step`.

    Attributes
    ----------
    tour : int64[N]
        Positions in the file.
    kicks, accepted : int
        Over all chains.
    seconds : float
        By the clock of the call, set-up included.
    reason : str
        ``steps``, ``time_limit``, ``optimal`` or what a stop rule said.
    trace : list of LargeStepProgress
        Of the chain with the best tour, one entry a chunk.
    """

    tour: Solution
    kicks: int
    accepted: int
    seconds: float
    reason: str
    trace: list[LargeStepProgress]


#: Returns the reason to stop, or None.
StopRule = Callable[[LargeStepProgress], "str | None"]


class Setting(NamedTuple):
    """An instance made ready for chains, which share it.

    Attributes
    ----------
    cities : Cities
        One for each of the `Sites`.
    order : int64[M]
        The first tour.
    scale : float
        Mean distance of a city to its nearest neighbour.
    depth, longest : int
        See `LargeStepSettings`.
    """

    cities: Cities
    order: NDArray[np.int64]
    scale: float
    depth: int
    longest: int


def solve_large_step(
    instance: TspInstance,
    *,
    seed: int,
    seconds: float | None = None,
    kicks: int | None = None,
    chains: int | None = None,
    threads: int = 1,
    start: Solution | None = None,
    stream: int = 0,
    stop: Sequence[StopRule] = (),
    on_progress: Callable[[LargeStepProgress], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
    settings: LargeStepSettings = LargeStepSettings(),
) -> LargeStepOutcome:
    """Find a short tour within a budget of seconds or kicks.

    Parameters
    ----------
    instance : TspInstance
    seed : int
        0 <= seed < 2**63. The same seed and kicks give the same tour, whatever the threads and chunks.
    seconds, kicks : float, int
        The budget, one of the two, shared out among the chains. Seconds include the set-up; the descent
        to the first local optimum is part of both, and is not cut short by kicks.
    chains : int, optional
        Independent runs, the best of which counts; by default as many as do best.
    threads : int
        Chains at work at the same time.
    start : int64[N], optional
        A tour to begin with, which the result is never longer than; by default that of the greedy edge rule.
    stream : int
        Number of the instance in its run, as `Task.stream`.
    stop : sequence of callable
        Asked between chunks, in any thread but one at a time.
    on_progress : callable, optional
        Called likewise.
    clock : callable
        Seconds; `time.thread_time` for time on the processor with one thread.
    settings : LargeStepSettings

    Raises
    ------
    ValueError
        If the budget is neither or both of seconds and kicks, or a number is out of range.
    """
    if (seconds is None) == (kicks is None):
        raise ValueError("expected either seconds or kicks")
    if threads < 1 or (chains is not None and chains < 1):
        raise ValueError(f"expected at least one chain and thread, got {chains} and {threads}")
    began = clock()
    if not is_measurable(instance):
        return LargeStepOutcome(_any_tour(instance, start), 0, 0, clock() - began, "steps", [])
    sites = sites_of(instance)
    if len(sites.numbers) <= _EXACT_UP_TO:
        tour = sites.tour(_optimum(instance, sites.numbers))
        return LargeStepOutcome(_shorter(instance, tour, start), 0, 0, clock() - began, "optimal", [])
    setting = prepare(instance, sites, start, settings)
    count = chains or _chains(len(sites.numbers), threads, seconds, kicks)
    watch = _Watch(began, clock, tuple(stop), on_progress)
    keys = stream_keys(seed, (stream << 32) + np.arange(count))
    shares = [None if kicks is None else kicks // count + (k < kicks % count) for k in range(count)]
    runs = [_Run(setting, settings, int(key), share, watch) for key, share in zip(keys, shares, strict=True)]
    _work(runs, threads, None if seconds is None else began + seconds, clock)
    best = min(runs, key=lambda run: float(run.state.costs[BEST]))
    return LargeStepOutcome(
        _shorter(instance, sites.tour(best.state.best), start),
        sum(int(run.state.counts[KICKS]) for run in runs),
        sum(int(run.state.counts[ACCEPTED]) for run in runs),
        clock() - began,
        watch.reason or ("time_limit" if kicks is None else "steps"),
        best.trace,
    )


def is_measurable(instance: TspInstance) -> bool:
    """Tell whether lengths are numbers: coordinates of 1e200 have infinite distances."""
    if instance.matrix is not None or instance.metric is None:
        return True
    with np.errstate(over="ignore"):
        low, high = instance.measured.min(axis=0), instance.measured.max(axis=0)
        return bool(np.isfinite(instance.metric.lengths(low, high)))


def _any_tour(instance: TspInstance, start: Solution | None) -> Solution:
    return np.arange(instance.size) if start is None else start


def _optimum(instance: TspInstance, cities: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the shortest tour of a few cities, as places among them."""
    if len(cities) < 4:
        return np.arange(len(cities))
    return shortest_tour(instance.edges(cities[:, None], cities[None, :]).astype(np.float64))


def _shorter(instance: TspInstance, tour: Solution, start: Solution | None) -> Solution:
    """Choose by exact evaluation: where rounding breaks the triangle inequality, a start can win."""
    if start is not None and instance.objective(start) < instance.objective(tour):
        return start
    return tour


def _chains(size: int, threads: int, seconds: float | None, kicks: int | None) -> int:
    """Choose the number of chains: a multiple of the threads."""
    if size > RUNS_UP_TO:
        return threads
    each = kicks / _RUN_KICKS if seconds is None and kicks is not None else (seconds or 0.0) / _RUN_SECONDS
    runs = max(min(int(each / size), RUNS), 1)
    return -(-runs // threads) * threads


class Sites(NamedTuple):
    """An instance's cities renumbered along a space-filling curve, those on the same place made one.

    Attributes
    ----------
    numbers : int64[M]
        A city of the file at each site.
    site : int64[N]
        The site of each city of the file.
    """

    numbers: NDArray[np.int64]
    site: NDArray[np.int64]

    def tour(self, order: NDArray[np.generic]) -> Solution:
        """Visit sites int[M] in this order, and all cities of each; int64[N]."""
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return np.argsort(rank[self.site], kind="stable")

    def order(self, tour: Solution) -> NDArray[np.int64]:
        """Give the sites in the order in which a tour first visits them; int64[M]."""
        _, first = np.unique(self.site[tour], return_index=True)
        return self.site[tour][np.sort(first)]


def sites_of(instance: TspInstance) -> Sites:
    """Renumber an instance's cities; a matrix's stay as they are."""
    if instance.matrix is not None:
        return Sites(np.arange(instance.size), np.arange(instance.size))
    place = hilbert(instance.measured[:, :2])
    numbers = np.argsort(place, kind="stable")
    if not (np.diff(place[numbers]) == 0).any():  # none on the same place
        site = np.empty_like(numbers)
        site[numbers] = np.arange(len(numbers))
        return Sites(numbers, site)
    _, first, site = np.unique(instance.measured[numbers], axis=0, return_index=True, return_inverse=True)
    along = np.argsort(first)  # sites in the order of the curve again
    rank, site_of_city = np.argsort(along), np.empty(len(numbers), dtype=np.int64)
    site_of_city[numbers] = rank[site.ravel()]
    return Sites(numbers[first[along]], site_of_city)


def hilbert(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Place along Hilbert's curve of order 16 (Hilbert 1891), int64[N], of points float64[N, 2]."""
    low = points.min(axis=0)
    side = max(float((points.max(axis=0) - low).max()), 1e-300)
    x, y = ((points - low) / side * 65535.0).astype(np.int64).T
    return along_curve(np.ascontiguousarray(x), np.ascontiguousarray(y), 16)


def prepare(
    instance: TspInstance,
    sites: Sites,
    start: Solution | None = None,
    settings: LargeStepSettings = LargeStepSettings(),
) -> Setting:
    """Make an instance ready: candidates, first tour, scales."""
    near = partial(_near, instance, sites.numbers)
    measure = measure_of(instance, sites.numbers)
    size = len(sites.numbers)
    neighbours, distances = by_length(measure, near(np.arange(size), settings.neighbours))
    order = greedy_tour(measure, neighbours, distances, near) if start is None else sites.order(start)
    scale, candidates = max(float(distances[:, 0].mean()), 0.0), settings.candidates
    if scale * size < _CLUSTERED_BELOW * tour_length(measure, order.astype(np.uint32)):
        wider, candidates = settings.clustered
        neighbours, _ = by_length(measure, near(np.arange(size), wider))
    graph = graph_of(measure, neighbours, order)
    steps = (_FIRST_STEP * scale, _LAST_STEP * scale)
    alpha = alpha_nearness(graph, settings.subgradient_steps // (2 if size <= RUNS_UP_TO else 1), *steps)
    chosen = choose(graph, alpha, candidates)
    tolerance = max(1e-7 * scale, 1e-12 * float(np.abs(graph.lengths).max()))
    return Setting(
        Cities(measure, *chosen, candidates, tolerance),
        order,
        scale,
        settings.depth if settings.depth is not None else (1 if size <= _SHALLOW_UP_TO else 6),
        max(min(settings.longest, (size - 3) // 3 - 1), 1),
    )


def _near(
    instance: TspInstance, numbers: NDArray[np.int64], some: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Find near cities among some sites, as places among these; fewer than `count` where there are fewer."""
    cities = numbers[some]
    count = min(count, len(cities) - 1)
    if instance.matrix is not None:
        return nearest_in_matrix(instance.matrix[np.ix_(cities, cities)].astype(np.float64), count)
    return nearest(positions(instance)[cities], count, instance.edge_weight_type)


@dataclass
class _Watch:
    """Clock, stop rules and progress of a run, shared by its threads."""

    began: float
    clock: Callable[[], float]
    stop: tuple[StopRule, ...]
    on_progress: Callable[[LargeStepProgress], None] | None
    reason: str | None = None
    lock: Lock = field(default_factory=Lock)

    def look(self, progress: LargeStepProgress) -> bool:
        """Tell whether to stop; the first reason counts for all chains."""
        if not self.stop and self.on_progress is None:
            return False
        with self.lock:
            if self.on_progress is not None:
                self.on_progress(progress)
            for rule in self.stop:
                self.reason = self.reason or rule(progress)
            return self.reason is not None


class _Run:
    """One chain: its state, its part of the budget, what it did."""

    def __init__(
        self, setting: Setting, settings: LargeStepSettings, key: int, kicks: int | None, watch: _Watch
    ) -> None:
        self.setting, self.decay, self.key, self.watch = setting, settings.decay, key, watch
        self.kicks = kicks
        self.state = start_at(setting.cities, setting.order)
        self.trace: list[LargeStepProgress] = []

    def work(self, until: float | None) -> None:
        """Use the chain's kicks, or the time until `until`."""
        if not self._descend(until):
            return
        self._advance(np.empty(0))  # compiles, where need be, before kicks are timed
        clock = self.watch.clock
        chunks = _kick_chunks(self.kicks or 0, clock) if until is None else _timed_chunks(until, clock)
        temperature = self.setting.scale
        for fractions in chunks:
            if self._stopped(temperature):
                return
            temperatures = self.setting.scale * np.exp(-self.decay * fractions)
            temperature = float(temperatures[-1])
            self._advance(temperatures)
        self._stopped(temperature)

    def _advance(self, temperatures: NDArray[np.float64]) -> None:
        setting = self.setting
        advance(setting.cities, self.state, self.key, temperatures, setting.depth, setting.longest)

    def _descend(self, until: float | None) -> bool:
        """Go down to the first local optimum; tell whether it was reached in time."""
        while self.state.chain.counts[QUEUED]:
            if (until is not None and self.watch.clock() >= until) or self._stopped(self.setting.scale):
                return False
            settle(self.setting.cities, self.state, self.setting.depth, SETTLE)
        return True

    def _stopped(self, temperature: float) -> bool:
        """Note where the chain is, and ask whether to stop."""
        counts, costs = self.state.counts, self.state.costs
        done = int(counts[KICKS])
        progress = LargeStepProgress(
            done,
            self.kicks or 0,
            temperature,
            float(counts[ACCEPTED]) / max(done, 1),
            float(costs[BEST]),
            float(costs[CURRENT]),
            self.watch.clock() - self.watch.began,
        )
        self.trace.append(progress)
        return self.watch.look(progress)


def _kick_chunks(kicks: int, clock: Callable[[], float]) -> Iterator[NDArray[np.float64]]:
    """Yield the used fraction at each kick, in chunks that double until they take their time."""
    done, chunk = 0, 64
    while done < kicks:
        chunk = min(chunk, kicks - done)
        begin = clock()
        yield np.arange(done, done + chunk) / kicks
        done += chunk
        chunk = max(chunk * 2 if clock() - begin < _CHUNK_SECONDS[1] / 2 else chunk, 1)


def _timed_chunks(until: float, clock: Callable[[], float]) -> Iterator[NDArray[np.float64]]:
    """Yield the used fraction of the time that is left now, at as many kicks as fit into a chunk."""
    begin = now = clock()
    span, kicks, pace = until - begin, 16, 0.0
    while now < until:
        aim = min(max(span * _CHUNK_SHARE, _CHUNK_SECONDS[0]), _CHUNK_SECONDS[1], until - now)
        if pace > 0.0:
            kicks = max(int(min(pace * aim, 4.0 * kicks)), 1)
        yield (now - begin + aim * (np.arange(kicks) / kicks)) / span
        before, now = now, clock()
        pace = kicks / max(now - before, 1e-9)


def _work(runs: list[_Run], threads: int, until: float | None, clock: Callable[[], float]) -> None:
    """Run the chains, each with an equal part of the time that is left."""

    def work(k: int) -> None:
        if runs[k].watch.reason is not None:
            return
        if until is None:
            runs[k].work(None)
            return
        rounds_left = -(-(len(runs) - k) // threads)
        now = clock()
        runs[k].work(now + (until - now) / rounds_left)

    if threads == 1:
        for k in range(len(runs)):
            work(k)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, range(len(runs))):
            pass
