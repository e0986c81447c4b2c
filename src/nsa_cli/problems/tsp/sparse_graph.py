"""Few edges a city that good tours and trees are made of, and trees among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.heuristics import neighbours
from nsa_cli.problems.tsp.instance import TspInstance

#: Nearest neighbours of a city among the candidate edges.
NEAREST = 6

#: Edges as two lists of cities.
Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


class Graph(NamedTuple):
    """Some edges ``i < j`` of the complete graph, sorted, that connect all cities.

    Attributes
    ----------
    size : int
    i, j : int32[E]
    rows : int32[N + 1]
        Where the edges of each `i` begin.
    """

    size: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rows: NDArray[np.int32]


class Tree(NamedTuple):
    """A minimum spanning tree: its edges and their weights, [N - 1] each."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    weights: NDArray[np.float64]


def make_graph(size: int, parts: list[Edges]) -> Graph:
    """Sort edges and drop those that come twice."""
    i, j = (np.concatenate(ends).astype(np.int64) for ends in zip(*parts, strict=True))
    keys = np.unique(np.minimum(i, j) * size + np.maximum(i, j))
    i, j = keys // size, keys % size
    i, j = i[i != j], j[i != j]
    rows = np.searchsorted(i, np.arange(size + 1))
    return Graph(size, i.astype(np.int32), j.astype(np.int32), rows.astype(np.int32))


def candidates(instance: TspInstance) -> Graph:
    """Choose few edges a city that good 1-trees are made of: neighbours, and what connects them."""
    size = instance.size
    near = min(NEAREST, size - 1)
    everyone = np.arange(size)
    if instance.matrix is not None:
        lengths = instance.matrix.astype(np.float64)
        np.fill_diagonal(lengths, np.inf)
        nearest = np.argpartition(lengths, near - 1, axis=1)[:, :near].ravel()
        return make_graph(size, [(np.repeat(everyone, near), nearest), _spanning_pairs(instance.matrix)])
    i, j = neighbours(instance, everyone, near)
    parts = [(i.ravel(), j.ravel()), *_triangles(instance.measured)]
    order = np.lexsort(instance.measured.T)  # a chain connects what nothing else does
    return _connected(make_graph(size, parts), (order[:-1], order[1:]))


def _spanning_pairs(matrix: NDArray[Any]) -> Edges:
    from scipy.sparse.csgraph import minimum_spanning_tree

    lengths = matrix.astype(np.float64)
    tree = minimum_spanning_tree(lengths + (1.0 - lengths.min())).tocoo()  # 0 would be no edge
    return tree.row.astype(np.int64), tree.col.astype(np.int64)


def _triangles(points: NDArray[np.float64]) -> Iterator[Edges]:
    """Edges of the Delaunay triangulation, among them the shortest spanning tree; none for a line."""
    from scipy.spatial import Delaunay, QhullError

    try:
        corners = Delaunay(points).simplices.astype(np.int64)
    except (QhullError, ValueError):
        return
    for a in range(corners.shape[1]):
        for b in range(a):
            yield corners[:, a], corners[:, b]


def _connected(graph: Graph, chain: Edges) -> Graph:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    links = csr_matrix((np.ones(len(graph.j)), graph.j, graph.rows), shape=(graph.size, graph.size))
    if connected_components(links, directed=False, return_labels=False) == 1:
        return graph
    return make_graph(graph.size, [(graph.i.astype(np.int64), graph.j.astype(np.int64)), chain])


def spanning_tree(graph: Graph, weights: NDArray[np.float64]) -> Tree:
    """Find a minimum spanning tree; weights, float64[E], may be of either sign."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    shift = 1.0 - weights.min()  # a weight of 0 would be no edge
    matrix = csr_matrix((weights + shift, graph.j, graph.rows), shape=(graph.size, graph.size))
    tree = minimum_spanning_tree(matrix).tocoo()
    return Tree(tree.row, tree.col, tree.data - shift)


def second_edges(graph: Graph, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Weight and number of the second lightest edge of each city; infinite where there is but one."""
    edge = np.tile(np.arange(len(weights)), 2)
    city = np.concatenate([graph.i, graph.j])
    order = np.lexsort((weights[edge], city))
    city, edge = city[order], edge[order]
    first = np.searchsorted(city, np.arange(graph.size))
    second = np.minimum(first + 1, len(city) - 1)
    found = city[second] == np.arange(graph.size)
    return np.where(found, weights[edge[second]], np.inf), edge[second]
