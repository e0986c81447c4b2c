"""Large-step chains as the loop between chunks wants them; a step is a kick with its repair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Budget
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.large_step import (
    ACCEPTED,
    BEST,
    CURRENT,
    KICKS,
    LargeStepState,
    advance,
    settle,
    settled_as,
    start_at,
)
from nsa_cli.problems.tsp.large_step_setup import LargeStepSettings, Setting, prepare
from nsa_cli.problems.tsp.local_search import QUEUED
from nsa_cli.problems.tsp.surroundings import is_measurable

#: Fewer sites than this leave no room for kicks.
_LEAST = 13

#: Up to this many cities, independent runs of a share of the budget beat one long run.
_RUNS_UP_TO, _RUNS = 150, 4

#: But each of these runs is to have at least so many seconds a city.
_RUN_SECONDS = 40e-6

#: Cities of the first local search between two looks at the clock.
_SETTLE = 2000


class TspLargeStep:
    """What `nsa_cli.backends` asks of a problem that has large-step chains."""

    settings = LargeStepSettings()

    def fits(self, instance: TspInstance) -> bool:
        """Tell whether there are enough cities apart, at finite distances; nothing is compiled for that."""
        if instance.size < _LEAST or not is_measurable(instance):
            return False
        if instance.matrix is not None:
            return True
        some = instance.measured[: 8 * _LEAST]  # as a rule they tell
        return any(len(np.unique(points, axis=0)) >= _LEAST for points in (some, instance.measured))

    def budget(self, instance: TspInstance) -> Budget:
        """Some seconds at most, and far less for few cities.

        Temperatures are in units of the mean distance of a city to its nearest neighbour. Measured on uniform
        cities: from a thousand kicks a city on, twice as many gain less than 0.01 %.
        """
        kicks = int(np.clip(150 * instance.size, 5_000, 150_000))
        chains = _RUNS if instance.size <= _RUNS_UP_TO else 2
        return Budget(kicks, 1.0, float(np.exp(-self.settings.decay)), chains)

    def chains(self, instance: TspInstance, seconds: float, threads: int) -> int:
        """Choose the number of chains for a time limit: a multiple of the threads."""
        if instance.size > _RUNS_UP_TO:
            return threads
        runs = max(min(int(seconds * threads / _RUN_SECONDS / instance.size), _RUNS), 1)
        return -(-runs // threads) * threads

    def start(
        self, instances: Sequence[TspInstance], x: NDArray[Any], keys: NDArray[np.int64], threads: int
    ) -> LargeStepChains:
        """Put chains at their first tours."""
        return LargeStepChains(instances, x, keys, self.settings, threads)


class LargeStepChains:
    """Chains between two chunks; see `nsa_cli.anneal.loop.Chains`.

    Parameters
    ----------
    instances : sequence of TspInstance
        One a chain.
    x : int64[B, N]
        First tours.
    keys : int64[B]
        Random streams.
    settings : LargeStepSettings
    threads : int
    """

    #: Temperatures of a chunk are an array: it may have some, but not too many.
    most = 1 << 16

    def __init__(
        self,
        instances: Sequence[TspInstance],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        settings: LargeStepSettings,
        threads: int,
    ) -> None:
        self.step = 0
        self._instances, self._first, self._keys = instances, x, keys
        self._ready: list[Setting] = []
        self._states: list[LargeStepState] = []
        #: Of each chain the first one of the same instance and tour: the two go down alike.
        self._leader: list[int] = []
        prepared: dict[int, Setting] = {}
        made: dict[tuple[int, bytes], int] = {}
        for row, (instance, tour) in enumerate(zip(instances, x, strict=True)):
            if id(instance) not in prepared:
                prepared[id(instance)] = prepare(instance, tour, settings)
            setting = prepared[id(instance)]
            setting = setting._replace(order=setting.sites.order(tour))
            self._ready.append(setting)
            self._states.append(start_at(setting.cities, setting.order))
            self._leader.append(made.setdefault((id(instance), tour.tobytes()), row))
        self._pool = ThreadPoolExecutor(min(threads, len(keys))) if min(threads, len(keys)) > 1 else None

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Take all chains through so many kicks, or through part of their first descent: that is no step."""
        if any(state.chain.counts[QUEUED] for state in self._states):
            self._descend()
            return
        self._each(lambda row: self._kick(row, temperatures), range(len(self._states)))
        self.step += len(temperatures)

    def _each(self, work: Callable[[int], None], rows: Iterable[int]) -> None:
        if self._pool is None:
            for row in rows:
                work(row)
        else:
            list(self._pool.map(work, rows))

    def _descend(self) -> None:
        """Go down with those that lead; who would go the same way is put where they end."""
        leaders = [k for k in set(self._leader) if self._states[k].chain.counts[QUEUED]]
        self._each(self._settle, leaders)
        for row, leader in enumerate(self._leader):
            if row != leader and not self._states[leader].chain.counts[QUEUED]:
                self._states[row] = settled_as(self._states[leader])

    def _settle(self, row: int) -> None:
        settle(self._ready[row].cities, self._states[row], self._ready[row].depth, _SETTLE)

    def _kick(self, row: int, temperatures: NDArray[np.float64]) -> None:
        setting = self._ready[row]
        advance(
            setting.cities,
            self._states[row],
            int(self._keys[row]),
            setting.scale * temperatures,
            setting.depth,
            setting.longest,
        )

    @property
    def x(self) -> NDArray[Any]:
        return self._tours(lambda state: state.chain.order)

    @property
    def best(self) -> NDArray[Any]:
        tours = self._tours(lambda state: state.best)
        for row, (instance, setting) in enumerate(zip(self._instances, self._ready, strict=True)):
            # Cities on the same place are one here; where lengths are rounded, a start can still be shorter.
            some_are_one = len(setting.order) < instance.size
            if some_are_one and instance.objective(self._first[row]) < instance.objective(tours[row]):
                tours[row] = self._first[row]
        return tours

    def _tours(self, order: Callable[[LargeStepState], NDArray[np.uint32]]) -> NDArray[Any]:
        pairs = zip(self._ready, self._states, strict=True)
        return np.stack([setting.sites.tour(order(state)) for setting, state in pairs])

    @property
    def energy(self) -> NDArray[np.float64]:
        return np.array([state.costs[CURRENT] for state in self._states])

    @property
    def walk_energy(self) -> NDArray[np.float64]:
        return self.energy

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return np.array([state.costs[BEST] for state in self._states])

    @property
    def accepted(self) -> NDArray[np.int64]:
        return np.array([state.counts[ACCEPTED] for state in self._states])

    @property
    def kicks(self) -> NDArray[np.int64]:
        """Kicks of each chain, int64[B]."""
        return np.array([state.counts[KICKS] for state in self._states])
