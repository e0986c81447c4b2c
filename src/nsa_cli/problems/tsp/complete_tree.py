"""The 1-tree bound of Held and Karp over all edges, with memory linear in the number of cities."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.heuristics import positions
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.sparse_graph import Edges, Graph, Tree, make_graph, second_edges, spanning_tree
from nsa_cli.problems.tsp.whole_lengths import scaled

#: Cities up to which all pairs are looked at, a block of so many at a time.
ALL_PAIRS, _BLOCK = 6_000, 2**18

#: Pairs a city that may be listed beside the candidates, at least and at most, and seconds a pair takes.
_LISTED, _PAIR_SECONDS = (30, 350), 3e-7

#: Classes of cities of like potential, which are searched for near pairs with a radius of their own.
_CLASSES = 12

#: Quantiles of a tree's edges at which it is taken apart.
_LEVELS = (0.5, 0.9, 0.99, 0.999, 1.0)

#: Edges a city that are listed before they are weeded out.
_MANY = 20


class Whole(NamedTuple):
    """The 1-tree of the complete graph.

    Attributes
    ----------
    total : int
        Its weight, less twice the potentials, in scaled units.
    cut : float
        What it may lack because edges were taken to weigh no more than a limit.
    graph : Graph
        Edges among which it is, with their `weights` int64[E].
    tree : Tree
    """

    total: int
    cut: float
    graph: Graph
    weights: NDArray[np.int64]
    tree: Tree


def one_tree(
    instance: TspInstance,
    graph: Graph,
    scale: int,
    potentials: NDArray[np.int64],
    end: float,
    stop: Callable[[], bool],
) -> Whole | None:
    """Weigh the 1-tree of the complete graph, less twice the potentials, in scaled units.

    A first tree on the candidate edges bounds the edges that matter: those lighter than its heaviest. They
    are all listed, and the tree of what is listed is the tree of everything. Where that would list too
    many, every edge is taken to weigh no more than a lower limit, and the result is still a bound.
    """

    def weigh(i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(scaled(instance, scale, i, j) + potentials[i] + potentials[j])

    tree = spanning_tree(graph, weigh(graph.i, graph.j).astype(np.float64))
    limit, pairs = _lighter_pairs(instance, scale, potentials, tree.weights, end, stop)
    light = limit
    listed: list[Edges] = []
    levels = _levels(tree, graph.size)
    for i, j in pairs:
        if stop():
            return None
        weights = weigh(i, j)
        useful = weights < light
        for least, part in levels:
            # What already hangs together by lighter edges gains nothing from the pair.
            useful &= (weights < least) | (part[i] != part[j])
        listed.append((i[useful], j[useful]))
        if sum(len(part[0]) for part in listed) > _MANY * graph.size:
            # The tree of what was listed stands for it, and leaves less to be listed.
            whole, tree = _merged(graph, tree, listed, weigh)
            listed, light = [], min(light, int(tree.weights.max()))
    whole, tree = _merged(graph, tree, listed, weigh)
    weights = weigh(whole.i, whole.j)
    spans = weigh(tree.i, tree.j)
    spanning = sum(int(x) for x in np.minimum(spans, limit))
    cut = float(np.maximum(spans - limit, 0).sum(dtype=np.float64))
    total = spanning + _best_second(whole, weights, weigh) - 2 * sum(potentials.tolist())
    return Whole(total, cut, whole, weights, tree)


def _levels(tree: Tree, size: int) -> list[tuple[int, NDArray[np.int32]]]:
    """Take a tree apart at some weights: the weight, and which part each city is then in."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    levels = []
    for least in sorted({int(x) for x in np.quantile(tree.weights, _LEVELS)}):
        kept = tree.weights <= least
        links = csr_matrix((np.ones(kept.sum()), (tree.i[kept], tree.j[kept])), shape=(size, size))
        levels.append((least, connected_components(links, directed=False)[1]))
    return levels


def _merged(
    graph: Graph, tree: Tree, listed: list[Edges], weigh: Callable[..., NDArray[np.int64]]
) -> tuple[Graph, Tree]:
    """Add edges to the candidates and a tree; and the new tree."""
    known = [(some.i.astype(np.int64), some.j.astype(np.int64)) for some in (graph, tree)]
    merged = make_graph(graph.size, [*known, *listed])
    return merged, spanning_tree(merged, weigh(merged.i, merged.j).astype(np.float64))


def _best_second(graph: Graph, weights: NDArray[np.int64], weigh: Callable[..., NDArray[np.int64]]) -> int:
    """Find a heavy second lightest edge of a city, among all of the city's edges."""
    second, _ = second_edges(graph, weights.astype(np.float64))
    tried = np.argsort(-np.where(np.isfinite(second), second, -np.inf))[:5]
    others = np.arange(graph.size)
    rows = [weigh(np.full(graph.size - 1, city), others[others != city]) for city in tried.tolist()]
    return max(int(np.partition(row, 1)[1]) for row in rows)


def _lighter_pairs(
    instance: TspInstance,
    scale: int,
    potentials: NDArray[np.int64],
    tree: NDArray[np.float64],
    end: float,
    stop: Callable[[], bool],
) -> tuple[int, Iterator[Edges]]:
    """Choose the highest limit that there is time for, and list a superset of the pairs that weigh less."""
    heaviest = int(tree.max())
    if instance.matrix is not None or instance.size <= ALL_PAIRS:
        return heaviest, _all_pairs(instance.size)
    near = _NearPairs(instance, scale, potentials)
    fewest, most = (pairs * instance.size for pairs in _LISTED)
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
    """Pairs of cities that may weigh less than a limit, found in trees of points.

    Cities of like potentials share a tree, so that a few very attractive cities do not make all look far.
    """

    def __init__(self, instance: TspInstance, scale: int, potentials: NDArray[np.int64]) -> None:
        from scipy.spatial import cKDTree

        self.instance, self.scale = instance, scale
        points = positions(instance)
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
        """Tell how many pairs `pairs` lists, as long as nobody says stop."""
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
