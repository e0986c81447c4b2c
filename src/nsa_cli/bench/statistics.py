"""Means, their errors and distances, as pure functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import relative_gap

Sense = Literal["min", "max"]


def half_width(values: NDArray[np.float64], level: float = 0.95) -> float | None:
    """Half the width of the confidence interval of a mean, by Student's t; None for fewer than two values.

    Parameters
    ----------
    values : float64[n]
        Independent, such as the means of n instances over the seeds.
    level : float
    """
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return None
    return float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / math.sqrt(n))


def spread(values: NDArray[np.float64]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def relative_gaps(
    objectives: NDArray[np.float64], references: NDArray[np.float64], sense: Sense
) -> NDArray[np.float64]:
    """Distances from references, relative to them; positive is worse, NaN where there is none.

    Parameters
    ----------
    objectives, references : float64[n]
    sense : {'min', 'max'}
    """
    pairs = zip(objectives.tolist(), references.tolist(), strict=True)
    gaps = (relative_gap(ours, reference, sense) for ours, reference in pairs)
    return np.array([np.nan if gap is None else gap for gap in gaps])


def mean(values: NDArray[np.float64]) -> float | None:
    """Mean; None if there is nothing to average, or a value is missing."""
    return None if len(values) == 0 or np.isnan(values).any() else float(values.mean())


def better_by(ours: float, theirs: float, sense: Sense) -> float:
    """Tell by how much we are better than others, whatever the sense; negative if worse."""
    return theirs - ours if sense == "min" else ours - theirs


def best_of(objectives: Sequence[NDArray[np.float64]], sense: Sense) -> NDArray[np.float64]:
    """Best objective of each instance among several runs over the same instances, float64[n]."""
    stacked = np.stack(list(objectives))
    best: NDArray[np.float64] = stacked.min(axis=0) if sense == "min" else stacked.max(axis=0)
    return best
