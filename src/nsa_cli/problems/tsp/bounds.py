"""What no tour is shorter than: the 1-tree bound of Held and Karp, and for few cities the optimum itself.

A tour is a spanning tree and one edge more. If every city i has a potential p(i) that is added to all of its
edges, each tour grows by twice the sum of them, so that the shortest 1-tree under the changed lengths, less
that sum, is a bound for any potentials (Held and Karp 1970, 1971). Good ones are found by a subgradient
method on few edges a city; the bound that is reported is then computed over *all* edges, in whole numbers.

Lengths are cut down to whole multiples of ``2 ** -scale`` and potentials are such multiples, so that sums,
comparisons and the bound itself are those of integers, and the potentials are a witness.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Number, Solution
from nsa_cli.problems.tsp import ascent
from nsa_cli.problems.tsp.complete_tree import Whole, one_tree
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.sparse_graph import (
    NEAREST,
    Graph,
    candidates,
    make_graph,
    second_edges,
    spanning_tree,
)
from nsa_cli.problems.tsp.subsets import shortest_tour
from nsa_cli.problems.tsp.whole_lengths import in_file_units, scale_of, scaled

#: Cities up to which the dynamic programme over subsets is a matter of milliseconds.
_FEW = 12

#: Potentials have at most so many bits, some more than lengths.
POTENTIAL_BITS = 49

#: Times that candidates are added, at most: fewer for many cities, and none where the bound on all edges
#: falls short of that on few by less than this share.
_TURNS, _SHORT = 5, 3e-4

#: The same share where the compiled ascent is good enough, which looks at more edges from the beginning.
_MUCH = 2e-3

#: Part of its last direction that a subgradient step keeps.
_MOMENTUM = 0.4


def bound(instance: TspInstance, seconds: float, stop: Callable[[], bool]) -> Bound | None:
    """Bound the length of every tour.

    Parameters
    ----------
    instance : TspInstance
    seconds : float
        What it may take; without need for haste 4 ms for 100 cities, 60 ms for 1,000 and some ten seconds for
        85,900.
    stop : callable
        Ends the method when it says True.

    Returns
    -------
    Bound or None
        None if there was no time.
    """
    if instance.size <= _FEW:
        return _enumerated(instance)
    end, dense = time.monotonic() + seconds, ascent.is_dense(instance)
    if stop() or seconds < (ascent.least_seconds if dense else _least_seconds)(instance.size):
        return None
    scale = scale_of(instance)
    found = (_quickly if dense else _best_potentials)(instance, scale, end, stop)
    if found is None:
        return None
    potentials, total = found
    witness = {"scale": scale, "potentials": potentials.tolist()}
    return Bound(value=in_file_units(instance, total, scale), method="held-karp", witness=witness)


def _enumerated(instance: TspInstance) -> Bound:
    """Find the shortest tour by dynamic programming over subsets (Bellman 1962, Held and Karp 1962)."""
    size, scale = instance.size, scale_of(instance)
    if size < 4:
        tour: Solution = np.arange(size)
        return Bound(value=instance.objective(tour), method="enumeration", exact=True, solution=tour)
    i, j = np.indices((size, size)).reshape(2, -1)
    lengths = scaled(instance, scale, i, j).reshape(size, size)
    total, tour = shortest_tour(lengths)
    value = in_file_units(instance, total, scale)
    return Bound(value=value, method="enumeration", exact=True, solution=tour)


def recompute(instance: TspInstance, witness: Mapping[str, Any]) -> Number:
    """Compute the bound of given potentials over all edges.

    Raises
    ------
    DataError
        If they are none for this instance.
    """
    scale, given = witness.get("scale"), witness.get("potentials")
    size = instance.size
    if not isinstance(scale, int) or abs(scale) > 1100 or not isinstance(given, list) or len(given) != size:
        raise DataError(f"witness: expected a scale and {size} potentials", "witness")
    for i, x in enumerate(given):
        if not isinstance(x, int) or abs(x) > 2**POTENTIAL_BITS:
            raise DataError(
                f"witness: expected a potential of at most {POTENTIAL_BITS} bits, got {shown(str(x))}",
                "witness",
                i,
            )
    if scale > scale_of(instance):
        raise DataError(f"witness: scale {scale} is too fine for these lengths", "witness")
    if size < 3:
        raise DataError("witness: there is one tour only", "witness")
    return in_file_units(instance, _weighed(instance, scale, np.array(given, dtype=np.int64)), scale)


def _weighed(instance: TspInstance, scale: int, potentials: NDArray[np.int64]) -> int:
    """Weigh the 1-tree over all edges, less twice the potentials, in scaled units."""
    if ascent.is_dense(instance):
        return ascent.whole_total(instance, scale, potentials)
    whole = one_tree(instance, candidates(instance), scale, potentials, math.inf, lambda: False)
    assert whole is not None
    return whole.total


def _least_seconds(size: int) -> float:
    """Time below which there is no point in beginning."""
    return 0.002 + 3e-5 * size


def _quickly(
    instance: TspInstance, scale: int, end: float, stop: Callable[[], bool]
) -> tuple[NDArray[np.int64], int] | None:
    """Raise the bound by what is compiled; where all edges make much less of it, by edges added in turns."""
    found: tuple[NDArray[np.int64], int] | None = None
    raised = ascent.raised(instance, _rounds(instance.size), end, stop)
    if raised is not None:
        potentials, hoped = _whole(np.ldexp(raised[0], scale)), math.ldexp(raised[1], scale)
        found = potentials, ascent.whole_total(instance, scale, potentials)
        if hoped - found[1] <= _MUCH * abs(hoped):
            return found
    if stop() or end - time.monotonic() < _least_seconds(instance.size):
        return found
    other = _best_potentials(instance, scale, end, stop)
    if other is None:
        return found
    other = other[0], _weighed(instance, scale, other[0])
    return other if found is None else max(found, other, key=lambda pair: pair[1])


def _whole(potentials: NDArray[np.float64]) -> NDArray[np.int64]:
    """Make whole numbers of potentials, of so many bits at most."""
    limit = 2.0**POTENTIAL_BITS
    whole: NDArray[np.int64] = np.rint(potentials.clip(-limit, limit)).astype(np.int64)
    return whole


def _best_potentials(
    instance: TspInstance, scale: int, end: float, stop: Callable[[], bool]
) -> tuple[NDArray[np.int64], int] | None:
    """Raise the bound on few edges and weigh it on all; where that falls short, add edges and go on."""
    graph, start = candidates(instance), np.zeros(instance.size)
    found: tuple[NDArray[np.int64], int] | None = None
    for _ in range(_turns(instance.size)):
        began = time.monotonic()
        potentials, hoped = _subgradient(instance, graph, scale, start, end, stop)
        whole = None if stop() else one_tree(instance, graph, scale, potentials, end, stop)
        if whole is None:
            break
        if found is None or whole.total > found[1]:
            found = potentials, whole.total
        if hoped - whole.total - whole.cut <= _SHORT * abs(hoped):
            break
        if 2 * time.monotonic() - began > end:  # no time for another turn
            break
        graph = _enriched(graph, whole)
        near = hoped - whole.total <= 0.1 * abs(hoped)
        start = potentials.astype(np.float64) if near else np.zeros(instance.size)
    return found


def _turns(size: int) -> int:
    """Most turns: many cities have candidates enough, and take long."""
    return max(min(_TURNS, 2_000 // size), 1 if size > 20_000 else 2)


def _enriched(graph: Graph, whole: Whole) -> Graph:
    """Add to the candidates each city's lightest edges of all, and the spanning tree of all."""
    edge = np.tile(np.arange(len(whole.weights)), 2)
    city = np.concatenate([whole.graph.i, whole.graph.j])
    order = np.lexsort((whole.weights[edge], city))
    rank = np.arange(len(order)) - np.searchsorted(city[order], city[order])
    few = edge[order][rank < NEAREST]
    parts = [
        (graph.i, graph.j),
        (whole.tree.i, whole.tree.j),
        (whole.graph.i[few], whole.graph.j[few]),
    ]
    return make_graph(graph.size, [(i.astype(np.int64), j.astype(np.int64)) for i, j in parts])


def _subgradient(
    instance: TspInstance,
    graph: Graph,
    scale: int,
    start: NDArray[np.float64],
    end: float,
    stop: Callable[[], bool],
) -> tuple[NDArray[np.int64], float]:
    """Raise the 1-tree bound on the candidate edges; potentials of the best seen and its value, scaled.

    Steps fall to nothing along a parabola (Volgenant and Jonker 1982, "A branch and bound algorithm for
    the symmetric traveling salesman problem based on the 1-tree relaxation"), with momentum.
    """
    lengths = scaled(instance, scale, graph.i, graph.j).astype(np.float64)
    potentials = best = start
    highest, size, direction = -math.inf, 0.0, np.zeros(graph.size)
    rounds, began = _rounds(graph.size), time.monotonic()
    m = 1
    while m <= rounds and not stop():
        value, degrees = _evaluate(graph, lengths + potentials[graph.i] + potentials[graph.j])
        value -= 2 * potentials.sum()
        if value > highest:
            highest, best, size = value, potentials, abs(value) / (2 * graph.size)
        if (degrees == 2).all():
            break  # a tour: nothing is higher
        direction = (1 - _MOMENTUM) * (degrees - 2) + (_MOMENTUM if m > 1 else 0.0) * direction
        fall = (m * m - 3 * (rounds - 1) * m + rounds * (2 * rounds - 3)) / (2 * (rounds - 1) * (rounds - 2))
        potentials = potentials + size * fall * direction
        now = time.monotonic()
        if m == 2:  # the first round pays for imports
            rounds = _affordable(rounds, now - began, end - now)
        began = now
        m += 1
        if now > end:
            break
    return _whole(best), highest


def _rounds(size: int) -> int:
    """Subgradient steps: beyond these, hundredths of a per cent on random cities."""
    return max(30, round(300 * min(1.0, math.sqrt(1000 / size))))


def _affordable(rounds: int, one: float, seconds: float) -> int:
    """Leave half of the time for the bound over all edges."""
    if math.isinf(seconds):
        return rounds
    return max(4, min(rounds, int(0.5 * seconds / max(one, 1e-9))))


def _evaluate(graph: Graph, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Weight and degrees of the spanning tree and the heaviest second edge of a city.

    For *any* city, a shortest spanning tree and the city's second lightest edge weigh no more than its
    shortest 1-tree: the tree on the other cities and the lightest edge span everything too.
    """
    tree = spanning_tree(graph, weights)
    second, edge = second_edges(graph, weights)
    city = int(np.where(np.isfinite(second), second, -np.inf).argmax())
    degrees = np.bincount(tree.i, minlength=graph.size) + np.bincount(tree.j, minlength=graph.size)
    degrees[[graph.i[edge[city]], graph.j[edge[city]]]] += 1
    return float(tree.weights.sum() + second[city]), degrees
