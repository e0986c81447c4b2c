"""Starting selections: empty, and greedy by value-to-weight ratio."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.knapsack.instance import KnapsackInstance


def empty(instance: KnapsackInstance, _: Draws) -> Solution:
    """Take nothing, the paper's start (Appendix A, Knapsack)."""
    return np.zeros(instance.size, dtype=bool)


def greedy(instance: KnapsackInstance, _: Draws) -> Solution:
    """Take items by falling value-to-weight ratio, skipping what does not fit.

    Or the most valuable single item that fits, if that alone is worth more; together they reach half of
    the optimum at least (Dantzig 1957; Martello and Toth 1990, section 2.4).
    """
    by_ratio = _fill(instance, np.argsort(-_ratios(instance), kind="stable"))
    fitting = np.flatnonzero(instance.exact.units <= instance.exact.capacity)
    if fitting.size:
        best = fitting[np.argmax(instance.values[fitting])]
        if instance.values[best] > instance.objective(by_ratio):
            rest = np.argsort(-_ratios(instance), kind="stable")
            return _fill(instance, np.concatenate([[best], rest[rest != best]]))
    return by_ratio


def _ratios(instance: KnapsackInstance) -> NDArray[np.float64]:
    """Value per weight; an item that weighs nothing comes first if it is worth anything."""
    values, weights = instance.values.astype(np.float64), instance.weights.astype(np.float64)
    free = np.where(values > 0, np.inf, 0.0)
    return np.divide(values, weights, out=free, where=weights > 0)


def _fill(instance: KnapsackInstance, order: NDArray[np.int64]) -> Solution:
    chosen = np.zeros(instance.size, dtype=bool)
    units, free = instance.exact.units.tolist(), instance.exact.capacity
    for i in order.tolist():
        if units[i] <= free:
            free -= units[i]
            chosen[i] = True
    return chosen
