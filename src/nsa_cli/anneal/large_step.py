"""Large-step Markov chains: kick, local search, accept or reject (Martin, Otto and Felten 1991).

They are iterated local search under a temperature. One compiled loop advances the chains
(`nsa_cli.kernels.large_steps`). Where solutions can recombine, chains begin at the best of a population.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.population import CHAIN, Population
from nsa_cli.core.draws import stream_keys, uniforms
from nsa_cli.core.problem import LargeStepRun, Partition, Segment
from nsa_cli.kernels.large_steps import (
    ACCEPTED,
    ADVANCE,
    BEGIN,
    BEST,
    CURRENT,
    DESCEND,
    STEPS,
    Tally,
    restart_at,
    run_chain,
)

#: The elements that a descent visits between two looks at the clock.
_VISITED = 2000

#: Step k goes to the segment in whose share the fractional part of k times this falls: evenly all along.
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

_NO_STEPS = np.zeros(0)

S = TypeVar("S")
T = TypeVar("T")


class LargeStepChains:
    """Chains between two chunks; see `nsa_cli.anneal.chains.Chains`.

    Parameters
    ----------
    runs : sequence of LargeStepRun
        The runs, one a chain, at their first solutions.
    keys : int64[B]
        The random streams.
    threads : int
        The number of threads.
    rows : int
        The number of chains of an instance, one after the other, which share a population.
    steps : int or None
        The steps of the run, for the size of populations; None where time ends it, 0 for no population.
    """

    #: The most steps of a chunk, whose temperatures are an array.
    most = 1 << 16

    def __init__(
        self,
        runs: Sequence[LargeStepRun],
        keys: NDArray[np.int64],
        *,
        threads: int = 1,
        rows: int = 1,
        steps: int | None = 0,
    ) -> None:
        self.step = 0
        self._runs = runs
        self._tallies = [Tally(np.zeros(2), np.zeros(2, np.int64), key) for key in keys]
        if not any(run.recombination for run in runs):
            threads = min(threads, sum(1 if run.partition is None else run.partition.count for run in runs))
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        for chain, tally in zip(runs, self._tallies, strict=True):
            run_chain(chain.data, chain.state, tally, _NO_STEPS, BEGIN, 0)
        #: The chains whose first descent goes on, each with those that start as it does.
        self._descending = _alike(runs)
        self._partitioned = [
            _PartitionedChain(row, run.partition, self._tallies[row])
            for row, run in enumerate(runs)
            if run.partition is not None
        ]
        self._whole = [row for row, run in enumerate(runs) if run.partition is None]
        #: The populations that are not over yet, by the first chain of their instance.
        self._populations: dict[int, Population] = {}
        self._rows, self._by_time, self._before = rows, steps is None, 0.0
        for row in range(0, len(runs) if steps != 0 else 0, rows):
            if (recombination := runs[row].recombination) is not None:
                self._populations[row] = Population(
                    recombination, runs[row].data, keys[row], steps=steps, chains=rows, threads=threads
                )
        # Chains wait for their segments in threads that the segments do not need.
        waits = self._pool is not None and len(self._partitioned) > 1
        self._each_chain = ThreadPoolExecutor(len(self._partitioned)).map if waits else map
        self._descend()  # a part in any case: with no time for more, it still is an answer

    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        """Take all chains through so many steps, unless a first descent goes on after this."""
        if self._descending:
            self._descend()
        if self._descending:
            return
        count = len(temperatures)
        left = dict.fromkeys(range(len(self._runs)), count)
        for first in list(self._populations):
            steps = self._populate(first, count, used)
            left.update(dict.fromkeys(range(first, first + self._rows), steps))
        if self._by_time and not all(left.values()):
            return  # chains wait for the populations of all

        def take(row: int) -> None:
            run = self._runs[row]
            run_chain(run.data, run.state, self._tallies[row], temperatures[count - left[row] :], ADVANCE, 0)

        def take_parts(chain: _PartitionedChain) -> None:
            chain.advance(temperatures[count - left[chain.row] :], self._each)

        self._each(take, [row for row in self._whole if left[row]])
        list(self._each_chain(take_parts, self._partitioned))
        self.step += count

    @property
    def counted(self) -> int:
        """Steps done, with those that the work of populations counts as where time ends the run."""
        return self.step + int(self._before)

    @property
    def is_descending(self) -> bool:
        """Whether first solutions are not at local optima yet."""
        return bool(self._descending)

    @property
    def phase(self) -> str:
        """The phase of the population that is worked at; that of chains where there is none."""
        return next((population.phase for population in self._populations.values()), CHAIN)

    @property
    def doing(self) -> str:
        """The same in words."""
        if self._descending:
            return "local search"
        at_work = (population for population in self._populations.values() if population.phase != CHAIN)
        return next((population.doing for population in at_work), "large steps")

    def _populate(self, first: int, count: int, used: float) -> int:
        """Advance a population by up to `count` steps; return how many are left."""
        population = self._populations[first]
        runs = population.phase != CHAIN
        left = population.advance(count, used, self._each)
        if self._by_time:
            self._before = max(self._before, population.counted)
        if population.best_energy < self._tallies[first].energies[BEST]:
            run = self._runs[first]
            restart_at(run.data, run.state, self._tallies[first], population.best)
        if runs and population.phase == CHAIN:
            while not self._descend_some(first):
                pass
            self._begin_at(first, range(first + 1, first + self._rows))
        if population.is_over:
            del self._populations[first]
        return left

    def _each(self, work: Callable[[S], T], things: Sequence[S]) -> list[T]:
        return list(map(work, things) if self._pool is None else self._pool.map(work, things))

    def _descend(self) -> None:
        """Descend with one of all that start alike, and put the others where it ends."""
        rows = list(self._descending)
        for row, done in zip(rows, self._each(self._descend_some, rows), strict=True):
            if done:
                self._begin_at(row, self._descending.pop(row))

    def _begin_at(self, row: int, others: Iterable[int]) -> None:
        """Put other chains where one is."""
        for other in others:
            _copy(self._runs[row].state, self._runs[other].state)
            _copy(self._tallies[row].energies, self._tallies[other].energies)

    def _descend_some(self, row: int) -> bool:
        run = self._runs[row]
        return run_chain(run.data, run.state, self._tallies[row], _NO_STEPS, DESCEND, _VISITED)

    def _join(self) -> None:
        for chain in self._partitioned:
            chain.join()

    @property
    def x(self) -> NDArray[Any]:
        self._join()
        return np.stack([run.current() for run in self._runs])

    @property
    def best(self) -> NDArray[Any]:
        self._join()
        return np.stack([run.best() for run in self._runs])

    @property
    def energy(self) -> NDArray[np.float64]:
        return np.array([tally.energies[CURRENT] for tally in self._tallies])

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return np.array([tally.energies[BEST] for tally in self._tallies])

    @property
    def accepted(self) -> NDArray[np.int64]:
        return np.array([tally.counts[ACCEPTED] for tally in self._tallies])


class _PartitionedChain:
    """A chain that is cut into segments, each of which does its share of a round's steps.

    The segment that takes a step depends on nothing but the step's number in the round, and each segment
    draws from a stream of its own: chunks and threads change nothing.

    Parameters
    ----------
    row : int
        The number of the chain.
    partition : Partition
        Its cuts into segments.
    tally : Tally
        The tally of the whole chain, which is kept up to date.
    """

    def __init__(self, row: int, partition: Partition, tally: Tally) -> None:
        self.row = row
        self._partition, self._whole = partition, tally
        keys = stream_keys(int(tally.key), np.arange(partition.count))
        self._tallies = [Tally(np.zeros(2), np.zeros(2, np.int64), key) for key in keys]
        self._segments: list[Segment] = []
        self._owner = np.zeros(0, np.uint16)
        self._round, self._done = 0, 0
        #: The energies when the round began, and whether the segments have beaten the best one.
        self._before, self._improved = tally.energies.copy(), False

    def advance(self, temperatures: NDArray[np.float64], each: Callable[..., Any]) -> None:
        """Take the chain through ``len(temperatures)`` steps; `each` applies a function to many things."""
        while len(temperatures):
            if self._done == len(self._owner):
                self._begin_round(each)
            some = temperatures[: len(self._owner) - self._done]
            temperatures = temperatures[len(some) :]
            owner = self._owner[self._done : self._done + len(some)]
            ends = np.cumsum(np.bincount(owner, minlength=len(self._segments)))[:-1]
            shares = np.split(some[np.argsort(owner, kind="stable")], ends)
            some_steps = [pair for pair in enumerate(shares) if len(pair[1])]
            each(self._take, sorted(some_steps, key=lambda pair: -len(pair[1])))  # the largest first
            self._done += len(some)
            self._whole.counts[STEPS] += len(some)
            self._sum_up()

    def _take(self, share: tuple[int, NDArray[np.float64]]) -> None:
        segment = self._segments[share[0]]
        run_chain(segment.data, segment.state, self._tallies[share[0]], share[1], ADVANCE, 0)

    def join(self) -> None:
        """Put the segments' solutions into the whole chain's."""
        if self._segments:
            self._whole.energies[:] = self._partition.join(improved=self._improved)

    def _begin_round(self, each: Callable[..., Any]) -> None:
        """Join the segments and cut again."""
        self.join()
        self._before, self._improved = self._whole.energies.copy(), False
        shares = self._partition.cut(partial(_draws, self._whole.key, self._round))
        self._segments = each(self._make, range(len(shares)))
        places = np.arange(self._partition.steps) * _GOLDEN % 1.0
        self._owner = np.searchsorted(np.cumsum(shares)[:-1], places, side="right").astype(np.uint16)
        self._round, self._done = self._round + 1, 0

    def _make(self, row: int) -> Segment:
        segment, tally = self._partition.segment(row), self._tallies[row]
        tally.energies[:] = 0.0
        while not run_chain(segment.data, segment.state, tally, _NO_STEPS, DESCEND, _VISITED):
            pass
        return segment

    def _sum_up(self) -> None:
        """Add up the segments' energies and counts."""
        current, best = np.sum([tally.energies for tally in self._tallies], axis=0)
        best += self._before[CURRENT]
        self._improved = bool(best < self._before[BEST])
        self._whole.energies[:] = self._before[CURRENT] + current, min(self._before[BEST], best)
        self._whole.counts[ACCEPTED] = sum(int(tally.counts[ACCEPTED]) for tally in self._tallies)


def _draws(key: np.int64, step: int, count: int) -> NDArray[np.float64]:
    return uniforms(np.array([key]), step, count)[:, 0]


def _alike(runs: Sequence[LargeStepRun]) -> dict[int, list[int]]:
    """Find the first chain of each instance and first solution, and the others that start as it does."""
    alike: dict[tuple[int, bytes], list[int]] = {}
    for row, run in enumerate(runs):
        alike.setdefault((id(run.data), run.current().tobytes()), []).append(row)
    return {first: others for first, *others in alike.values()}


def _copy(source: Any, target: Any) -> None:
    """Put a state's arrays into those of another state."""
    if isinstance(source, np.ndarray):
        target[...] = source
    elif isinstance(source, tuple):
        for one, other in zip(source, target, strict=True):
            _copy(one, other)
