"""Neighbourhoods of tours: 2-opt over all pairs of cities, and 2-opt over candidate lists."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance

if TYPE_CHECKING:
    from nsa_cli.kernels.hooks import Fused
    from nsa_cli.problems.tsp.two_opt.operations import NearestOperations, TspOperations

#: Fewest and most candidates of a city.
_FEWEST, _MOST = 2, 100

#: Where there is one tour.
_NOTHING_TO_DO = Budget(0, 1.0, 1.0)


class Paper(Neighbourhood[TspInstance]):
    """2-opt over all pairs of cities (section 4.4)."""

    def operations(self) -> TspOperations:
        from nsa_cli.problems.tsp.two_opt.operations import TspOperations

        return TspOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.tsp.two_opt.fused import fused

        return fused

    def default_policy(self, instance: TspInstance) -> str:
        return "uniform" if isinstance(instance, ClosedTour) else "tsp-es-best"

    def budget(self, instance: TspInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most, and temperatures in units of the spacing of N cities.

        Measured from greedy tours. Uniform proposals, N = 20 to 200: a short run wants a cool start, or it
        only undoes the start's work. A learnt policy, N = 20 to 1,000: the temperatures that it was trained
        with, as lengths between neighbours.
        """
        size = instance.size
        if size < 4:
            return _NOTHING_TO_DO
        if trained is not None:
            chains = _learnt_chains(size)
            # Features of all cities at each step: time grows with N.
            affordable = 1_000_000_000 // (size * chains)
            steps = max(min(max(10 * size**2, 2_000), affordable), 100)
            return Budget(steps, *_temperatures(trained, size), chains)
        steps = max(min(10 * size**2, 2_000_000), 2_000)
        spacing, chains = size**-0.5, max(min(4_000 // size, 16), 1)
        warm = 0.125 * (steps / size**2) ** 0.68
        return Budget(steps, min(max(warm, 0.02), 0.6) * spacing, 0.02 * spacing, chains)


class Nearest(Neighbourhood[TspInstance]):
    """2-opt that joins a city to one of its K nearest.

    Parameters
    ----------
    count : int
        K.
    """

    uses_candidate_lists = True

    def __init__(self, count: int) -> None:
        self.count, self.name = count, f"nearest:{count}"

    def operations(self) -> NearestOperations:
        from nsa_cli.problems.tsp.two_opt.operations import NearestOperations

        return NearestOperations(self.count)

    def kernel(self) -> Fused:
        from nsa_cli.problems.tsp.two_opt.fused import fused_of

        return fused_of(self.count)

    def default_policy(self, instance: TspInstance) -> str:
        return "uniform" if isinstance(instance, ClosedTour) else "tsp-es-nearest"

    def budget(self, instance: TspInstance, trained: Trained | None = None) -> Budget:
        """As for all pairs of cities, but a step costs the same at any size."""
        size = instance.size
        if size < 4:
            return _NOTHING_TO_DO
        steps = min(10 * size**2, max(300 * size, 100_000))
        heat = (0.5 * size**-0.5, 0.03 * size**-0.5)
        if trained is not None:
            heat = _temperatures(trained, size)
        return Budget(steps, *heat, chains=_learnt_chains(size))


def _temperatures(trained: Trained, size: int) -> tuple[float, float]:
    """Scale the temperatures of a training to the spacing of N cities."""
    closer = (trained.size / size) ** 0.5
    return trained.t_start * closer, trained.t_end * closer


def _learnt_chains(size: int) -> int:
    return max(min(2_000 // size, 8), 1)


#: The neighbourhood of K candidates, the same object each time.
nearest_cities = functools.cache(Nearest)


def parse(name: str) -> Nearest:
    """Read ``nearest:K``.

    Raises
    ------
    UsageError
        If it is something else, or K is out of range.
    """
    found = re.fullmatch(r"nearest:([0-9]{1,4})", name)
    if found is None or not _FEWEST <= int(found[1]) <= _MOST:
        known = f"there are paper and nearest:K with K from {_FEWEST} to {_MOST}"
        raise UsageError(f"there is no {shown(name)}; {known}", option="neighbourhood")
    return nearest_cities(int(found[1]))
