"""Spanning trees over all edges, in whole numbers.

Of few cities with each one's two lightest edges (Prim 1957); of many the weight alone (Borůvka 1926). There
each component's lightest edge to another is searched in a binary tree of boxes around the cities. Lengths, as
they are rounded, never fall with a difference of coordinates: none in a box is shorter than that to its
nearest point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.links import find_root
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, length
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph

#: Places in `Prim.counts`: the city that joined last, and the number of those that are left.
LAST, LEFT = range(2)


class Prim(NamedTuple):
    """A spanning tree that grows over all edges; its arrays are changed in place.

    Attributes
    ----------
    potentials : int64[N]
    weights : int64[N]
        Each city's lightest edge to the tree; 0 of the first city.
    ends : int64[N, 3]
        The other ends of that edge, and of the city's two lightest edges.
    lightest, second : int64[N]
        Weights of the latter.
    left : int64[N]
        Cities that are not in the tree, in front.
    row : int64[N]
        Scratch: lengths of the edges to them.
    counts : int64[2]
    """

    potentials: Ints
    weights: Ints
    ends: Ints
    lightest: Ints
    second: Ints
    left: Ints
    row: Ints
    counts: Ints


@kernel
def grow(metric: KernelMetric, unit: float, prim: Prim, steps: int) -> None:
    """Let some cities join; lengths are multiplied by a power of two and rounded down to whole numbers."""
    counts, left, row = prim.counts, prim.left, prim.row
    for _ in range(min(steps, counts[LEFT])):
        city = counts[LAST]
        for k in range(counts[LEFT]):
            row[k] = np.int64(math.floor(length(metric, city, left[k]) * unit))
        _join(prim)


@kernel
def join(prim: Prim) -> None:
    """Let the nearest city join, with the lengths in `Prim.row` from the last one."""
    _join(prim)


@inlined
def _join(prim: Prim) -> None:
    potentials, weights, ends, left, counts = prim.potentials, prim.weights, prim.ends, prim.left, prim.counts
    city, count, nearest, at = counts[LAST], counts[LEFT], np.iinfo(np.int64).max, 0
    for k in range(count):
        other = left[k]
        weight = prim.row[k] + potentials[city] + potentials[other]
        _note(prim, city, other, weight)
        _note(prim, other, city, weight)
        if weight < weights[other]:
            weights[other], ends[other, 0] = weight, city
        if weights[other] < nearest:
            nearest, at = weights[other], k
    counts[LAST], counts[LEFT] = left[at], count - 1
    left[at] = left[count - 1]


@inlined
def _note(prim: Prim, city: int, other: int, weight: int) -> None:
    """Keep a city's two lightest edges."""
    lightest, second, ends = prim.lightest, prim.second, prim.ends
    if weight < lightest[city]:
        second[city], ends[city, 2] = lightest[city], ends[city, 1]
        lightest[city], ends[city, 1] = weight, other
    elif weight < second[city]:
        second[city], ends[city, 2] = weight, other


# --- of many cities ----------------------------------------------------------------------------------

#: The most cities in a leaf of the tree of boxes.
_LEAF = 16


class Boxes(NamedTuple):
    """A binary tree of boxes around consecutive cities: the root is 1, the children of k are 2 k and 2 k + 1.

    Attributes
    ----------
    metric : KernelMetric
        The metric of the cities with one more: the point of a box that is nearest to a city.
    unit : float
        Lengths are multiplied by it and rounded down to whole numbers.
    potentials : int64[N + 1]
        The potentials of the cities, and 0.
    lowest : float64[2 L, 2 axes + 1]
        Each row has the lowest coordinates of a box, the highest ones negated, and the lowest potential;
        there are L leaves.
    """

    metric: KernelMetric
    unit: float
    potentials: Ints
    lowest: Floats


class Forest(NamedTuple):
    """Components that become a minimum spanning tree; its arrays are changed in place.

    Attributes
    ----------
    component : int64[N]
        Each city's component, named after one of its cities.
    lightest : int64[N]
        The weight of each component's lightest edge to another.
    ends : int64[N, 2]
        That edge.
    weights : int64[N]
        The tree's edges, each at the component that gave its name up for it.
    """

    component: Ints
    lightest: Ints
    ends: Ints
    weights: Ints


def spanning_weight(
    metric: KernelMetric,
    unit: float,
    graph: Graph,
    potentials: Ints,
    stop: Callable[[], bool] = lambda: False,
) -> int | None:
    """Weigh a minimum spanning tree of the complete graph.

    Parameters
    ----------
    metric : KernelMetric
        A metric of coordinates in a plane or space; near cities should have near numbers.
    unit : float
        A power of two.
    graph : Graph
        Some edges with scaled lengths, the better the quicker.
    potentials : int64[N]
    stop : callable
        Ends the search when it says True.

    Returns
    -------
    int or None
        None if it was stopped.
    """
    size, axes = len(potentials), metric.stride
    leaves = 1 << max(math.ceil(math.log2(size / _LEAF)), 0)
    coords = metric.data.reshape(size, axes)
    lowest = _minima(np.hstack([coords, -coords, potentials[:, None]]), leaves)
    metric = metric._replace(data=np.append(metric.data, np.zeros(axes)))
    boxes = Boxes(metric, unit, np.append(potentials, 0), lowest)
    empty = np.zeros((4, size), np.int64)
    forest = Forest(np.arange(size), empty[0], empty[1:3].reshape(size, 2), empty[3])
    components = size
    while components > 1:
        if stop():
            return None
        labels = _minima(np.stack([forest.component, -forest.component], 1), leaves)
        find_lightest(boxes, graph, labels, forest)
        components -= unite(forest)
    return sum(forest.weights.tolist())


def _minima(values: NDArray[Any], leaves: int) -> NDArray[Any]:
    """Take the minima of columns [N, k] over the cities of each box, [2 L, k]."""
    levels = [np.minimum.reduceat(values, np.arange(leaves) * len(values) // leaves)]
    while len(levels[-1]) > 1:
        levels.append(np.minimum(levels[-1][::2], levels[-1][1::2]))
    return np.concatenate([levels[-1], *levels[::-1]])


@kernel
def find_lightest(boxes: Boxes, graph: Graph, labels: Ints, forest: Forest) -> None:
    """Find each component's lightest edge to another.

    Rows of `labels` are each box's least component, and its greatest one negated.
    """
    component, lightest, potentials = forest.component, forest.lightest, boxes.potentials
    size, leaves = len(component), len(labels) // 2
    lightest[:] = np.iinfo(np.int64).max
    for city in range(size):
        for e in range(graph.first[city], graph.first[city + 1]):
            other = graph.to[e]
            _keep(forest, city, other, np.int64(graph.lengths[e]) + potentials[city] + potentials[other])
    for city in range(size):
        own, node = component[city], 1
        while node > 0:
            is_own = labels[node, 0] == own and labels[node, 1] == -own
            if not is_own and _least(boxes, city, node) < lightest[own]:
                if node < leaves:
                    node *= 2
                    continue
                first = (node - leaves) * size // leaves
                for other in range(first, (node - leaves + 1) * size // leaves):
                    if component[other] != own:
                        _keep(forest, city, other, _weight(boxes, city, other))
            while node & 1:  # the last of its parent's
                node >>= 1
            if node > 0:
                node += 1


@inlined
def _keep(forest: Forest, city: int, other: int, weight: int) -> None:
    """Keep the lightest edge out of a city's component."""
    own = forest.component[city]
    if forest.component[other] != own and weight < forest.lightest[own]:
        forest.lightest[own], forest.ends[own, 0], forest.ends[own, 1] = weight, city, other


@inlined
def _weight(boxes: Boxes, city: int, other: int) -> np.int64:
    """Weight of an edge."""
    scaled = np.int64(math.floor(length(boxes.metric, city, other) * boxes.unit))
    return scaled + boxes.potentials[city] + boxes.potentials[other]


@inlined
def _least(boxes: Boxes, city: int, node: int) -> np.int64:
    """Give what edges from a city into a box weigh at least."""
    data, axes, nearest = boxes.metric.data, boxes.metric.stride, len(boxes.potentials) - 1
    for axis in range(axes):
        low, high = boxes.lowest[node, axis], -boxes.lowest[node, axes + axis]
        data[nearest * axes + axis] = min(max(data[city * axes + axis], low), high)
    return _weight(boxes, city, nearest) + np.int64(boxes.lowest[node, 2 * axes])


@kernel
def unite(forest: Forest) -> int:
    """Join components by their lightest edges; the number of edges.

    Edges of equal weight may be chosen anyhow: where some would close a circle, all of it weigh the same.
    """
    component, joined = forest.component, 0
    for own in range(len(component)):
        if forest.lightest[own] < np.iinfo(np.int64).max:
            a, b = find_root(component, forest.ends[own, 0]), find_root(component, forest.ends[own, 1])
            if a != b:
                component[a], forest.weights[a] = b, forest.lightest[own]
                joined += 1
    for city in range(len(component)):
        component[city] = find_root(component, city)
    return joined
