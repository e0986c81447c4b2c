"""Large-step chains of tours: which instances they suit, budgets, and runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import CONSTRUCTION_SHARE, LEAST_POPULATION, LargeStepRun
from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.kicks import start_at
from nsa_cli.problems.tsp.large_step.partition import TourPartition, part_count
from nsa_cli.problems.tsp.large_step.population import TourPopulation, construction_kicks
from nsa_cli.problems.tsp.large_step.setup import LargeStepSettings, Setting, prepare

#: Fewer sites than this leave no room for kicks.
_LEAST = 13

#: Fewer nodes than this leave none in a closed tour that stands for another.
_LEAST_NODES = 8

#: The sizes with populations. Fewer cities are solved as well by a chain alone; the construction of a tour of
#: more takes half a second and longer, and an interrupt waits for it.
_POPULATED = range(150, 200_001)

#: Where cities lie close together a construction may take this share of its time as a rule.
_QUICK = 0.4


class TspLargeStep:
    """Large-step chains of tours; see `nsa_cli.core.problem.LargeStep`."""

    settings = LargeStepSettings()

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
        return Budget(kicks, 1.0, float(np.exp(-self.settings.decay)), chains)

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
                made[id(instance)] = prepare(
                    instance,
                    tour,
                    self.settings,
                    populated=_is_populated(instance.size, kicks),
                    fast_setup=fast_setup,
                )
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


def _goes_in_parts(instance: TspInstance) -> bool:
    """Tell whether one chain in parts does better than several chains; parts of a matrix are no smaller."""
    return instance.matrix is None and part_count(instance.size) > 1
