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
    n = len(values)
    if n < 2 or np.isnan(values).any():
        return None
    return float(student_quantile((1 + level) / 2, n - 1) * values.std(ddof=1) / math.sqrt(n))


def student_quantile(probability: float, degrees: int) -> float:
    """Invert Student's distribution function for probabilities from 1/2 on, by bisection."""
    low, high = -math.pi / 2, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _student(middle, degrees) < probability else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def _student(angle: float, degrees: int) -> float:
    """Student's distribution function at ``sqrt(degrees) * tan(angle)`` (Abramowitz, Stegun 26.7.3, 4)."""
    squared, odd = math.cos(angle) ** 2, degrees % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= squared * k / (k + 1)
    sine = math.sin(angle) * total
    return 0.5 + ((angle + sine) / math.pi if odd else sine / 2)


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


def known(value: float) -> float | None:
    """Give a number, and None for one that is missing (NaN)."""
    return None if np.isnan(value) else float(value)
