"""Items by falling value per weight, and the break item: the first that no longer fits (Dantzig 1957)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.knapsack.instance import KnapsackInstance


def ratios(instance: KnapsackInstance) -> NDArray[np.float64]:
    """Value per weight, float64[N]; of items without weight infinite, or 0 if they have no value either."""
    values, weights = instance.values.astype(np.float64), instance.weights.astype(np.float64)
    weightless = np.where(values > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):  # next to nothing is nothing
        return np.divide(values, weights, out=weightless, where=weights > 0)


def by_ratio(instance: KnapsackInstance) -> NDArray[np.int64]:
    """Items by falling value per weight, int64[N]."""
    return np.argsort(-ratios(instance), kind="stable")


class BreakSolution(NamedTuple):
    """Items by falling value per weight, of which those before the break item are taken.

    Attributes
    ----------
    weightless : bool[N]
        Items that weigh nothing and are worth something, which are always taken.
    order : int64[M]
        The other items, without those that have no value or are too heavy.
    broken : int
        Position of the break item in `order`; M if all fit.
    """

    weightless: NDArray[np.bool_]
    order: NDArray[np.int64]
    broken: int


def break_solution(values: NDArray[Any], weights: NDArray[Any], capacity: int) -> BreakSolution:
    """Sort items, int64[N] or Python integers each, and find the break item."""
    order = np.flatnonzero((values > 0) & (weights > 0) & (weights <= capacity))
    order = order[np.argsort(-(values[order] / weights[order]).astype(np.float64), kind="stable")]
    broken = int(np.searchsorted(np.cumsum(weights[order]), capacity, side="right"))
    return BreakSolution((weights == 0) & (values > 0), order, broken)
