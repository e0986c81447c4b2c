"""Large-step chains as the loop between chunks wants them; a step is a kick with its repair."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Budget
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.large_step import ACCEPTED, BEST, CURRENT, KICKS, advance, settle, start_at
from nsa_cli.problems.tsp.large_step_solver import (
    RUNS,
    RUNS_UP_TO,
    SETTLE,
    LargeStepSettings,
    Setting,
    Sites,
    is_measurable,
    prepare,
    sites_of,
)
from nsa_cli.problems.tsp.local_search import QUEUED

#: Fewer sites than this leave no room for kicks.
_LEAST = 13


class TspLargeStep:
    """What `nsa_cli.backends` asks of a problem that has large-step chains."""

    settings = LargeStepSettings()

    def fits(self, instance: TspInstance) -> bool:
        """Tell whether there are enough cities, at finite distances."""
        return (
            instance.size >= _LEAST and is_measurable(instance) and len(sites_of(instance).numbers) >= _LEAST
        )

    def budget(self, instance: TspInstance) -> Budget:
        """Some seconds at most, and far less for few cities.

        Temperatures are in units of the mean distance of a city to its nearest neighbour. Measured on uniform
        cities: from a thousand kicks a city on, twice as many gain less than 0.01 %.
        """
        kicks = int(np.clip(150 * instance.size, 5_000, 150_000))
        chains = RUNS if instance.size <= RUNS_UP_TO else 2
        return Budget(kicks, 1.0, float(np.exp(-self.settings.decay)), chains)

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
        made: dict[int, tuple[Sites, Setting]] = {}
        self._ready: list[tuple[Sites, Setting]] = []
        for instance, tour in zip(instances, x, strict=True):
            if id(instance) not in made:
                sites = sites_of(instance)
                made[id(instance)] = sites, prepare(instance, sites, tour, settings)
            sites, setting = made[id(instance)]
            self._ready.append((sites, setting._replace(order=sites.order(tour))))
        self._states = [start_at(setting.cities, setting.order) for _, setting in self._ready]
        self._threads = min(threads, len(keys))

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Take all chains through so many kicks, or through part of their first descent: that is no step."""
        descending = [k for k, s in enumerate(self._states) if s.chain.counts[QUEUED]]
        if descending:
            self._each(self._descend, descending)
            return
        self._each(lambda k: self._kick(k, temperatures), range(len(self._states)))
        self.step += len(temperatures)

    def _each(self, work: Any, rows: Any) -> None:
        if self._threads == 1:
            for row in rows:
                work(row)
            return
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, rows))

    def _descend(self, row: int) -> None:
        setting = self._ready[row][1]
        settle(setting.cities, self._states[row], setting.depth, SETTLE)

    def _kick(self, row: int, temperatures: NDArray[np.float64]) -> None:
        setting = self._ready[row][1]
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
        for row, instance in enumerate(self._instances):
            # Cities on the same place are one here; where lengths are rounded, a start can still be shorter.
            if instance.objective(self._first[row]) < instance.objective(tours[row]):
                tours[row] = self._first[row]
        return tours

    def _tours(self, order: Any) -> NDArray[Any]:
        return np.stack([s[0].tour(order(state)) for s, state in zip(self._ready, self._states, strict=True)])

    @property
    def energy(self) -> NDArray[np.float64]:
        return np.array([state.costs[CURRENT] for state in self._states])

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
