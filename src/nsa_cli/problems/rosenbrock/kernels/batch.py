"""Batches of Rosenbrock functions as arrays, and the standard deviations of proposals."""

from __future__ import annotations

from typing import Any, NamedTuple

#: Standard deviation of constant proposals: about the best for a ~ U(0, 1), b ~ U(0, 100) over 100 steps, by
#: the mean of the best value.
SIGMA = 0.3

#: Bounds of a learnt log sigma. Training shows a network few points far out, and what it makes of them is a
#: matter of luck: steps of 90, which are never accepted, or of 0.001, which lead nowhere. Starts spread by 1.
LOG_SIGMA = (-5.0, 0.0)


class RosenbrockBatch(NamedTuple):
    """Functions of one number of dimensions, as arrays or as tensors.

    Attributes
    ----------
    a, b : float64[B]
    scale : float64[B]
        1 unless a unit is given, as in the paper.
    """

    a: Any
    b: Any
    scale: Any
