"""Subgradient ascent of 1-trees (Held and Karp 1971): potentials that raise the bound on few edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, Tree, grow_tree

#: Part of its last direction that a subgradient step keeps.
_MOMENTUM = 0.4

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

    potentials: NDArray[np.float64]
    best: NDArray[np.float64]
    direction: NDArray[np.float64]
    tally: NDArray[np.float64]


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
        if value > tally[HIGHEST]:
            tally[HIGHEST], tally[STRIDE] = value, share * abs(value) / (2 * size)
            for i in range(size):
                ascent.best[i] = potentials[i]
        fall = (m * m - 3.0 * (rounds - 1) * m + rounds * (2.0 * rounds - 3)) / (
            2.0 * (rounds - 1) * (rounds - 2)
        )
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
def _close(graph: Graph, potentials: NDArray[np.float64], tree: Tree) -> float:
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
