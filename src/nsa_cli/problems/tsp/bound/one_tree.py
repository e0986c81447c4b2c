"""The shortest 1-tree over all edges, in whole numbers, with memory linear in N.

A 1-tree is a spanning tree and one more edge. For *any* city, a shortest spanning tree and the city's second
lightest edge weigh no more than its shortest 1-tree: the tree on the other cities and the lightest edge span
everything too. So the heaviest second edge of a city may be added.

Prim's algorithm (1957) looks at all pairs, and finds every city's second edge on the way. Of many cities with
coordinates, Borůvka's (`nsa_cli.problems.tsp.kernels.boruvka`) finds the tree, and some second edges are
tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.bound.integer_lengths import scaled
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.boruvka import spanning_weight
from nsa_cli.problems.tsp.kernels.metric import KernelMetric
from nsa_cli.problems.tsp.kernels.one_tree import LAST, LEFT, Prim, grow, join
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, lowest_edges

#: Whole numbers in a matrix are no larger than this, or float64 would round them.
_WHOLE = 2.0**52

#: Pairs of cities between two calls of `stop`, and seconds that a pair takes: compiled, and as arrays.
_LOOK, _PAIR, _ARRAY_PAIR = 2e7, 3e-9, 3e-8

#: Cities beyond which Borůvka's algorithm is used, and seconds that each of them takes.
_MANY, _SEARCHED = 15_000, 6e-6

#: Cities at most whose second edge is then sought.
_TRIED = 20

#: Edges as two lists of cities.
Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


class ScaledCities(NamedTuple):
    """An instance's cities renumbered, and its lengths in whole multiples of ``2 ** -scale``.

    Attributes
    ----------
    instance : TspInstance
    scale : int
        See `nsa_cli.problems.tsp.bound.integer_lengths`.
    numbers : int64[N]
        The city of the file of each number.
    metric : KernelMetric
        Of the numbers.
    compiled : bool
        As `is_compiled` says.
    """

    instance: TspInstance
    scale: int
    numbers: NDArray[np.int64]
    metric: KernelMetric
    compiled: bool

    def lengths(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lengths of edges, rounded down."""
        return scaled(self.instance, self.scale, self.numbers[i], self.numbers[j])

    def with_edges(self, graph: Graph, *more: Edges) -> Graph:
        """Add edges to a graph of scaled lengths, each once."""
        size = len(self.numbers)
        known = np.repeat(np.arange(size), np.diff(graph.first)), graph.to
        i, j = (np.concatenate(ends) for ends in zip(known, *more, strict=True))
        keys = np.unique(np.concatenate([i * size + j, j * size + i])[np.tile(i != j, 2)])
        i, j = keys // size, keys % size
        return Graph(np.searchsorted(i, np.arange(size + 1)), j, self.lengths(i, j).astype(np.float64))


class OneTree(NamedTuple):
    """The shortest 1-tree of the complete graph.

    Attributes
    ----------
    total : int
        Its weight, less twice the potentials, in scaled units.
    edges : (int64[E], int64[E]) or None
        Its tree, and each city's two lightest edges; None of many cities.
    """

    total: int
    edges: Edges | None


def one_tree(
    cities: ScaledCities,
    graph: Graph,
    potentials: NDArray[np.int64],
    stop: Callable[[], bool] = lambda: False,
) -> OneTree | None:
    """Find the shortest 1-tree of the complete graph.

    Parameters
    ----------
    cities : ScaledCities
    graph : Graph
        Some edges with scaled lengths, two a city or more.
    potentials : int64[N]
        Of at most 49 bits, beside which lengths have 46.
    stop : callable
        Ends the search when it says True.

    Returns
    -------
    OneTree or None
        None if it was stopped.
    """
    size, most = len(potentials), np.iinfo(np.int64).max
    if is_searched(cities.instance, compiled=cities.compiled):
        return _one_tree_of_many(cities, graph, potentials, stop)
    weights, lightest, second = (np.full(size, most) for _ in range(3))
    weights[0] = 0
    left = np.roll(np.arange(size), -1)
    ends, row = np.zeros((size, 3), np.int64), np.empty(size, np.int64)
    prim = Prim(potentials, weights, ends, lightest, second, left, row, np.array([0, size - 1]))
    while (count := int(prim.counts[LEFT])) > 0:
        if stop():
            return None
        if cities.compiled:
            grow(cities.metric, math.ldexp(1.0, cities.scale), prim, int(_LOOK) // count + 1)
        else:
            row[:count] = cities.lengths(np.full(count, prim.counts[LAST]), left[:count])
            join(prim)
    total = sum(weights.tolist()) + int(second.max()) - 2 * sum(potentials.tolist())
    return OneTree(total, (np.repeat(np.arange(size), 3), ends.ravel()))


def _one_tree_of_many(
    cities: ScaledCities, graph: Graph, potentials: NDArray[np.int64], stop: Callable[[], bool]
) -> OneTree | None:
    """Add the heaviest second edge of the cities whose second edge in the graph is heavy."""
    size = len(potentials)
    weight = spanning_weight(cities.metric, math.ldexp(1.0, cities.scale), graph, potentials, stop)
    if weight is None:
        return None
    owner = np.repeat(np.arange(size), np.diff(graph.first))
    weights = graph.lengths + potentials[owner] + potentials[graph.to]
    second = weights[lowest_edges(graph, weights, 2)[1][1::2]]
    heaviest = -math.inf
    for city in np.argsort(-second)[:_TRIED]:
        if second[city] <= heaviest:
            break
        others = np.delete(np.arange(size), city)
        row = cities.lengths(np.full(size - 1, city), others) + potentials[city] + potentials[others]
        heaviest = max(heaviest, int(np.partition(row, 1)[1]))
    return OneTree(weight + heaviest - 2 * sum(potentials.tolist()), None)


def is_compiled(instance: TspInstance) -> bool:
    """Tell whether kernels have an instance's lengths to the last bit.

    Whole numbers beyond 52 bits are none of float64, and trigonometry may differ where no matrix holds it.
    """
    if instance.matrix is not None:
        return bool(abs(instance.matrix).max() <= _WHOLE)
    return instance.edge_weight_type != "GEO" or instance.size <= 2_000


def is_searched(instance: TspInstance, *, compiled: bool) -> bool:
    """Tell whether Borůvka's algorithm finds the tree."""
    return compiled and instance.matrix is None and instance.size > _MANY


def least_seconds(instance: TspInstance, *, compiled: bool) -> float:
    """Estimate the time that a 1-tree takes."""
    if is_searched(instance, compiled=compiled):
        return _SEARCHED * instance.size
    return (_PAIR if compiled else _ARRAY_PAIR) * instance.size**2
