"""Minimum spanning trees of sparse graphs (Prim 1957), compiled: for alpha-nearness and for the bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import KernelMetric, length


class Graph(NamedTuple):
    """An undirected sparse graph; each edge is stored at both its ends.

    Attributes
    ----------
    first : int64[N + 1]
        The place in `to` where each city's edges begin.
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


def graph_of(metric: KernelMetric, neighbours: NDArray[np.int64], tour: NDArray[np.int64]) -> Graph:
    """Join neighbour lists and a tour's edges to one graph, each edge once.

    Parameters
    ----------
    metric : KernelMetric
    neighbours : int64[N, k]
        No city twice in a row; -1 where there are fewer.
    tour : int64[N]
    """
    size, width = neighbours.shape
    ends, first = np.empty((size * (width + 1), 2), dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    edges = _join_lists(neighbours, tour, ends, first)
    to, lengths = np.empty(2 * edges, dtype=np.int64), np.empty(2 * edges)
    np.cumsum(first, out=first)
    _put_edges(metric, ends[:edges], first.copy(), to, lengths)
    return Graph(first, to, lengths)


@kernel
def _join_lists(
    neighbours: NDArray[np.int64], tour: NDArray[np.int64], ends: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Put the ends of each edge into `ends`, and each city's number of edges after its place in `first`."""
    size, width = neighbours.shape
    edges = 0
    for place in range(size):
        i, j = tour[place], tour[place - 1]
        if not _lists(neighbours, i, j) and not _lists(neighbours, j, i):
            ends[edges, 0], ends[edges, 1] = i, j
            edges += 1
        for k in range(width):
            j = neighbours[place, k]
            if j >= 0 and (place < j or not _lists(neighbours, j, place)):
                ends[edges, 0], ends[edges, 1] = place, j
                edges += 1
    for edge in range(edges):
        first[ends[edge, 0] + 1] += 1
        first[ends[edge, 1] + 1] += 1
    return edges


@kernel
def _put_edges(
    metric: KernelMetric,
    ends: NDArray[np.int64],
    place_of: NDArray[np.int64],
    to: NDArray[np.int64],
    lengths: NDArray[np.float64],
) -> None:
    """Put each edge to both its ends' others, from the places int64[N] on where theirs begin."""
    for edge in range(len(ends)):
        i, j = ends[edge, 0], ends[edge, 1]
        to[place_of[i]], to[place_of[j]] = j, i
        lengths[place_of[i]] = lengths[place_of[j]] = length(metric, i, j)
        place_of[i] += 1
        place_of[j] += 1


def lowest_edges(
    graph: Graph, scores: NDArray[np.float64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find each city's edges of the lowest scores float64[2 E], `count` or all.

    Returns
    -------
    city, edges : int64[M], int64[M]
        Places along with `Graph.to`, lowest first of each city; of equal scores the first.
    """
    city = np.repeat(np.arange(len(graph.first) - 1), np.diff(graph.first))
    kept = np.arange(len(city)) - graph.first[city] < count
    return city[kept], np.lexsort((scores, city))[kept]


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
