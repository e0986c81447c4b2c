"""The penalty of edges that are not there: no more than it takes, less than at first once a tour is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nsa_cli.core.problem import Draws
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.matrix import penalty
from nsa_cli.problems.tsp.starts import quick

#: The number of tours that are constructed to find one of edges that are there.
_TRIES = 8


def tightened(instance: TspInstance) -> TspInstance:
    """Lower the length that the matrix has for edges that are not there, for the sake of temperatures.

    A tour with such an edge stays longer than the shortest one without, if a quick heuristic finds any.
    """
    if instance.matrix is None or instance.absent is None or not instance.route.is_plain:
        return instance
    tours = (quick(instance, _first(k)) for k in range(_TRIES))
    known = [float(instance.objective(tour)) for tour in tours if instance.violation(tour) is None]
    if not known:
        return instance
    matrix = instance.matrix.copy()
    matrix[instance.absent] = penalty(matrix, instance.absent, min(known))
    return replace(instance, matrix=matrix)


def _first(k: int) -> Draws:
    """Give the draws of the k-th try."""
    return lambda count: np.full(count, (k + 0.5) / _TRIES)
