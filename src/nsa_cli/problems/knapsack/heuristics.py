"""Constructive heuristics of the knapsack: empty, greedy by value-to-weight ratio, random search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
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


def empty(instance: KnapsackInstance, _: Draws) -> Solution:
    """Take nothing, the paper's start (Appendix A, Knapsack)."""
    return np.zeros(instance.size, dtype=bool)


def greedy(instance: KnapsackInstance, _: Draws) -> Solution:
    """Take items by falling value-to-weight ratio, skipping those that do not fit.

    Or the most valuable single item that fits, if that alone is worth more; together they reach half of
    the optimum at least (Dantzig 1957; Martello and Toth 1990, section 2.4).
    """
    order = by_ratio(instance)
    chosen = _fill(instance, order)
    fitting = np.flatnonzero(instance.exact.units <= instance.exact.capacity)
    if fitting.size:
        best = fitting[np.argmax(instance.values[fitting])]
        if instance.values[best] > instance.objective(chosen):
            return _fill(instance, np.concatenate([[best], order[order != best]]))
    return chosen


def _fill(instance: KnapsackInstance, order: NDArray[np.int64]) -> Solution:
    chosen = np.zeros(instance.size, dtype=bool)
    units, free = instance.exact.units.tolist(), instance.exact.capacity
    for i in order.tolist():
        if units[i] <= free:
            free -= units[i]
            chosen[i] = True
    return chosen


def greedy_stop(instance: KnapsackInstance, _: Draws) -> Solution:
    """Take items by falling value-to-weight ratio up to the first that does not fit, the paper's "Greedy"."""
    order = by_ratio(instance)
    chosen = np.zeros(instance.size, dtype=bool)
    chosen[order[np.cumsum(instance.exact.units[order]) <= instance.exact.capacity]] = True
    return chosen


def random_search(instance: KnapsackInstance, draws: Draws) -> Solution:
    """Best of 10 N selections, each in random order, skipping items that do not fit."""
    rng = np.random.default_rng(int(draws(1)[0] * 2**53))
    tried = (_random_selections(instance, rng) for _ in range(10))
    worths = [(chosen @ instance.values.astype(np.float64), chosen) for chosen in tried]
    worth, chosen = max(worths, key=lambda pair: float(pair[0].max()))
    return chosen[worth.argmax()]


def _random_selections(instance: KnapsackInstance, rng: np.random.Generator) -> NDArray[np.bool_]:
    """N selections of random items, bool[N, N]; N at a time, so that memory stays at N^2."""
    units, size = instance.exact.units, instance.size
    orders = np.argsort(rng.random((size, size)), axis=1)
    chosen = np.zeros((size, size), dtype=bool)
    free = np.full(size, instance.exact.capacity, dtype=np.int64)
    for items in orders.T:
        fits = units[items] <= free
        free -= np.where(fits, units[items], 0)
        chosen[np.arange(size), items] = fits
    return chosen
