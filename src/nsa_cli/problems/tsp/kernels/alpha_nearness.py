"""Alpha-nearness (Helsgaun 2000): how much a minimum spanning tree grows when it must contain an edge.

City weights from subgradient steps (Held and Karp 1971) bend the tree towards a tour first, so that few
edges a city are enough. Trees are grown on a sparse graph: nearest neighbours and the edges of a tour.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, Tree, grow_tree, new_tree

#: Weight of this tree's degrees in a subgradient step; the rest is the last tree's (Volgenant, Jonker 1982).
_MOMENTUM = 0.7


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
    size, alpha = len(graph.first) - 1, np.empty(len(graph.to))
    before = np.full(size, 2, dtype=np.int64)
    _put_alpha(graph, new_tree(size), np.zeros((2, size)), before, steps, first_step, last_step, alpha)
    return alpha


@kernel
def _put_alpha(
    graph: Graph,
    tree: Tree,
    both_weights: NDArray[np.float64],
    before: NDArray[np.int64],
    steps: int,
    first_step: float,
    last_step: float,
    alpha: NDArray[np.float64],
) -> None:
    """Compute alpha-nearness into `alpha`, with scratch space for current and best weights float64[2, N]."""
    weights, best_weights = both_weights[0], both_weights[1]
    size, best = len(weights), -np.inf
    for step in range(steps):
        bound = grow_tree(graph, weights, tree)
        if bound > best:
            best = bound
            for i in range(size):
                best_weights[i] = weights[i]
        stride = first_step * (last_step / first_step) ** (step / steps) if first_step > 0.0 else 0.0
        for i in range(size):
            weights[i] += stride * (_MOMENTUM * (tree.degree[i] - 2) + (1.0 - _MOMENTUM) * (before[i] - 2))
            before[i] = tree.degree[i]
    grow_tree(graph, best_weights, tree)
    for i in range(size):
        for e in range(graph.first[i], graph.first[i + 1]):
            j = graph.to[e]
            weight = graph.lengths[e] + best_weights[i] + best_weights[j]
            alpha[e] = weight - _heaviest_between(tree, i, j)


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
    _put_chosen(graph, scores, np.empty(width, dtype=np.int64), neighbours, distances, kept_scores)
    return neighbours, distances, kept_scores


@kernel
def _put_chosen(
    graph: Graph,
    scores: NDArray[np.float64],
    kept: NDArray[np.int64],
    neighbours: NDArray[np.uint32],
    distances: NDArray[np.float64],
    kept_scores: NDArray[np.float64],
) -> None:
    """Write what `choose` returns, with scratch space int64[width]."""
    size, width = len(graph.first) - 1, len(kept)
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
        for at in range(i * width + found, (i + 1) * width):
            neighbours[at] = neighbours[i * width]


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
