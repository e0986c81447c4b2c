"""The Held-Karp bound: subgradient ascent of 1-trees; for few cities the optimum itself.

A tour is a spanning tree and one edge more. If every city i has a potential p(i) that is added to all of its
edges, each tour grows by twice the sum of them, so that the shortest 1-tree under the changed lengths, less
that sum, is a bound for any potentials (Held and Karp 1970, 1971). Good ones are found by a subgradient
method on few edges a city, in float64; the bound that is reported is then computed over *all* edges, in
whole numbers (`one_tree`).

Lengths are rounded down to whole multiples of ``2 ** -scale`` and potentials are such multiples, so that
sums, comparisons and the bound itself are those of integers, and the potentials are a witness.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, InfeasibleError, shown
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.bound.dynamic_programme import shortest_tour
from nsa_cli.problems.tsp.bound.integer_lengths import in_file_units, is_whole, scale_of, whole_matrix
from nsa_cli.problems.tsp.bound.one_tree import Edges, ScaledCities, is_compiled, least_seconds, one_tree
from nsa_cli.problems.tsp.closed import ClosedTour, directed_lengths, searched
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.ascent import HIGHEST, Ascent, ascend
from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, graph_of, grow_tree, new_tree
from nsa_cli.problems.tsp.neighbour_lists import (
    NeighbourLists,
    lists_of,
    nearest_in_orthants,
    neighbour_lists,
    sites_of,
)

#: Cities up to which the dynamic programme over subsets is a matter of milliseconds.
_FEW = 12

#: Potentials have at most so many bits, some more than lengths.
POTENTIAL_BITS = 49

#: Ascents at most: so many, and so many cities over all of them, or half as many where lengths are not
#: compiled. Each begins where the last one ended, and has more edges.
_TURNS, _WEIGHED = 10, 30_000

#: An ascent is the last one if the 1-tree over all edges falls short of that on few by no more than the first
#: share, and the ascent gained no more than the second.
_MUCH, _LITTLE = 2e-3, 1e-4

#: Below this share of what the first ascent hoped for, potentials may be worse than none.
_POOR = 0.5

#: Places from which on they are bounded before the cities on them.
_LEAST_SITES = 2

#: Places that are tried for the edge that closes the 1-tree.
_TRIED = 50

#: Cities up to which all edges are as good as those of near cities.
_ALL_EDGES = 60

#: Cities up to which one ascent is enough as a rule.
_EASY = 6_000

#: Seconds that the bound takes at least: of what is done once, and a city; 1-trees aside.
_ONCE, _CITY = 3e-4, 2e-6

#: Cities times rounds of the ascent between two looks at the clock.
_LOOK = 20_000


def bound(instance: TspInstance, clock: Clock) -> Bound | None:
    """Bound the length of every tour.

    Parameters
    ----------
    instance : TspInstance
    clock : Clock
        Without a limit it takes 4 ms for 100 cities, 60 ms for 1,000 and 3 s for 85,900.

    Returns
    -------
    Bound or None
        None if there was no time.
    """
    if (closed := searched(instance)) is not instance:
        found = bound(closed, clock)
        again = None if found is None or found.solution is None else closed.outward(found.solution)
        return found and replace(found, solution=again)
    if isinstance(instance, ClosedTour):
        return _closed(instance, clock)
    if instance.size <= _FEW:
        return _enumerated(instance)
    if instance.matrix is not None and not is_whole(instance):
        whole = whole_matrix(instance)
        if (found := bound(whole.instance, clock)) is None:
            return None
        limit = found.unrounded * whole.unit
        return Bound.of(limit, "min", method=found.method, witness=found.witness)
    least = _ONCE + _CITY * instance.size + least_seconds(instance, compiled=is_compiled(instance))
    if clock.reason() or clock.left < least or not instance.has_finite_lengths:
        return None
    scale, lists = scale_of(instance), neighbour_lists(instance)
    merged = _LEAST_SITES <= len(lists.sites.numbers) < instance.size
    if not merged:
        lists = _apart(instance)
    cities, graph = _graph(instance, scale, lists)
    raised = _best_potentials(cities, graph, clock)
    if raised is None:
        return None
    total, best = raised
    if merged:
        _close_one(graph, best, scale, lists)
    potentials = best[lists.sites.site]
    if merged:
        # Rounded lengths need not obey the triangle inequality, so that a bound for the places is none for
        # the cities on them: these are weighed by themselves, with the potentials of their places.
        cities, graph = _graph(instance, scale, _apart(instance))
        tree = one_tree(cities, graph, potentials[cities.numbers], clock.asked)
        if tree is None:
            return None
        total = tree.total
    witness = {"scale": scale, "potentials": potentials.tolist()}
    limit = in_file_units(instance, total, scale)
    return Bound.of(limit, "min", method="held-karp", witness=witness)


def _closed(instance: ClosedTour, clock: Clock) -> Bound | None:
    """Bound the tours of another instance, in its units."""
    outer = instance.outer
    if outer.size <= _FEW:
        _, backwards = shortest_tour(directed_lengths(outer))
        tour = instance.opened(backwards[::-1])
        return _met(outer, tour, instance.inward(tour))
    whole = instance.whole()
    if (found := bound(whole.instance, clock)) is None:
        return None
    limit = _in_units_of(outer, found.unrounded * whole.unit)
    return Bound.of(limit, "min", method=found.method, witness=found.witness)


def _in_units_of(outer: TspInstance, limit: Exact) -> Exact:
    return math.ceil(limit) if is_whole(outer) else limit


def _enumerated(instance: TspInstance) -> Bound:
    """Find the shortest tour by dynamic programming over subsets (Bellman 1962, Held and Karp 1962)."""
    size = instance.size
    tour: Solution = np.arange(size)
    if size > 3:
        i, j = np.indices((size, size))
        _, tour = shortest_tour(instance.exact_edges(i, j).units)
    return _met(instance, tour, tour)


def _met(instance: TspInstance, tour: Solution, solution: Solution) -> Bound:
    """Make the bound that a shortest tour is, or say that there is none."""
    if (why := instance.violation(tour)) is not None:
        raise InfeasibleError(f"there is no tour of the edges that are there; of the shortest one, {why}")
    limit = instance.exact_objective(tour)
    return Bound.of(limit, "min", method="enumeration", exact=True, solution=solution)


def recompute(instance: TspInstance, witness: Mapping[str, Any]) -> Exact:
    """Compute the bound of given potentials over all edges, without rounding.

    Raises
    ------
    DataError
        If they are none for this instance.
    """
    if isinstance(closed := searched(instance), ClosedTour):
        lengths = closed.whole()
        return _in_units_of(closed.outer, recompute(lengths.instance, witness) * lengths.unit)
    if instance.matrix is not None and not is_whole(instance):
        whole = whole_matrix(instance)
        return recompute(whole.instance, witness) * whole.unit
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
    finest = scale_of(instance)
    if not finest - 62 <= scale <= finest:
        why = "fine" if scale > finest else "coarse"
        raise DataError(f"witness: scale {scale} is too {why} for these lengths", "witness")
    if size < 3:
        raise DataError("witness: there is one tour only", "witness")
    cities, graph = _graph(instance, scale, _apart(instance))
    tree = one_tree(cities, graph, np.array(given, dtype=np.int64)[cities.numbers])
    assert tree is not None
    return in_file_units(instance, tree.total, scale)


def _close_one(graph: Graph, potentials: NDArray[np.int64], scale: int, lists: NeighbourLists) -> None:
    """Raise the potential of one place as far as its cities still cling together.

    The two lightest edges of each city join it to others on the same place, so that the edge that closes the
    1-tree weighs twice a potential, and would otherwise be light. Of some places the best one is taken.
    """
    tree, cities = new_tree(len(potentials)), np.bincount(lists.sites.site)
    to_others = np.floor(np.ldexp(lists.distances, scale))

    def highest(p: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((p[lists.neighbours] + to_others).min(axis=1))

    def bound_of(p: NDArray[np.float64]) -> float:
        """The 1-tree of all cities, as far as near places tell."""
        inner = np.minimum(2 * p, p + highest(p))
        more = float(((cities - 1) * (inner - 2 * p)).sum() + inner[cities > 1].max())
        return float(grow_tree(graph, p, tree)) + more

    plain = potentials.astype(np.float64)
    limit = np.minimum(highest(plain), 2.0**POTENTIAL_BITS)
    tries = [plain]
    for place in np.argsort(-limit, kind="stable")[:_TRIED].tolist():
        if cities[place] > 1 and limit[place] > plain[place]:
            tries.append(plain.copy())
            tries[-1][place] = limit[place]
    potentials[:] = max(tries, key=bound_of)


def _apart(instance: TspInstance) -> NeighbourLists:
    """Neighbour lists in which coincident cities are not one."""
    lists = neighbour_lists(instance)
    if len(lists.sites.numbers) == instance.size:
        return lists
    return lists_of(instance, sites_of(instance, merge=False))


def _graph(instance: TspInstance, scale: int, lists: NeighbourLists) -> tuple[ScaledCities, Graph]:
    """Join near sites, and all along the curve."""
    cities = ScaledCities(instance, scale, lists.sites.numbers, lists.metric, is_compiled(instance))
    graph = graph_of(lists.metric, lists.neighbours, np.arange(len(lists.sites.numbers)))
    return cities, graph._replace(lengths=np.floor(np.ldexp(graph.lengths, scale)))


def _best_potentials(
    cities: ScaledCities, graph: Graph, clock: Clock
) -> tuple[int, NDArray[np.int64]] | None:
    """Raise the bound on few edges and weigh it on all; where that falls short, add edges and go on."""
    start, share = np.zeros(len(cities.numbers)), 1.0
    affordable = _WEIGHED // (len(start) if cities.compiled else 2 * len(start))
    found: tuple[int, NDArray[np.int64]] | None = None
    for turn in range(max(min(_TURNS, affordable), 1)):
        began = time.monotonic()
        ascent = _raised(cities, graph, start, share, clock)
        limit, hoped = 2.0**POTENTIAL_BITS, ascent.tally[HIGHEST]
        potentials = np.rint(ascent.best.clip(-limit, limit)).astype(np.int64)
        tree = one_tree(cities, graph, potentials, clock.asked)
        if tree is None:
            break
        if turn == 0 and tree.total < _POOR * hoped:  # the edges at hand say little of the others
            plain = one_tree(cities, graph, 0 * potentials, clock.asked)
            if plain is not None and plain.total > tree.total:
                tree, potentials = plain, 0 * potentials
        short, gained = hoped - tree.total, math.inf if found is None else tree.total - found[0]
        if gained > 0:
            found = tree.total, potentials
        if short <= _MUCH * abs(hoped):
            if (share < 1.0 and gained <= _LITTLE * abs(hoped)) or (turn == 0 and _is_easy(cities)):
                break
            share *= 0.5 if gained <= _MUCH * abs(hoped) else 1.0
        if tree.edges is None or time.monotonic() - began > clock.left:
            break
        graph = cities.with_edges(graph, tree.edges, *([] if turn else _near_and_around(cities)))
        start = ascent.best if hoped - tree.total <= 0.1 * abs(hoped) else 0.0 * start
    return found


def _is_easy(cities: ScaledCities) -> bool:
    """Tell whether a further ascent is worth its time only where edges lack: few cities, all apart."""
    size, sites = len(cities.numbers), neighbour_lists(cities.instance).sites
    return cities.compiled and size <= _EASY and len(sites.numbers) == size


def _near_and_around(cities: ScaledCities) -> Iterator[Edges]:
    """Edges to the nearest cities on each side, which join clusters as well.

    Of few cities all edges, of a matrix none.
    """
    if len(cities.numbers) <= _ALL_EDGES:
        yield np.triu_indices(len(cities.numbers), 1)
    elif cities.instance.matrix is None:
        around = nearest_in_orthants(cities.instance.measured[cities.numbers])
        city, k = np.nonzero(around >= 0)
        yield city, around[city, k]


def _rounds(size: int) -> int:
    """Subgradient steps: beyond these, hundredths of a per cent on random cities."""
    return max(100, round(300 * min(1.0, math.sqrt(1000 / size))))


def _raised(
    cities: ScaledCities,
    graph: Graph,
    start: NDArray[np.float64],
    share: float,
    clock: Clock,
) -> Ascent:
    """Raise the bound on few edges from given potentials, by steps of a share of the usual; scaled units."""
    size, began = len(start), time.monotonic()
    end = clock.end - least_seconds(cities.instance, compiled=cities.compiled)
    ascent = Ascent(start.copy(), start.copy(), np.zeros(size), np.array([-np.inf, 0.0]))
    tree, done, most = new_tree(size), 0, _rounds(size)
    rounds, look = most, max(min(_LOOK // size, 20), 1)
    while done < rounds and not clock.asked():
        done = ascend(graph, tree, ascent, share, done, min(done + min(max(done, 2), look), rounds), rounds)
        now = time.monotonic()
        if now > end:
            break
        if done <= 2:  # these may have waited for a compilation
            began = now
        elif done < rounds and not math.isinf(end):
            rounds = min(most, done + int((end - now) / (now - began) * (done - 2)) + 1)
    return ascent
