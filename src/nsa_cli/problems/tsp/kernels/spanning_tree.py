"""Minimum spanning trees of sparse graphs (Prim 1957), and what is made of them for kicks and the bound.

Alpha-nearness (Helsgaun 2000) tells how much such a tree grows when it must contain an edge. City weights
from subgradient steps (Held and Karp 1971) bend the tree towards a tour first, so that few edges a city are
enough. The ascent of 1-trees by the same steps gives potentials that raise the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, Words, length


class Graph(NamedTuple):
    """An undirected sparse graph; each edge is stored at both its ends.

    Attributes
    ----------
    first : int64[N + 1]
        The place in `to` where each city's edges begin.
    to : int64[2 E]
    lengths : float64[2 E]
    """

    first: Ints
    to: Ints
    lengths: Floats


@inlined
def _lists(neighbours: Ints, i: int, j: int) -> bool:
    """Tell whether `j` is among the neighbours of `i`."""
    for k in range(neighbours.shape[1]):  # noqa: SIM110 (a kernel)
        if neighbours[i, k] == j:
            return True
    return False


def graph_of(metric: KernelMetric, neighbours: Ints, tour: Ints) -> Graph:
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
def _join_lists(neighbours: Ints, tour: Ints, ends: Ints, first: Ints) -> int:
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
def _put_edges(metric: KernelMetric, ends: Ints, place_of: Ints, to: Ints, lengths: Floats) -> None:
    """Put each edge to both its ends' others, from the places int64[N] on where theirs begin."""
    for edge in range(len(ends)):
        i, j = ends[edge, 0], ends[edge, 1]
        to[place_of[i]], to[place_of[j]] = j, i
        lengths[place_of[i]] = lengths[place_of[j]] = length(metric, i, j)
        place_of[i] += 1
        place_of[j] += 1


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

    parent: Ints
    edge: Floats
    rank: Ints
    degree: Ints
    key: Floats
    heap: Ints
    place: Ints


def new_tree(size: int) -> Tree:
    """Make room for a tree over so many cities."""
    whole, real = np.zeros((5, size), dtype=np.int64), np.zeros((2, size))
    return Tree(whole[0], real[0], whole[1], whole[2], real[1], whole[3], whole[4])


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
def grow_tree(graph: Graph, weights: Floats, tree: Tree) -> float:
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


# --- subgradient steps -------------------------------------------------------------------------------

#: Weight of this tree's degrees in a step for alpha-nearness; the rest is the last tree's (Volgenant, Jonker
#: 1982). And the part of its last direction that a step of the ascent keeps.
_INERTIA, _MOMENTUM = 0.7, 0.4

#: Places in `Ascent.tally`: the highest value, and the length of a step.
HIGHEST, STRIDE = range(2)


class Ascent(NamedTuple):
    """A subgradient method between two rounds; its arrays are changed in place.

    Attributes
    ----------
    potentials, best, direction : float64[N]
        The current potentials, the best ones, and where they go.
    tally : float64[2]
    """

    potentials: Floats
    best: Floats
    direction: Floats
    tally: Floats


@inlined
def _is_highest(ascent: Ascent, value: float) -> bool:
    """Keep the current potentials if their value is higher than any before."""
    if not value > ascent.tally[HIGHEST]:
        return False
    ascent.tally[HIGHEST] = value
    for i in range(len(ascent.potentials)):
        ascent.best[i] = ascent.potentials[i]
    return True


def alpha_nearness(graph: Graph, steps: int, first_step: float, last_step: float) -> Floats:
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
    ascent = Ascent(np.zeros(size), np.zeros(size), np.full(size, 2.0), np.array([-np.inf, 0.0]))
    _put_alpha(graph, new_tree(size), ascent, steps, first_step, last_step, alpha)
    return alpha


@kernel
def _put_alpha(
    graph: Graph, tree: Tree, ascent: Ascent, steps: int, first_step: float, last_step: float, alpha: Floats
) -> None:
    """Compute alpha-nearness into `alpha`; the direction is that of the last tree's degrees."""
    weights, best, before = ascent.potentials, ascent.best, ascent.direction
    size = len(weights)
    for step in range(steps):
        _is_highest(ascent, grow_tree(graph, weights, tree))
        stride = first_step * (last_step / first_step) ** (step / steps) if first_step > 0.0 else 0.0
        for i in range(size):
            weights[i] += stride * (_INERTIA * (tree.degree[i] - 2) + (1.0 - _INERTIA) * (before[i] - 2))
            before[i] = tree.degree[i]
    grow_tree(graph, best, tree)
    for i in range(size):
        for e in range(graph.first[i], graph.first[i + 1]):
            j = graph.to[e]
            alpha[e] = graph.lengths[e] + best[i] + best[j] - _heaviest_between(tree, i, j)


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


def choose(graph: Graph, scores: Floats, width: int) -> tuple[Words, Floats, Floats]:
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
    graph: Graph, scores: Floats, kept: Ints, neighbours: Words, distances: Floats, kept_scores: Floats
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
def _lowest(scores: Floats, begin: int, end: int, kept: Ints) -> int:
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


@kernel
def ascend(graph: Graph, tree: Tree, ascent: Ascent, share: float, first: int, last: int, rounds: int) -> int:
    """Go through rounds ``first <= m < last`` of so many; give `last`, or `rounds` where nothing is higher.

    Steps fall to nothing along a parabola (Volgenant and Jonker 1982, "A branch and bound algorithm for the
    symmetric traveling salesman problem based on the 1-tree relaxation"), with momentum.
    """
    potentials, direction, tally = ascent.potentials, ascent.direction, ascent.tally
    size = len(potentials)
    for m in range(first + 1, last + 1):
        value = grow_tree(graph, potentials, tree) + _close(graph, potentials, tree)
        if _is_highest(ascent, value):
            tally[STRIDE] = share * abs(value) / (2 * size)
        fall = m * m - 3.0 * (rounds - 1) * m + rounds * (2.0 * rounds - 3)
        fall /= 2.0 * (rounds - 1) * (rounds - 2)
        kept = _MOMENTUM if m > 1 else 0.0
        is_tour = True
        for i in range(size):
            is_tour = is_tour and tree.degree[i] == 2
            direction[i] = (1.0 - _MOMENTUM) * (tree.degree[i] - 2) + kept * direction[i]
            potentials[i] += tally[STRIDE] * fall * direction[i]
        if is_tour:
            return rounds
    return last


@inlined
def _close(graph: Graph, potentials: Floats, tree: Tree) -> float:
    """Add the heaviest second edge of a leaf to the tree's degrees; give its weight."""
    heaviest, city, other = -np.inf, -1, -1
    for i in range(len(potentials)):
        if tree.degree[i] != 1:
            continue
        lightest = second = np.inf
        end = ending = -1
        for e in range(graph.first[i], graph.first[i + 1]):
            weight = graph.lengths[e] + potentials[i] + potentials[graph.to[e]]
            if weight < lightest:
                lightest, second = weight, lightest
                end, ending = graph.to[e], end
            elif weight < second:
                second, ending = weight, graph.to[e]
        if second < np.inf and second > heaviest:
            heaviest, city, other = second, i, ending
    if city < 0:
        return 0.0
    tree.degree[city] += 1
    tree.degree[other] += 1
    return heaviest
