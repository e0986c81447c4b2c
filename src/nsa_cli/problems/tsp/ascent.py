"""The bound of Held and Karp for some thousand cities, compiled: its ascent on few edges, its tree over all.

The ascent is on each city's nearest neighbours, in float64; whatever potentials it comes to, the bound is
that of the 1-tree over *all* edges, by Prim's algorithm in whole numbers (`whole_lengths`), a row at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, inlined, kernel
from nsa_cli.problems.tsp import complete_tree
from nsa_cli.problems.tsp.candidates import Graph, Tree, graph_of, grow_tree, new_tree
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.measure import Measure, length, measure_of
from nsa_cli.problems.tsp.surroundings import Surroundings, is_measurable, surroundings_of

#: Part of its last direction that a subgradient step keeps.
_MOMENTUM = 0.4

#: Whole numbers in a matrix are no larger than this, or float64 would round them.
_WHOLE = 2.0**52

#: Places in `Ascent.tally`: the highest value, and the length of a step.
_HIGHEST, _STRIDE = range(2)

#: Seconds that the bound takes at least: of what is done once, a city, and a pair of cities.
_ONCE, _CITY, _PAIR = 3e-4, 2e-6, 3e-9

#: Rounds of the ascent between two looks at the clock.
_LOOK = 20


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


def is_dense(instance: TspInstance) -> bool:
    """Tell whether all pairs of cities may be looked at, by formulas that kernels have to the last bit."""
    if not 3 <= instance.size <= complete_tree.ALL_PAIRS or not is_measurable(instance):
        return False
    if instance.matrix is not None:
        return bool(abs(instance.matrix).max() <= _WHOLE)
    # Trigonometry may differ in the last bit, where a matrix does not hold it.
    return instance.edge_weight_type != "GEO" or instance.size <= 2_000


def whole_total(instance: TspInstance, scale: int, potentials: NDArray[np.int64]) -> int:
    """Weigh the shortest 1-tree over all edges, less twice the potentials, in scaled units.

    Parameters
    ----------
    instance : TspInstance
        As `is_dense` wants it.
    scale : int
        See `nsa_cli.problems.tsp.whole_lengths`.
    potentials : int64[N]
        Of at most 49 bits, beside which lengths have 46.
    """
    measure = measure_of(instance, np.arange(instance.size))
    edges, second = whole_tree(measure, math.ldexp(1.0, scale), potentials)
    total: int = sum(edges.tolist()) + int(second) - 2 * sum(potentials.tolist())
    return total


def least_seconds(size: int) -> float:
    """Time below which there is no point in beginning."""
    return _ONCE + _CITY * size + _PAIR * size**2


def raised(
    instance: TspInstance, rounds: int, end: float, stop: Callable[[], bool]
) -> tuple[NDArray[np.float64], float] | None:
    """Find potentials float64[N], in file units, and their bound on few edges; None for cities on one place.

    Parameters
    ----------
    instance : TspInstance
        As `is_dense` wants it.
    rounds : int
        Subgradient steps if there is time.
    end : float
        By `time.monotonic`.
    stop : callable
        Ends the ascent.
    """
    around = surroundings_of(instance)
    size = len(around.sites.numbers)
    if size < instance.size:
        return None
    graph, tree = _graph(around), new_tree(size)
    ascent = Ascent(np.zeros(size), np.zeros(size), np.zeros(size), np.array([-np.inf, 0.0]))
    done, began = 0, time.monotonic()
    most, end = rounds, end - _PAIR * size**2
    while done < rounds and not stop():
        done = ascend(graph, tree, ascent, done, min(done + min(max(done, 2), _LOOK), rounds), rounds)
        now = time.monotonic()
        if now > end:
            break
        if done == 2:  # these may have waited for a compilation
            began = now
        elif done < rounds and not math.isinf(end):
            rounds = min(most, done + int((end - now) / (now - began) * (done - 2)) + 1)
    potentials = np.empty(size)
    potentials[around.sites.numbers] = ascent.best
    return potentials, float(ascent.tally[_HIGHEST])


def _graph(around: Surroundings) -> Graph:
    """Join near cities, and all along the curve."""
    return graph_of(around.measure, around.neighbours, np.arange(len(around.sites.numbers)))


@kernel
def ascend(graph: Graph, tree: Tree, ascent: Ascent, first: int, last: int, rounds: int) -> int:
    """Go through rounds ``first <= m < last`` of so many; give `last`, or `rounds` where nothing is higher.

    Steps fall to nothing along a parabola (Volgenant and Jonker 1982, "A branch and bound algorithm for the
    symmetric traveling salesman problem based on the 1-tree relaxation"), with momentum.
    """
    potentials, direction, tally = ascent.potentials, ascent.direction, ascent.tally
    size = len(potentials)
    for m in range(first + 1, last + 1):
        value = grow_tree(graph, potentials, tree) + _close(graph, potentials, tree)
        if value > tally[_HIGHEST]:
            tally[_HIGHEST], tally[_STRIDE] = value, abs(value) / (2 * size)
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
            potentials[i] += tally[_STRIDE] * fall * direction[i]
        if is_tour:
            return rounds
    return last


@inlined
def _close(graph: Graph, potentials: NDArray[np.float64], tree: Tree) -> float:
    """Add the heaviest second edge of a leaf to the tree's degrees; give its weight.

    For *any* city, a shortest spanning tree and the city's second lightest edge weigh no more than its
    shortest 1-tree: the tree on the other cities and the lightest edge span everything too.
    """
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


@allocating
def whole_tree(
    measure: Measure, unit: float, potentials: NDArray[np.int64]
) -> tuple[NDArray[np.int64], np.int64]:
    """Find the shortest spanning tree over all edges (Prim 1957), and the heaviest second edge of a city.

    Parameters
    ----------
    measure : Measure
    unit : float
        Lengths are multiplied by this power of two and cut down to whole numbers.
    potentials : int64[N]

    Returns
    -------
    edges : int64[N]
        Weights of the tree's edges, the first of which is none and 0.
    second : int64
    """
    size = len(potentials)
    most = np.iinfo(np.int64).max
    edges = np.full(size, most)
    lightest, second = np.full(size, most), np.full(size, most)
    left = np.arange(size)
    edges[0] = 0
    city, count = 0, size - 1
    left[0] = left[count]
    while count > 0:
        nearest, at = most, 0
        for k in range(count):
            other = left[k]
            whole = np.int64(math.floor(length(measure, city, other) * unit))
            weight = whole + potentials[city] + potentials[other]
            _note(lightest, second, city, weight)
            _note(lightest, second, other, weight)
            edges[other] = min(edges[other], weight)
            if edges[other] < nearest:
                nearest, at = edges[other], k
        city = left[at]
        count -= 1
        left[at] = left[count]
    return edges, second.max()


@inlined
def _note(lightest: NDArray[np.int64], second: NDArray[np.int64], city: int, weight: int) -> None:
    """Keep a city's two lightest edges."""
    if weight < lightest[city]:
        second[city] = lightest[city]
        lightest[city] = weight
    elif weight < second[city]:
        second[city] = weight
