"""Populations of solutions that recombine, before a large-step chain goes on from the best of them.

A chain keeps the global structure of its start, which kicks do not leave. So a run begins with many solutions
from different starts, each improved by local search alone. Generation after generation each takes over what
its neighbour in a random ring does better, until that changes little. What a problem has to offer for it is
`nsa_cli.core.problem.Recombination`.
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
from nsa_cli.core.problem import LEAST_POPULATION, MADE, Recombination
from nsa_cli.kernels.recombination import make, mate

#: Share of the run after which none recombine.
_RECOMBINED = 0.9

#: More solutions gain little.
_MOST = 300

#: Elements of all solutions at most.
_ELEMENTS = 20_000_000

#: Generations in a row without a better best solution, after which there are no more.
_IDLE = 4

#: The random streams of rings and, the next, of matings; those of members count from 0.
_RINGS = 1 << 20

#: Elements of a slice of work, and of one whose size the number of threads must not change, which has this
#: many solutions or pairs where elements allow.
_SLICE, _FIXED_SLICE, _FIXED_COUNTS = 2_000, 160_000, (2, 8)

#: To recombine two takes a fraction of the time to make one: so many times as many are a slice.
_PAIRS = 8

#: Phases of a run.
STARTS, RECOMBINATION, CHAIN = "starts", "recombination", "chain"


class Population:
    """Solutions of an instance, made and recombined in slices of work that count as steps of its chains.

    By steps, what is done by which step depends on nothing but its number: threads and chunks change nothing.

    Parameters
    ----------
    recombination : Recombination
    data : NamedTuple
        As in `nsa_cli.kernels.steps`.
    key : int64
        Random stream.
    steps : int or None
        Of the run; None where time ends it.
    chains : int
        Chains of the instance, which make each step.
    threads : int
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
        self._ring_key, self._mating_key = stream_keys(self._key, np.arange(_RINGS, _RINGS + 2))
        self._chains, self._threads, self._steps = chains, threads, steps
        size = recombination.size
        self._most = min(_MOST, _ELEMENTS // size)
        if steps is None:
            self._slice = max(_SLICE // size, threads)
        else:
            self._most = min(self._most, int(MADE * steps * chains / recombination.making))
            low, high = _FIXED_COUNTS
            self._slice = max(_SLICE // size, min(max(_FIXED_SLICE // size, low), high))
        self.phase = STARTS if self._most >= LEAST_POPULATION else CHAIN
        self._workers: SimpleQueue[Any] = SimpleQueue()
        if self.phase == STARTS:
            for _ in range(threads):
                self._workers.put(recombination.worker())
        self._made: list[NDArray[Any]] = []
        #: Share of the run that was used before the first was made.
        self._began = 0.0
        #: Solutions of this generation; what becomes of them, in the order of the ring; how many are done.
        self._members = self._children = np.zeros((0, 0))
        self._ring, self._energies, self._mated = np.zeros(0, np.int64), np.zeros(0), 0
        #: Generations begun, and those in a row without a better best solution.
        self._generation, self._idle = 0, 0
        #: Steps that the work so far counts as, and how many of them the run has not taken yet.
        self._counted = self._ahead = 0.0
        self.best, self.best_energy = np.zeros(0), math.inf

    def advance(self, count: int, used: float, each: Callable[..., Any]) -> int:
        """Take up to `count` steps; return how many are left, for the chains.

        Where time ends the run, a slice of work is done instead, and no step is left until all is over.

        Parameters
        ----------
        count : int
        used : float
            Share of the run that is used, where time ends it.
        each : callable
            Applies a function to many things side by side.
        """
        if self._steps is None:
            self._work(used, each)
            return count if self.phase == CHAIN else 0
        while count > 0 and (self.phase != CHAIN or self._ahead >= 1.0):
            taken = min(int(self._ahead), count)
            self._ahead -= taken
            count -= taken
            if count > 0:
                self._work(self._counted / self._steps, each)
        return count

    def _work(self, used: float, each: Callable[..., Any]) -> None:
        """Do a slice of work, if any is left."""
        if self.phase == STARTS:
            self._make_some(used, each)
        elif self.phase == RECOMBINATION:
            self._mate_some(used, each)

    @property
    def doing(self) -> str:
        """What is done now, in words."""
        if self.phase == STARTS:
            return f"starts {len(self._made)} of {self._most}"
        return f"generation {self._generation}"

    @property
    def is_over(self) -> bool:
        """Whether chains take all further steps."""
        return self.phase == CHAIN and (self._steps is None or self._ahead < 1.0)

    def _make_some(self, used: float, each: Callable[..., Any]) -> None:
        made = len(self._made)
        if not made:
            self._began = used
        elif self._steps is None and self._began + (used - self._began) * LEAST_POPULATION / made > MADE:
            self.phase = CHAIN  # the least number will not be made in time
            return
        numbers = range(made, min(made + self._slice, self._most))
        if used >= MADE or not numbers:
            if made < LEAST_POPULATION:
                self.phase = CHAIN
                return
            self._members = np.stack(self._made)
            self._children, self._energies = np.empty_like(self._members), np.empty(made)
            self._ring = np.zeros(made, np.int64)
            self._mated = made  # what there is of a generation before the first
            self.phase = RECOMBINATION
            return
        for solution, found in self._spread(self._make, numbers, each):
            self._made.append(solution)
            self._compare(solution, found)
        self._count(len(numbers) * self._recombination.making)

    def _mate_some(self, used: float, each: Callable[..., Any]) -> None:
        size, before = len(self._members), self.best_energy
        if self._mated == size:
            if self._generation > 0:
                self._members[self._ring] = self._children
            draws = uniforms(np.array([self._ring_key]), self._generation, size)
            self._ring, self._mated = np.argsort(draws[:, 0]), 0
            self._generation, self._idle = self._generation + 1, self._idle + 1
        if used >= _RECOMBINED or self._idle > _IDLE:
            self.phase = CHAIN
            return
        places = range(self._mated, min(self._mated + _PAIRS * self._slice, size))
        self._spread(self._mate, places, each)
        self._mated = places.stop
        self._count(len(places) * self._recombination.mating)
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

    def _make(self, state: Any, numbers: range) -> list[tuple[NDArray[Any], float]]:
        made = []
        for number, key in zip(numbers, stream_keys(self._key, np.array(numbers)), strict=True):
            found = make(self._data, state, self._recombination.start(number, partial(start_draws, key)))
            made.append((state.best.copy(), found))
        return made

    def _mate(self, state: Any, places: range) -> list[None]:
        mate(
            self._data,
            state,
            self._members,
            self._ring,
            self._children,
            self._energies,
            self._mating_key,
            self._generation * _MOST,
            np.array(places),
        )
        return [None] * len(places)

    def _count(self, kicks: float) -> None:
        self._counted += kicks / self._chains
        self._ahead += kicks / self._chains
