"""Reduced costs of edges in whole numbers, over some edges or over all pairs of cities.

A programme over tours has a dual value for each city and for each set of cities whose edges to other cities
are counted. The reduced cost of an edge is its length, less the values of its ends and of the sets that hold
one of them. With a city's value and those of its sets added up to its potential, only edges shorter than the
potentials of their ends need a look at the sets that they share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import Ints, KernelMetric, length

#: Places in `Scan.counts`: the next city, and how many edges there are.
CITY, EDGES = range(2)

#: Lengths from here on are of edges that are not there.
FAR = 1e300


class Duals(NamedTuple):
    """Whole dual values of cities and sets.

    Attributes
    ----------
    potentials : int64[N]
        A city's value and those of the sets that hold it.
    first : int64[N + 1]
        Where each city begins in `sets`.
    sets : int64[M]
        Sets that hold a city, in rising order.
    weights : int64[S]
        Values of the sets.
    """

    potentials: Ints
    first: Ints
    sets: Ints
    weights: Ints


class Scan(NamedTuple):
    """A scan of all edges; its arrays are changed in place.

    Attributes
    ----------
    negative : int64[N]
        Sum of the negative reduced costs of each city's edges to later ones.
    i, j, costs : int64[M]
        Edges whose reduced cost is below the limit.
    counts : int64[2]
    """

    negative: Ints
    i: Ints
    j: Ints
    costs: Ints
    counts: Ints


@kernel
def raise_potentials(duals: Duals) -> None:
    """Add the values of the sets to potentials that are those of the cities."""
    for city in range(len(duals.potentials)):
        for k in range(duals.first[city], duals.first[city + 1]):
            duals.potentials[city] += duals.weights[duals.sets[k]]


@kernel
def reduce_costs(duals: Duals, i: Ints, j: Ints, costs: Ints) -> None:
    """Turn lengths of edges into reduced costs."""
    for k in range(len(i)):
        near = costs[k] - duals.potentials[i[k]] - duals.potentials[j[k]]
        costs[k] = near + 2 * _shared(duals, i[k], j[k])


@kernel
def scan(metric: KernelMetric, unit: float, duals: Duals, limit: int, found: Scan, pairs: int) -> None:
    """Go on with a scan for about so many pairs of cities; edges for which there is no room are left out.

    Lengths are multiplied by a power of two and rounded down to whole numbers.
    """
    potentials, size = duals.potentials, len(duals.potentials)
    highest = max(limit, 0)
    while pairs > 0 and found.counts[CITY] < size:
        city, edges, negative = found.counts[CITY], found.counts[EDGES], np.int64(0)
        for other in range(city + 1, size):
            plain = length(metric, city, other) * unit
            if plain < FAR:
                cost = np.int64(math.floor(plain)) - potentials[city] - potentials[other]
                if cost < highest:
                    cost += 2 * _shared(duals, city, other)
                    negative += min(cost, 0)
                    if cost < limit and edges < len(found.i):
                        found.i[edges], found.j[edges], found.costs[edges] = city, other, cost
                        edges += 1
        found.negative[city] = negative
        found.counts[CITY], found.counts[EDGES] = city + 1, edges
        pairs -= size - city


@inlined
def _shared(duals: Duals, i: int, j: int) -> np.int64:
    """Add up the values of the sets that hold both cities."""
    first, sets, total = duals.first, duals.sets, np.int64(0)
    a, b = first[i], first[j]
    while a < first[i + 1] and b < first[j + 1]:
        if sets[a] == sets[b]:
            total += duals.weights[sets[a]]
            a += 1
            b += 1
        elif sets[a] < sets[b]:
            a += 1
        else:
            b += 1
    return total
