"""Starts of a population of tours: noisy greedy edge tours, which differ in their global structure."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Draws
from nsa_cli.problems.tsp.greedy_edge import NoisyGreedy
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.edge_assembly import new_assembly
from nsa_cli.problems.tsp.kernels.kicks import Kicked, Tours, start_at

#: Lengths are multiplied by exp(noise); this is the standard deviation of the noise. Measured: from .5 to .7
#: it is all one.
_NOISE = 0.5

#: The construction of a tour takes as long as so many kicks, in any case and for each city.
_CONSTRUCTION_KICKS = (3.0, 0.035)

#: The crossover of two tours takes as long as so many kicks, in any case and for each city.
_CROSSOVER_KICKS = (0.1, 0.0007)


def construction_kicks(size: int) -> float:
    """Count the kicks that take as long as the construction of a tour of so many cities."""
    least, each = _CONSTRUCTION_KICKS
    return least + each * size


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
        least, each = _CROSSOVER_KICKS
        self.construction_kicks, self.crossover_kicks = (
            construction_kicks(self.size),
            least + each * self.size,
        )
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
