"""Alpha-nearness (Helsgaun 2000): how much a minimum spanning tree grows when it must contain an edge.

City weights from subgradient steps (Held and Karp 1971) bend the tree towards a tour first, so that few
edges a city are enough. Trees are grown on a sparse graph: nearest neighbours and the edges of a tour.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, inlined
from nsa_cli.problems.tsp.spanning_tree import Graph, Tree, grow_tree, new_tree

#: Weight of this tree's degrees in a subgradient step; the rest is the last tree's (Volgenant, Jonker 1982).
_MOMENTUM = 0.7


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
