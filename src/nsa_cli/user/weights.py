"""Weights of violations: how a chain weighs the rules that its solutions break.

A fixed weight is too small or too large. So a chain has one of its own, which rises while its solutions break
a rule and falls while they do not: it goes along the border between the two, as strategic oscillation does
(Glover 1986). Solutions rank by one weight for all, so large that a feasible one comes first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.user.kernels.rules import LEAST, LOWERED, MANY, RAISED, WEIGHT

#: Share of the steps that start at feasible solutions, to which weights of violations tend; and by how
#: much of themselves these change at a step, divided by the elements. Measured on routes of 100 customers:
#: shares of .1 to .6 differ little; twenty times as fast is 2 % worse, a tenth as fast 1 %.
_FEASIBLE, _PACE = 0.2, 0.005

#: Steps, divided by the elements, after which a chain that has met no feasible solution raises the weight
#: faster. Of eight tight sets of routes of 50 customers so many are feasible after 20,000 steps: with it all,
#: without it four; after 100,000 steps costs are the same.
_MANY = 200

#: The least weight of a violation, and logarithm to the base 2 of that by which solutions rank: in units of
#: the weight by which a random move changes cost and violation alike.
_LEAST, _RANKING = 1e-6, 20


def ranking(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights by which solutions rank, powers of 2, of those that chains begin with."""
    return np.asarray(2.0 ** np.ceil(np.log2(weights) + _RANKING))


def first_weights(weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Make the rows of weights that chains begin with, float64[B, 8]; see `nsa_cli.user.kernels.rules`."""
    rows = np.zeros((len(weights), 8))
    rows[:, WEIGHT], rows[:, LEAST] = weights, weights * _LEAST
    rows[:, RAISED], rows[:, LOWERED] = _FEASIBLE * _PACE / size, (1 - _FEASIBLE) * _PACE / size
    rows[:, MANY] = _MANY * size
    return rows


def mean_size(changes: NDArray[np.float64]) -> float:
    """Mean absolute value of changes that are no rounding errors; 1 where there are none."""
    sizes = np.abs(changes[np.isfinite(changes)])
    sizes = sizes[sizes > _ROUNDING * sizes.max()] if len(sizes) else sizes
    return float(sizes.mean()) if len(sizes) else 1.0


#: Changes below this share of the largest are rounding errors.
_ROUNDING = 1e-12
