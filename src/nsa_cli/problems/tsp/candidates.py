"""Edges worth trying: the nearest neighbours of each city, and those nearest to a minimum spanning tree.

Alpha-nearness (Helsgaun 2000): how much longer the minimum spanning tree gets when it must contain an edge.
City weights from subgradient steps (Held and Karp 1971) bend the tree towards a tour first, so that few
edges a city are enough. Trees are grown on a sparse graph: nearest neighbours and the edges of a tour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, inlined, kernel
from nsa_cli.problems.tsp.measure import Measure, length, lengths

#: Minkowski's exponent under which points are near that the metric says are near.
_EXPONENTS = {"MAN_2D": 1.0, "MAN_3D": 1.0, "MAX_2D": np.inf, "MAX_3D": np.inf}

#: Weight of this tree's degrees in a subgradient step; the rest is the last tree's (Volgenant, Jonker 1982).
_MOMENTUM = 0.7


def nearest(points: NDArray[np.float64], count: int, edge_weight_type: str = "EXACT_2D") -> NDArray[np.int64]:
    """Find the nearest other points of each point.

    Parameters
    ----------
    points : float64[N, axes]
    count : int
        At most N - 1.
    edge_weight_type : str
        Chooses the norm. Rounding is not looked at: it changes little in the order.

    Returns
    -------
    int64[N, count]
        Nearest first.
    """
    from scipy.spatial import cKDTree

    _, found = cKDTree(points).query(points, k=count + 1, p=_EXPONENTS.get(edge_weight_type, 2.0))
    # The first neighbour is the point itself, unless others lie on the same place.
    itself = found == np.arange(len(points))[:, None]
    itself[~itself.any(1), -1] = True
    others: NDArray[np.int64] = found[~itself].reshape(len(points), count)
    return others


def nearest_in_matrix(matrix: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Find the nearest other cities of each city; int64[N, count], in no order.

    Parameters
    ----------
    matrix : float64[N, N]
    count : int
        At most N - 1.
    """
    found = np.empty((len(matrix), count), dtype=np.int64)
    for i, row in enumerate(matrix):  # a row at a time: no second matrix
        row = row.copy()
        row[i] = np.inf
        found[i] = (
            np.argpartition(row, count - 1)[:count] if count < len(row) else np.flatnonzero(row < np.inf)
        )
    return found


@allocating
def nearest_of_few(measure: Measure, size: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest other cities of each city by looking at all of them.

    Returns
    -------
    neighbours, distances : int64[N, count], float64[N, count]
        Nearest first.
    """
    neighbours = np.empty((size, count), dtype=np.int64)
    distances = np.full((size, count), np.inf)
    for i in range(size):
        found = 0
        for j in range(size):
            far = length(measure, i, j)
            if j == i or (found == count and far >= distances[i, count - 1]):
                continue
            found = min(found + 1, count)
            at = found - 1
            while at > 0 and distances[i, at - 1] > far:
                neighbours[i, at], distances[i, at] = neighbours[i, at - 1], distances[i, at - 1]
                at -= 1
            neighbours[i, at], distances[i, at] = j, far
    return neighbours, distances


@allocating
def along_curve(x: NDArray[np.int64], y: NDArray[np.int64], levels: int) -> NDArray[np.int64]:
    """Give the places of grid points along Hilbert's curve.

    Parameters
    ----------
    x, y : int64[N]
        From 0 to 2**levels - 1.
    """
    place = np.zeros(len(x), dtype=np.int64)
    most = (1 << levels) - 1
    for i in range(len(x)):
        a, b = x[i], y[i]
        for level in range(levels - 1, -1, -1):
            right, up = (a >> level) & 1, (b >> level) & 1
            place[i] = 4 * place[i] + ((3 * right) ^ up)
            if up == 0:  # the lower quarters are the curve turned: axes swapped, and on the right mirrored
                if right == 1:
                    a, b = most - a, most - b
                a, b = b, a
    return place


class Graph(NamedTuple):
    """An undirected sparse graph; each edge is stored at both its ends.

    Attributes
    ----------
    first : int64[N + 1]
        Where each city's edges begin.
    to : int64[2 E]
    lengths : float64[2 E]
    """

    first: NDArray[np.int64]
    to: NDArray[np.int64]
    lengths: NDArray[np.float64]


@inlined
def _lists(neighbours: NDArray[np.int64], i: int, j: int) -> bool:
    """Tell whether `j` is among the neighbours of `i`."""
    for k in range(neighbours.shape[1]):  # noqa: SIM110 (a kernel)
        if neighbours[i, k] == j:
            return True
    return False


@allocating
def graph_of(measure: Measure, neighbours: NDArray[np.int64], tour: NDArray[np.int64]) -> Graph:
    """Join neighbour lists and a tour's edges to one graph, each edge once.

    Parameters
    ----------
    measure : Measure
    neighbours : int64[N, k]
    tour : int64[N]
    """
    size, width = neighbours.shape
    ends = np.empty((size * (width + 1), 2), dtype=np.int64)
    first = np.zeros(size + 1, dtype=np.int64)
    edges = 0
    for place in range(size):
        i, j = tour[place], tour[place - 1]
        if not _lists(neighbours, i, j) and not _lists(neighbours, j, i):
            ends[edges, 0], ends[edges, 1] = i, j
            edges += 1
        for k in range(width):
            j = neighbours[place, k]
            if place < j or not _lists(neighbours, j, place):
                ends[edges, 0], ends[edges, 1] = place, j
                edges += 1
    for edge in range(edges):
        first[ends[edge, 0] + 1] += 1
        first[ends[edge, 1] + 1] += 1
    first = np.cumsum(first)
    place_of = first.copy()
    to, weights = np.empty(2 * edges, dtype=np.int64), np.empty(2 * edges)
    for edge in range(edges):
        i, j = ends[edge, 0], ends[edge, 1]
        to[place_of[i]], to[place_of[j]] = j, i
        weights[place_of[i]] = weights[place_of[j]] = length(measure, i, j)
        place_of[i] += 1
        place_of[j] += 1
    return Graph(first, to, weights)


class Tree(NamedTuple):
    """A minimum spanning tree, rooted at city 0.

    Attributes
    ----------
    parent : int64[N]
    edge : float64[N]
        Weight of the edge to the parent.
    rank : int64[N]
        When a city joined: parents come before children.
    degree : int64[N]
    key : float64[N]
        Scratch: lightest edge to the tree.
    heap, place : int64[N]
        Scratch: a binary heap of cities by `key`; each one's place in it, -1 before and -2 after.
    """

    parent: NDArray[np.int64]
    edge: NDArray[np.float64]
    rank: NDArray[np.int64]
    degree: NDArray[np.int64]
    key: NDArray[np.float64]
    heap: NDArray[np.int64]
    place: NDArray[np.int64]


@allocating
def new_tree(size: int) -> Tree:
    """Make room for a tree over so many cities."""
    return Tree(
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )


@inlined
def _rise(tree: Tree, at: int) -> None:
    """Move a heap entry up to its place."""
    heap, place, key = tree.heap, tree.place, tree.key
    city = heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if key[heap[above]] <= key[city]:
            break
        heap[at] = heap[above]
        place[heap[at]] = at
        at = above
    heap[at] = city
    place[city] = at


@inlined
def _sink(tree: Tree, count: int) -> None:
    """Move the heap's first entry down to its place."""
    heap, place, key = tree.heap, tree.place, tree.key
    city, at = heap[0], 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[city]:
            break
        heap[at] = heap[below]
        place[heap[at]] = at
        at = below
    heap[at] = city
    place[city] = at


@kernel
def grow_tree(graph: Graph, weights: NDArray[np.float64], tree: Tree) -> float:
    """Find the minimum spanning tree (Prim 1957) of lengths plus both ends' weights.

    Returns
    -------
    float
        Its weight less twice the weights of all cities.
    """
    heap, place, key, parent = tree.heap, tree.place, tree.key, tree.parent
    total = 0.0
    for city in range(len(key)):
        key[city], place[city], tree.degree[city] = np.inf, -1, 0
        total -= 2.0 * weights[city]
    key[0], parent[0], heap[0], place[0] = 0.0, 0, 0, 0
    waiting, joined = 1, 0
    while waiting > 0:
        city = heap[0]
        waiting -= 1
        if waiting > 0:
            heap[0] = heap[waiting]
            _sink(tree, waiting)
        place[city] = -2
        tree.rank[city] = joined
        joined += 1
        if joined > 1:
            total += key[city]
            tree.edge[city] = key[city]
            tree.degree[city] += 1
            tree.degree[parent[city]] += 1
        for e in range(graph.first[city], graph.first[city + 1]):
            other = graph.to[e]
            weight = graph.lengths[e] + weights[city] + weights[other]
            if place[other] > -2 and weight < key[other]:
                key[other], parent[other] = weight, city
                if place[other] < 0:
                    heap[waiting] = other
                    place[other] = waiting
                    waiting += 1
                _rise(tree, place[other])
    return total


@allocating
def alpha_nearness(graph: Graph, steps: int, first_step: float, last_step: float) -> NDArray[np.float64]:
    """Tell of each edge how much it would lengthen the minimum spanning tree.

    Parameters
    ----------
    graph : Graph
        Connected.
    steps : int
        Subgradient steps.
    first_step, last_step : float
        Their sizes, falling geometrically.

    Returns
    -------
    float64[2 E]
        Along with `Graph.to`; 0 for edges of the tree.
    """
    size = len(graph.first) - 1
    tree = new_tree(size)
    weights, best_weights = np.zeros(size), np.zeros(size)
    before = np.full(size, 2, dtype=np.int64)
    best = -np.inf
    for step in range(steps):
        bound = grow_tree(graph, weights, tree)
        if bound > best:
            best = bound
            best_weights[:] = weights
        stride = first_step * (last_step / first_step) ** (step / steps) if first_step > 0.0 else 0.0
        for i in range(size):
            weights[i] += stride * (_MOMENTUM * (tree.degree[i] - 2) + (1.0 - _MOMENTUM) * (before[i] - 2))
            before[i] = tree.degree[i]
    grow_tree(graph, best_weights, tree)
    alpha = np.empty(len(graph.to))
    for i in range(size):
        for e in range(graph.first[i], graph.first[i + 1]):
            j = graph.to[e]
            weight = graph.lengths[e] + best_weights[i] + best_weights[j]
            alpha[e] = weight - _heaviest_between(tree, i, j)
    return alpha


@inlined
def _heaviest_between(tree: Tree, a: int, b: int) -> float:
    """Heaviest edge on the path between two cities of the tree."""
    heaviest = -np.inf
    while a != b:
        if tree.rank[a] > tree.rank[b]:
            heaviest = max(heaviest, tree.edge[a])
            a = tree.parent[a]
        else:
            heaviest = max(heaviest, tree.edge[b])
            b = tree.parent[b]
    return heaviest


@allocating
def choose(
    graph: Graph, scores: NDArray[np.float64], width: int
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]:
    """Keep each city's edges of the lowest scores.

    Returns
    -------
    neighbours, distances, kept_scores : uint32[N * width], float64[N * width], float64[N * width]
        Nearest first; cities with fewer edges repeat one, infinitely far.
    """
    size = len(graph.first) - 1
    neighbours = np.zeros(size * width, dtype=np.uint32)
    distances, kept_scores = np.full(size * width, np.inf), np.full(size * width, np.inf)
    kept = np.empty(width, dtype=np.int64)
    for i in range(size):
        begin, end = graph.first[i], graph.first[i + 1]
        found = _lowest(scores, begin, end, kept)
        for k in range(found):
            at = i * width + k  # by insertion, nearest first
            e = kept[k]
            while at > i * width and distances[at - 1] > graph.lengths[e]:
                neighbours[at], distances[at] = neighbours[at - 1], distances[at - 1]
                kept_scores[at] = kept_scores[at - 1]
                at -= 1
            neighbours[at], distances[at], kept_scores[at] = graph.to[e], graph.lengths[e], scores[e]
        neighbours[i * width + found : (i + 1) * width] = neighbours[i * width]
    return neighbours, distances, kept_scores


@inlined
def _lowest(scores: NDArray[np.float64], begin: int, end: int, kept: NDArray[np.int64]) -> int:
    """Put the places of the lowest scores into `kept`, lowest first; return how many there are."""
    found = 0
    for e in range(begin, end):
        if found < len(kept):
            found += 1
        elif scores[e] >= scores[kept[-1]]:
            continue
        at = found - 1
        while at > 0 and scores[kept[at - 1]] > scores[e]:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = e
    return found


def by_length(
    measure: Measure, neighbours: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort neighbour lists by the metric itself; returns int64[N, k] and float64[N, k]."""
    size, width = neighbours.shape
    far = lengths(measure, np.repeat(np.arange(size), width), neighbours.ravel()).reshape(size, width)
    order = np.argsort(far, axis=1, kind="stable")
    return np.take_along_axis(neighbours, order, 1), np.take_along_axis(far, order, 1)
