"""Populations of solutions: construction and crossover, before a large-step chain goes on from the best.

A chain keeps the global structure of its start, which kicks do not leave. So a run begins with a population
constructed from different starts, each improved by local search alone. Generation after generation a random
mating permutation is drawn, and each solution takes over what the next one in it does better, until that
changes little. What a problem has to offer for it is `nsa_cli.core.problem.Recombination`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.draws import start_draws, stream_keys, uniforms
from nsa_cli.core.problem import CONSTRUCTION_SHARE, LEAST_POPULATION, Recombination
from nsa_cli.kernels.large_steps import construct, cross_over

#: The share of the run after which there is no more crossover.
_CROSSOVER_END = 0.9

#: The most solutions of a population: more gain little.
_MOST = 300

#: The most elements of all solutions together.
_ELEMENTS = 20_000_000

#: After more generations than this in a row without a better best solution there are no more.
_IDLE = 4

#: The random stream of mating permutations; the next one is that of crossovers, and those of starts count
#: from 0.
_MATING_STREAM = 1 << 20

#: Elements of a slice of work where time ends the run.
_SLICE = 2_000

#: Elements of a slice where steps end the run, whose size the number of threads must not change.
_FIXED_SLICE = 160_000

#: The fewest solutions of such a slice.
_FIXED_LEAST = 2

#: The most solutions of such a slice, unless `_SLICE` elements are more.
_FIXED_MOST = 8

#: A crossover takes a fraction of the time of a construction: so many times as many are a slice.
_CROSSOVERS = 8

#: The phase in which solutions are constructed, by the word that users see.
STARTS = "starts"

#: The phase of crossover.
RECOMBINATION = "recombination"

#: The phase in which chains take the steps.
CHAIN = "chain"


class Population:
    """A population of an instance, whose slices of work count as steps of the instance's chains.

    Where steps end the run, what is done by which step depends on its number alone: threads and chunks change
    nothing.

    Parameters
    ----------
    recombination : Recombination
    data : NamedTuple
        The instance as the hooks of `nsa_cli.kernels.steps` read it.
    key : int64
        The random stream.
    steps : int or None
        The steps of the run; None where time ends it.
    chains : int
        The number of chains of the instance, which all take each step.
    threads : int
        The number of threads that construct and cross over.
    """

    def __init__(
        self,
        recombination: Recombination,
        data: Any,
        key: np.int64,
        *,
        steps: int | None,
        chains: int,
        threads: int,
    ) -> None:
        self._recombination, self._data, self._key = recombination, data, int(key)
        self._mating_key, self._crossover_key = stream_keys(self._key, _MATING_STREAM + np.arange(2))
        self._chains, self._threads, self._steps = chains, threads, steps
        size = recombination.size
        self._most = min(_MOST, _ELEMENTS // size)
        if steps is None:
            self._slice = max(_SLICE // size, threads)
        else:
            kicks = CONSTRUCTION_SHARE * steps * chains
            self._most = min(self._most, int(kicks / recombination.construction_kicks))
            fixed = min(max(_FIXED_SLICE // size, _FIXED_LEAST), _FIXED_MOST)
            self._slice = max(_SLICE // size, fixed)
        self.phase = STARTS if self._most >= LEAST_POPULATION else CHAIN
        self._workers: SimpleQueue[Any] = SimpleQueue()
        if self.phase == STARTS:
            for _ in range(threads):
                self._workers.put(recombination.worker())
        self._constructed: list[NDArray[Any]] = []
        #: The share of the run that was used before the first construction.
        self._began = 0.0
        #: The solutions of this generation, and their children at the places of the mating permutation.
        self._population = self._children = np.zeros((0, 0))
        #: The mating permutation, the energies of the children, and how many of these there are so far.
        self._mating, self._energies, self._crossed = np.zeros(0, np.int64), np.zeros(0), 0
        #: The number of generations begun, and of those in a row without a better best solution.
        self._generation, self._idle = 0, 0
        #: The steps that the work so far counts as, and how many of them the run has not taken yet.
        self.counted = self._ahead = 0.0
        self.best, self.best_energy = np.zeros(0), math.inf

    def advance(self, count: int, used: float, each: Callable[..., Any]) -> int:
        """Take up to `count` steps; return how many are left, for the chains.

        Where time ends the run, a slice of work is done instead, and no step is left until all is over.

        Parameters
        ----------
        count : int
        used : float
            The share of the run that is used, where time ends it.
        each : callable
            It applies a function to many things side by side.
        """
        if self._steps is None:
            self._work(used, each)
            return count if self.phase == CHAIN else 0
        while count > 0 and (self.phase != CHAIN or self._ahead >= 1.0):
            taken = min(int(self._ahead), count)
            self._ahead -= taken
            count -= taken
            if count > 0:
                self._work(self.counted / self._steps, each)
        return count

    def _work(self, used: float, each: Callable[..., Any]) -> None:
        """Do a slice of work, if any is left."""
        if self.phase == STARTS:
            self._construct_some(used, each)
        elif self.phase == RECOMBINATION:
            self._cross_some(used, each)

    @property
    def doing(self) -> str:
        """What is done now, in words."""
        if self.phase == STARTS:
            return f"starts {len(self._constructed)} of {self._most}"
        return f"generation {self._generation}"

    @property
    def is_over(self) -> bool:
        """Whether chains take all further steps."""
        return self.phase == CHAIN and (self._steps is None or self._ahead < 1.0)

    def _construct_some(self, used: float, each: Callable[..., Any]) -> None:
        count = len(self._constructed)
        if not count:
            self._began = used
        elif self._steps is None:
            needed = (used - self._began) * LEAST_POPULATION / count
            if self._began + needed > CONSTRUCTION_SHARE:
                self.phase = CHAIN  # the least number will not be there in time
                return
        numbers = range(count, min(count + self._slice, self._most))
        if used >= CONSTRUCTION_SHARE or not numbers:
            if count < LEAST_POPULATION:
                self.phase = CHAIN
                return
            self._population = np.stack(self._constructed)
            self._children, self._energies = np.empty_like(self._population), np.empty(count)
            self._mating = np.zeros(count, np.int64)
            self._crossed = count  # as after a generation: the first one is still to begin
            self.phase = RECOMBINATION
            return
        for solution, found in self._spread(self._construct, numbers, each):
            self._constructed.append(solution)
            self._compare(solution, found)
        self._count(len(numbers) * self._recombination.construction_kicks)

    def _cross_some(self, used: float, each: Callable[..., Any]) -> None:
        size, before = len(self._population), self.best_energy
        if self._crossed == size:
            if self._generation > 0:
                self._population[self._mating] = self._children
            draws = uniforms(np.array([self._mating_key]), self._generation, size)
            self._mating, self._crossed = np.argsort(draws[:, 0]), 0
            self._generation, self._idle = self._generation + 1, self._idle + 1
        if used >= _CROSSOVER_END or self._idle > _IDLE:
            self.phase = CHAIN
            return
        places = range(self._crossed, min(self._crossed + _CROSSOVERS * self._slice, size))
        self._spread(self._cross_over, places, each)
        self._crossed = places.stop
        self._count(len(places) * self._recombination.crossover_kicks)
        best = places.start + int(np.argmin(self._energies[places.start : places.stop]))
        self._compare(self._children[best], float(self._energies[best]))
        if self.best_energy < before:
            self._idle = 0

    def _compare(self, solution: NDArray[Any], found: float) -> None:
        if found < self.best_energy - self._data.tolerance:
            self.best, self.best_energy = solution.copy(), found

    def _spread(
        self, work: Callable[[Any, range], list[Any]], numbers: range, each: Callable[..., Any]
    ) -> list[Any]:
        """Do some work of each number side by side; return what it gives, in order."""
        parts = [numbers[k :: self._threads] for k in range(min(self._threads, len(numbers)))]
        done: list[Any] = [None] * len(numbers)
        for k, some in enumerate(each(partial(self._do, work), parts)):
            done[k :: self._threads] = some
        return done

    def _do(self, work: Callable[[Any, range], list[Any]], numbers: range) -> list[Any]:
        state = self._workers.get()
        done = work(state, numbers)
        self._workers.put(state)
        return done

    def _construct(self, state: Any, numbers: range) -> list[tuple[NDArray[Any], float]]:
        constructed = []
        for number, key in zip(numbers, stream_keys(self._key, np.array(numbers)), strict=True):
            start = self._recombination.start(number, partial(start_draws, key))
            found = construct(self._data, state, start)
            constructed.append((state.best.copy(), found))
        return constructed

    def _cross_over(self, state: Any, places: range) -> list[None]:
        cross_over(
            self._data,
            state,
            self._population,
            self._mating,
            self._children,
            self._energies,
            self._crossover_key,
            self._generation * _MOST,
            np.array(places),
        )
        return [None] * len(places)

    def _count(self, kicks: float) -> None:
        """Count work as steps of all chains."""
        self.counted += kicks / self._chains
        self._ahead += kicks / self._chains
