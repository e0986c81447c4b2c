"""Nearest neighbours: in a k-d tree of points (Bentley 1975), and by comparison of all pairs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, length

#: Norms: of the sum of squares, of the sum, and of the largest of differences.
EUCLIDEAN, MANHATTAN, CHEBYSHEV = range(3)

#: Of all orthants.
EVERYWHERE = -1

#: Points in a leaf, at most.
_LEAF = 8


class PointTree(NamedTuple):
    """A balanced k-d tree: the root is 1, the children of k are 2 k and 2 k + 1, each of half the points.

    Attributes
    ----------
    points : float64[N, axes]
        The points in the order of the leaves.
    numbers : int64[N]
        The numbers of these points.
    boxes : float64[2 L, 2 axes + 1]
        Each row has the lowest and the highest coordinates of a node's points, and their lowest number; there
        are L leaves.
    """

    points: Floats
    numbers: Ints
    boxes: Floats


def tree_of(points: Floats) -> PointTree:
    """Build the tree of N points, float64[N, axes], in N log N steps."""
    size, axes = points.shape
    leaves = 1 << max(math.ceil(math.log2(max(size, 1) / _LEAF)), 0)
    tree = PointTree(points.copy(), np.arange(size), np.empty((2 * leaves, 2 * axes + 1)))
    _build(tree)
    return tree


@kernel
def _build(tree: PointTree) -> None:
    """Order the points, and put the boxes."""
    points, boxes = tree.points, tree.boxes
    size, axes = points.shape
    leaves, level = len(boxes) // 2, 1
    for node in range(1, 2 * leaves):
        if node == 2 * level:
            level = node
        begin, end = (node - level) * size // level, (node - level + 1) * size // level
        widest = 0
        for axis in range(axes):
            low, high = points[begin, axis], points[begin, axis]
            for i in range(begin + 1, end):
                low, high = min(low, points[i, axis]), max(high, points[i, axis])
            boxes[node, axis], boxes[node, axes + axis] = low, high
            if high - low > boxes[node, axes + widest] - boxes[node, widest]:
                widest = axis
        lowest = tree.numbers[begin]
        for i in range(begin + 1, end):
            lowest = min(lowest, tree.numbers[i])
        boxes[node, 2 * axes] = lowest
        if node < leaves:
            _select(tree, widest, begin, end - 1, (2 * (node - level) + 1) * size // (2 * level))


@inlined
def _select(tree: PointTree, axis: int, low: int, high: int, middle: int) -> None:
    """Partition the points of a range about the one that belongs in the middle (Hoare 1961)."""
    points, numbers = tree.points, tree.numbers
    while low < high:
        pivot, i, j = points[(low + high) // 2, axis], low, high
        while i <= j:
            while points[i, axis] < pivot:
                i += 1
            while points[j, axis] > pivot:
                j -= 1
            if i <= j:
                for k in range(points.shape[1]):
                    points[i, k], points[j, k] = points[j, k], points[i, k]
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            break


@kernel
def find_in_tree(tree: PointTree, norm: int, orthant: int, found: Ints, far: Floats) -> None:
    """Find the nearest others of all points; of those that are equally far, the ones with lower numbers.

    Parameters
    ----------
    tree : PointTree
    norm : int
    orthant : int
        The side on which they have to lie: bit k is set for lower coordinates of axis k, or `EVERYWHERE`.
    found : int64[N, count]
        Rows are those of the points' numbers, nearest first, and N where there are no more.
    far : float64[count]
        Scratch space.
    """
    size, leaves = len(tree.points), len(tree.boxes) // 2
    for place in range(size):
        row = found[tree.numbers[place]]
        row[:], far[:] = size, np.inf
        inner = leaves + ((place + 1) * leaves - 1) // size  # the point's own leaf, and then what it is in
        _look(tree, norm, orthant, place, inner, row, far)
        while inner > 1:
            root = node = inner ^ 1
            while True:
                if _may_hold(tree, norm, orthant, place, node, row, far):
                    if node < leaves:
                        node *= 2
                        continue
                    _look(tree, norm, orthant, place, node, row, far)
                while node & 1 and node != root:
                    node >>= 1
                if node == root:
                    break
                node += 1
            inner >>= 1


@inlined
def _may_hold(
    tree: PointTree, norm: int, orthant: int, place: int, node: int, row: Ints, far: Floats
) -> bool:
    """Tell whether a box may have a point that is nearer than the last one found."""
    points, boxes = tree.points, tree.boxes
    axes, total = points.shape[1], 0.0
    for axis in range(axes):
        x, low, high = points[place, axis], boxes[node, axis], boxes[node, axes + axis]
        if orthant >= 0 and (low >= x if orthant >> axis & 1 else high < x):
            return False
        apart = max(low - x, x - high, 0.0)
        if norm == EUCLIDEAN:
            total += apart * apart
        elif norm == MANHATTAN:
            total += apart
        else:
            total = max(total, apart)
    return total < far[-1] or (total == far[-1] and boxes[node, 2 * axes] < row[-1])


@inlined
def _look(tree: PointTree, norm: int, orthant: int, place: int, leaf: int, row: Ints, far: Floats) -> None:
    """Put the points of a leaf where they belong among those found."""
    points, numbers = tree.points, tree.numbers
    (size, axes), leaves = points.shape, len(tree.boxes) // 2
    for other in range((leaf - leaves) * size // leaves, (leaf - leaves + 1) * size // leaves):
        total, side = 0.0, 0
        for axis in range(axes):
            difference = points[other, axis] - points[place, axis]
            side |= int(difference < 0) << axis
            if norm == EUCLIDEAN:
                total += difference * difference
            elif norm == MANHATTAN:
                total += abs(difference)
            else:
                total = max(total, abs(difference))
        number, at = numbers[other], len(row) - 1
        if other == place or (orthant >= 0 and side != orthant):
            continue
        if total > far[at] or (total == far[at] and number > row[at]):
            continue
        while at > 0 and (total < far[at - 1] or (total == far[at - 1] and number < row[at - 1])):
            row[at], far[at] = row[at - 1], far[at - 1]
            at -= 1
        row[at], far[at] = number, total


@kernel
def find_nearest(metric: KernelMetric, neighbours: Ints, distances: Floats) -> None:
    """Find the nearest others of each site by comparing all pairs; nearest first, written to [N, count]."""
    size, count = neighbours.shape
    for i in range(size):
        found = 0
        for j in range(size):
            far = length(metric, i, j)
            if j == i or (found == count and far >= distances[i, count - 1]):
                continue
            found = min(found + 1, count)
            at = found - 1
            while at > 0 and distances[i, at - 1] > far:
                neighbours[i, at], distances[i, at] = neighbours[i, at - 1], distances[i, at - 1]
                at -= 1
            neighbours[i, at], distances[i, at] = j, far
