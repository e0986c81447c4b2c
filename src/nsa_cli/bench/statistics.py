"""Means, confidence intervals and gaps, as pure functions."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import relative_gap

Sense = Literal["min", "max"]

#: Gaps below this are rounding: a sum of the same numbers in another order.
_SAME = 1e-12


def half_width(values: NDArray[np.float64], level: float = 0.95) -> float | None:
    """Half the width of the confidence interval of a mean, by Student's t.

    Parameters
    ----------
    values : float64[n]
        Independent, such as the means of n instances over the seeds.
    level : float

    Returns
    -------
    float or None
        None for fewer than two values, or where one is missing (NaN).
    """
    from scipy.special import stdtrit

    n = len(values)
    if n < 2 or np.isnan(values).any():
        return None
    return float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))


def spread(values: NDArray[np.float64]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def relative(objective: float, reference: float, sense: Sense) -> float:
    """Gap to a reference, relative to it; positive is worse, NaN where nothing is relative to 0."""
    gap = relative_gap(objective, reference, sense)
    return float("nan") if gap is None else gap if abs(gap) >= _SAME else 0.0


def means_by(keys: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of the values of each key, in the order of the keys."""
    return np.array([values[keys == key].mean() for key in np.unique(keys)])


def mean(values: NDArray[np.float64]) -> float | None:
    """Mean; None if there is nothing to average, or a value is missing (NaN)."""
    return None if len(values) == 0 or np.isnan(values).any() else float(values.mean())


def better_by(ours: float, theirs: float, sense: Sense) -> float:
    """Difference to another objective, positive if ours is better, whatever the sense."""
    return theirs - ours if sense == "min" else ours - theirs
