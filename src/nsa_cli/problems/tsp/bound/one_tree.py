"""The shortest 1-tree over all edges, in whole numbers, with memory linear in the number of cities.

A 1-tree is a spanning tree and one more edge. For *any* city, a shortest spanning tree and the city's second
lightest edge weigh no more than its shortest 1-tree: the tree on the other cities and the lightest edge span
everything too. So the heaviest second edge of a city may be added.

Up to some thousand cities Prim's algorithm looks at all pairs. Beyond, a tree on few edges bounds the edges
that matter, and near pairs are listed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, inlined
from nsa_cli.problems.tsp.bound.integer_lengths import scaled
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.metric_kernel import KernelMetric, length
from nsa_cli.problems.tsp.spanning_tree import Graph, Tree, grow_tree, new_tree

#: Cities up to which all pairs are looked at, a block of so many at a time.
ALL_PAIRS, _BLOCK = 6_000, 2**18

#: Whole numbers in a matrix are no larger than this, or float64 would round them.
_WHOLE = 2.0**52

#: Pairs a city that may be listed beside the graph's edges, at least and at most, and seconds a pair takes.
_LISTED, _PAIR_SECONDS = (30, 350), 3e-7

#: Classes of cities of like potential, which are searched for near pairs with a radius of their own.
_CLASSES = 12

#: Quantiles of a tree's edges at which it is taken apart.
_LEVELS = (0.5, 0.9, 0.99, 0.999, 1.0)

#: Edges a city that are listed before they are weeded out.
_MANY = 20

#: Lightest edges of a city that are reported.
_LIGHTEST = 6

#: Edges as two lists of cities.
Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


class Cities(NamedTuple):
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
    """

    instance: TspInstance
    scale: int
    numbers: NDArray[np.int64]
    metric: KernelMetric

    def lengths(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lengths of edges, rounded down."""
        return scaled(self.instance, self.scale, self.numbers[i], self.numbers[j])

    def with_edges(self, graph: Graph, *more: Edges) -> Graph:
        """Add edges to a graph of scaled lengths, each once."""
        size = len(graph.first) - 1
        i, j = (np.concatenate(ends) for ends in zip(_ends(graph), *more, strict=True))
        keys = np.unique((np.minimum(i, j) * size + np.maximum(i, j))[i != j])
        i, j = keys // size, keys % size
        order = np.argsort(np.concatenate([i, j]), kind="stable")
        first = np.searchsorted(np.concatenate([i, j])[order], np.arange(size + 1))
        lengths = np.tile(self.lengths(i, j).astype(np.float64), 2)
        return Graph(first, np.concatenate([j, i])[order], lengths[order])


class OneTree(NamedTuple):
    """The shortest 1-tree of the complete graph.

    Attributes
    ----------
    total : int
        Its weight, less twice the potentials, in scaled units.
    cut : float
        What it may lack because edges were taken to weigh no more than a limit.
    edges : (int64[E], int64[E])
        Its tree, and light edges of each city.
    """

    total: int
    cut: float
    edges: Edges


def one_tree(
    cities: Cities, graph: Graph, potentials: NDArray[np.int64], end: float, stop: Callable[[], bool]
) -> OneTree | None:
    """Weigh the shortest 1-tree of the complete graph.

    Parameters
    ----------
    cities : Cities
    graph : Graph
        Some edges, with scaled lengths, that connect all cities.
    potentials : int64[N]
        Of at most 49 bits, beside which lengths have 46.
    end, stop
        Time by `time.monotonic`, and callable, that end the search for near pairs.
    """
    if is_dense(cities.instance):
        edges, near, second = _prim(cities.metric, math.ldexp(1.0, cities.scale), potentials)
        total = sum(edges.tolist()) + int(second) - 2 * sum(potentials.tolist())
        return OneTree(total, 0.0, (np.repeat(np.arange(len(near)), 3), near.ravel()))
    return _listed(cities, graph, potentials, end, stop)


def is_dense(instance: TspInstance) -> bool:
    """Tell whether all pairs are looked at, by formulas that kernels have to the last bit."""
    if not 3 <= instance.size <= ALL_PAIRS or not instance.has_finite_lengths:
        return False
    if instance.matrix is not None:
        return bool(abs(instance.matrix).max() <= _WHOLE)
    # Trigonometry may differ in the last bit, where a matrix does not hold it.
    return instance.edge_weight_type != "GEO" or instance.size <= 2_000


@allocating
def _prim(
    metric: KernelMetric, unit: float, potentials: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], np.int64]:
    """Find the shortest spanning tree over all edges (Prim 1957), and the heaviest second edge of a city.

    Parameters
    ----------
    metric : KernelMetric
    unit : float
        Lengths are multiplied by this power of two and rounded down to whole numbers.
    potentials : int64[N]

    Returns
    -------
    edges : int64[N]
        Weights of the tree's edges, the first of which is none and 0.
    near : int64[N, 3]
        Each city's neighbour in the tree, where it joined, and the ends of its two lightest edges.
    second : int64
    """
    size = len(potentials)
    most = np.iinfo(np.int64).max
    edges, near = np.full(size, most), np.zeros((size, 3), np.int64)
    lightest, second = np.full(size, most), np.full(size, most)
    left = np.arange(size)
    edges[0] = 0
    city, count = 0, size - 1
    left[0] = left[count]
    while count > 0:
        nearest, at = most, 0
        for k in range(count):
            other = left[k]
            whole = np.int64(math.floor(length(metric, city, other) * unit))
            weight = whole + potentials[city] + potentials[other]
            _note(lightest, second, near, city, other, weight)
            _note(lightest, second, near, other, city, weight)
            if weight < edges[other]:
                edges[other], near[other, 0] = weight, city
            if edges[other] < nearest:
                nearest, at = edges[other], k
        city = left[at]
        count -= 1
        left[at] = left[count]
    return edges, near, second.max()


@inlined
def _note(
    lightest: NDArray[np.int64],
    second: NDArray[np.int64],
    near: NDArray[np.int64],
    city: int,
    other: int,
    weight: int,
) -> None:
    """Keep a city's two lightest edges."""
    if weight < lightest[city]:
        second[city], near[city, 2] = lightest[city], near[city, 1]
        lightest[city], near[city, 1] = weight, other
    elif weight < second[city]:
        second[city], near[city, 2] = weight, other


def _listed(
    cities: Cities, graph: Graph, potentials: NDArray[np.int64], end: float, stop: Callable[[], bool]
) -> OneTree | None:
    """Find the 1-tree among listed edges.

    A first tree on the graph bounds the edges that matter: those lighter than its heaviest. They are all
    listed, and the tree of what is listed is the tree of everything. Where that would list too many, every
    edge is taken to weigh no more than a lower limit, and the result is still a bound.
    """

    def weigh(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.int64]:
        return cities.lengths(i, j) + potentials[i] + potentials[j]

    size = len(potentials)
    tree = _tree(graph, potentials)
    limit, pairs = _lighter_pairs(cities, potentials, tree.edge[1:], end, stop)
    light = limit
    listed: list[Edges] = []
    levels = _levels(tree)
    for a, b in pairs:
        if stop():
            return None
        pair_weights = weigh(a, b)
        useful = pair_weights < light
        for least, component in levels:
            # Cities that are already connected by lighter edges gain nothing from the pair.
            useful &= (pair_weights < least) | (component[a] != component[b])
        listed.append((a[useful], b[useful]))
        if sum(len(ends[0]) for ends in listed) > _MANY * size:
            # The tree of what was listed stands for it, and leaves less to be listed.
            tree = _tree(cities.with_edges(graph, _ends(tree), *listed), potentials)
            listed, light = [], min(light, int(tree.edge.max()))
    whole = cities.with_edges(graph, _ends(tree), *listed)
    tree = _tree(whole, potentials)
    spans = tree.edge[1:].astype(np.int64)
    spanning = sum(np.minimum(spans, limit).tolist())
    cut = float(np.maximum(spans - limit, 0).sum(dtype=np.float64))
    i, j = _ends(whole)
    weights = whole.lengths + potentials[i] + potentials[j]
    order = np.lexsort((weights, i))
    heavy = np.argsort(-weights[order[whole.first[:-1] + 1]])[:5]
    others = np.arange(size)
    second = max(int(np.partition(weigh(np.full(size - 1, c), others[others != c]), 1)[1]) for c in heavy)
    rank = np.arange(len(order)) - np.repeat(whole.first[:-1], np.diff(whole.first))
    few = order[rank < _LIGHTEST]
    parent = _ends(tree)
    edges = np.concatenate([i[few], parent[0]]), np.concatenate([j[few], parent[1]])
    return OneTree(spanning + second - 2 * sum(potentials.tolist()), cut, edges)


def _tree(graph: Graph, potentials: NDArray[np.int64]) -> Tree:
    tree = new_tree(len(potentials))
    grow_tree(graph, potentials.astype(np.float64), tree)
    return tree


def _ends(edges: Graph | Tree) -> Edges:
    """Both ends of all edges of a graph, in both directions, or of a tree."""
    if isinstance(edges, Graph):
        return np.repeat(np.arange(len(edges.first) - 1), np.diff(edges.first)), edges.to
    return np.arange(1, len(edges.parent)), edges.parent[1:]


def _levels(tree: Tree) -> list[tuple[int, NDArray[np.int32]]]:
    """Take a tree apart at some weights: the weight, and which component each city is then in."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    size, levels = len(tree.parent), []
    (i, j), weights = _ends(tree), tree.edge[1:]
    for least in sorted({int(x) for x in np.quantile(weights, _LEVELS)}):
        kept = weights <= least
        links = csr_matrix((np.ones(kept.sum()), (i[kept], j[kept])), shape=(size, size))
        levels.append((least, connected_components(links, directed=False)[1]))
    return levels


def _lighter_pairs(
    cities: Cities,
    potentials: NDArray[np.int64],
    tree: NDArray[np.float64],
    end: float,
    stop: Callable[[], bool],
) -> tuple[int, Iterator[Edges]]:
    """Choose the highest limit that there is time for, and list a superset of the pairs that weigh less."""
    heaviest, size = int(tree.max()), len(potentials)
    if cities.instance.matrix is not None or size <= ALL_PAIRS:
        return heaviest, _all_pairs(size)
    near = _NearPairs(cities, potentials)
    fewest, most = (pairs * size for pairs in _LISTED)
    affordable = min(max((end - time.monotonic()) / _PAIR_SECONDS, fewest), most)
    for quantile in (1.0, 0.9998, 0.9995, 0.999, 0.995, 0.99, 0.95, 0.8):
        limit = int(np.quantile(tree, quantile))
        if stop() or near.count(limit, stop) <= affordable:
            return limit, near.pairs(limit)
    lightest = int(tree.min())
    return lightest, near.pairs(lightest)


def _all_pairs(size: int) -> Iterator[Edges]:
    rows = max(_BLOCK // size, 1)
    for first in range(0, size, rows):
        i, j = np.indices((min(rows, size - first), size)).reshape(2, -1)
        yield (i + first)[j > i + first], j[j > i + first]


class _NearPairs:
    """Pairs of cities that may weigh less than a limit, found by k-d trees.

    Cities of like potentials share a k-d tree, so that a few very attractive ones do not make all look far.
    """

    def __init__(self, cities: Cities, potentials: NDArray[np.int64]) -> None:
        from scipy.spatial import cKDTree

        self.instance, self.scale = cities.instance, cities.scale
        points = cities.instance.points[cities.numbers]
        self.members = [m for m in np.array_split(np.argsort(potentials, kind="stable"), _CLASSES) if m.size]
        self.lowest = [int(potentials[m].min()) for m in self.members]
        self.trees = [cKDTree(points[m]) for m in self.members]

    def _radius(self, a: int, b: int, limit: int) -> float:
        """Distance of points beyond which no pair of two classes weighs less than a limit."""
        length = math.ldexp(float(limit - self.lowest[a] - self.lowest[b] + 1), -self.scale)
        return _reach(self.instance, length)

    def _class_pairs(self) -> Iterator[tuple[int, int]]:
        return ((a, b) for a in range(len(self.trees)) for b in range(a + 1))

    def count(self, limit: int, stop: Callable[[], bool]) -> int:
        """Tell how many pairs `pairs` lists, until `stop` says True."""
        total = 0
        for a, b in self._class_pairs():
            radius = self._radius(a, b, limit)
            if radius >= 0 and not stop():
                found = int(self.trees[a].count_neighbors(self.trees[b], radius))
                total += (found - len(self.members[a])) // 2 if a == b else found
        return total

    def pairs(self, limit: int) -> Iterator[Edges]:
        for a, b in self._class_pairs():
            radius = self._radius(a, b, limit)
            if radius < 0:
                continue
            if a == b:
                found = self.trees[a].query_pairs(radius, output_type="ndarray")
                yield self.members[a][found[:, 0]], self.members[a][found[:, 1]]
            else:
                near = self.trees[a].sparse_distance_matrix(self.trees[b], radius, output_type="ndarray")
                yield self.members[a][near["i"]], self.members[b][near["j"]]


def _reach(instance: TspInstance, length: float) -> float:
    """How far apart the points of two cities can be whose edge is shorter than a length."""
    metric = instance.metric
    assert metric is not None
    generous = 1 + 1e-9
    if metric.per_unit is None:  # chords of the globe of radius 1 that GEO uses, which rounds up
        return 2 * math.sin(min(max(length, 0.0) / 6378.388, math.pi) / 2) * generous if length > 0 else -1.0
    rounding = 1.0 if metric.rounded else 0.0
    # The largest difference of coordinates may be all there is to a length.
    spread = math.sqrt(metric.axes) if instance.edge_weight_type.startswith("MAX") else 1.0
    return (length + rounding) * spread / metric.per_unit * generous
