"""Lower bounds on tours: the Held-Karp bound by subgradient ascent; for few cities the optimum itself.

A tour is a spanning tree and one edge more. If every city i has a potential p(i) that is added to all of its
edges, each tour grows by twice the sum of them, so that the shortest 1-tree under the changed lengths, less
that sum, is a bound for any potentials (Held and Karp 1970, 1971). Good ones are found by a subgradient
method on few edges a city, in float64; the bound that is reported is then computed over *all* edges, in
whole numbers (`one_tree`).

Lengths are rounded down to whole multiples of ``2 ** -scale`` and potentials are such multiples, so that
sums, comparisons and the bound itself are those of integers, and the potentials are a witness.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, InfeasibleError, shown
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.closed import ClosedTour, WholeLengths, directed_lengths, searched
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import one_tree as trees
from nsa_cli.problems.tsp.kernels import spanning_tree
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric
from nsa_cli.problems.tsp.kernels.spanning_tree import HIGHEST, Ascent, Graph
from nsa_cli.problems.tsp.neighbour_lists import (
    DEAR_UP_TO,
    NeighbourLists,
    nearest_in_orthants,
    neighbour_lists,
)

#: Cities up to which the dynamic programme over subsets is a matter of milliseconds.
_FEW = 12

#: Potentials have at most so many bits, some more than lengths.
POTENTIAL_BITS = 49

#: Scaled lengths have at most so many bits: float64 still holds sums of some of them exactly.
_LENGTH_BITS = 46

#: Bits of a whole number in a matrix; and of one that float64 does not round.
_WHOLE_BITS, _COMPILED_BITS = 62, 52

#: Pairs of cities between two calls of `stop`, and seconds that a pair takes: compiled, and as arrays.
_LOOK, _PAIR, _ARRAY_PAIR = 2e7, 3e-9, 3e-8

#: Cities beyond which Borůvka's algorithm is used, and seconds that each of them takes.
_MANY, _SEARCHED = 15_000, 6e-6

#: Cities at most whose second edge is then sought.
_SECONDS_TRIED = 20

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
_ROUNDS_LOOK = 20_000

#: Edges as two lists of cities.
Edges = tuple[Ints, Ints]


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
    if _outer(instance).size <= _FEW:
        return _enumerated(instance)
    if (whole := _whole(instance)) is not None:
        if (found := bound(whole.instance, clock)) is None:
            return None
        limit = _possible(instance, found.unrounded * whole.unit)
        return Bound.of(limit, "min", method=found.method, witness=found.witness)
    least = _ONCE + _CITY * instance.size + least_seconds(instance, compiled=is_compiled(instance))
    if clock.reason() or clock.left < least or not instance.has_finite_lengths:
        return None
    scale, lists = scale_of(instance), neighbour_lists(instance)
    merged = _LEAST_SITES <= len(lists.sites.numbers) < instance.size
    if not merged:
        lists = neighbour_lists(instance, merge=False)
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
        cities, graph = _graph(instance, scale, neighbour_lists(instance, merge=False))
        tree = one_tree(cities, graph, potentials[cities.numbers], clock.asked)
        if tree is None:
            return None
        total = tree.total
    witness = {"scale": scale, "potentials": potentials.tolist()}
    limit = _possible(instance, Fraction(total) / Fraction(2) ** scale)
    return Bound.of(limit, "min", method="held-karp", witness=witness)


def recompute(instance: TspInstance, witness: Mapping[str, Any]) -> Exact:
    """Compute the bound of given potentials over all edges, without rounding.

    Raises
    ------
    DataError
        If they are none for this instance.
    """
    if (whole := _whole(searched(instance))) is not None:
        return _possible(instance, recompute(whole.instance, witness) * whole.unit)
    scale, given = witness.get("scale"), witness.get("potentials")
    size = instance.size
    if not isinstance(scale, int) or abs(scale) > 1100 or not isinstance(given, list) or len(given) != size:
        raise DataError(f"witness: expected a scale and {size} potentials", "witness")
    for i, x in enumerate(given):
        if not isinstance(x, int) or abs(x) > 2**POTENTIAL_BITS:
            most = f"at most {POTENTIAL_BITS} bits, got {shown(str(x))}"
            raise DataError(f"witness: expected a potential of {most}", "witness", i)
    finest = scale_of(instance)
    if not finest - 62 <= scale <= finest:
        why = "fine" if scale > finest else "coarse"
        raise DataError(f"witness: scale {scale} is too {why} for these lengths", "witness")
    if size < 3:
        raise DataError("witness: there is one tour only", "witness")
    cities, graph = _graph(instance, scale, neighbour_lists(instance, merge=False))
    tree = one_tree(cities, graph, np.array(given, dtype=np.int64)[cities.numbers])
    assert tree is not None
    return _possible(instance, Fraction(tree.total) / Fraction(2) ** scale)


def _close_one(graph: Graph, potentials: Ints, scale: int, lists: NeighbourLists) -> None:
    """Raise the potential of one place as far as its cities still cling together.

    The two lightest edges of each city join it to others on the same place, so that the edge that closes the
    1-tree weighs twice a potential, and would otherwise be light. Of some places the best one is taken.
    """
    tree, cities = spanning_tree.new_tree(len(potentials)), np.bincount(lists.sites.site)
    to_others = np.floor(np.ldexp(lists.distances, scale))

    def highest(p: Floats) -> Floats:
        return np.asarray((p[lists.neighbours] + to_others).min(axis=1))

    def bound_of(p: Floats) -> float:
        """The 1-tree of all cities, as far as near places tell."""
        inner = np.minimum(2 * p, p + highest(p))
        more = float(((cities - 1) * (inner - 2 * p)).sum() + inner[cities > 1].max())
        return float(spanning_tree.grow_tree(graph, p, tree)) + more

    plain = potentials.astype(np.float64)
    limit = np.minimum(highest(plain), 2.0**POTENTIAL_BITS)
    tries = [plain]
    for place in np.argsort(-limit, kind="stable")[:_TRIED].tolist():
        if cities[place] > 1 and limit[place] > plain[place]:
            tries.append(plain.copy())
            tries[-1][place] = limit[place]
    potentials[:] = max(tries, key=bound_of)


def _graph(instance: TspInstance, scale: int, lists: NeighbourLists) -> tuple[ScaledCities, Graph]:
    """Join near sites, and all along the curve."""
    cities = ScaledCities(instance, scale, lists.sites.numbers, lists.metric, is_compiled(instance))
    graph = spanning_tree.graph_of(lists.metric, lists.neighbours, np.arange(len(lists.sites.numbers)))
    return cities, graph._replace(lengths=np.floor(np.ldexp(graph.lengths, scale)))


def _best_potentials(cities: ScaledCities, graph: Graph, clock: Clock) -> tuple[int, Ints] | None:
    """Raise the bound on few edges and weigh it on all; where that falls short, add edges and go on."""
    start, share = np.zeros(len(cities.numbers)), 1.0
    affordable = _WEIGHED // (len(start) if cities.compiled else 2 * len(start))
    found: tuple[int, Ints] | None = None
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


def _near_and_around(cities: ScaledCities) -> list[Edges]:
    """Edges to the nearest cities on each side, which join clusters as well.

    Of few cities all edges, of a matrix none.
    """
    if len(cities.numbers) <= _ALL_EDGES:
        return [np.triu_indices(len(cities.numbers), 1)]
    if cities.instance.matrix is not None:
        return []
    around = nearest_in_orthants(cities.instance.measured[cities.numbers])
    city, k = np.nonzero(around >= 0)
    return [(city, around[city, k])]


def _rounds(size: int) -> int:
    """Subgradient steps: beyond these, hundredths of a per cent on random cities."""
    return max(100, round(300 * min(1.0, math.sqrt(1000 / size))))


def _raised(cities: ScaledCities, graph: Graph, start: Floats, share: float, clock: Clock) -> Ascent:
    """Raise the bound on few edges from given potentials, by steps of a share of the usual; scaled units."""
    size, began = len(start), time.monotonic()
    end = clock.end - least_seconds(cities.instance, compiled=cities.compiled)
    ascent = Ascent(start.copy(), start.copy(), np.zeros(size), np.array([-np.inf, 0.0]))
    tree, done, most = spanning_tree.new_tree(size), 0, _rounds(size)
    rounds, look = most, max(min(_ROUNDS_LOOK // size, 20), 1)
    while done < rounds and not clock.asked():
        last = min(done + min(max(done, 2), look), rounds)
        done = spanning_tree.ascend(graph, tree, ascent, share, done, last, rounds)
        now = time.monotonic()
        if now > end:
            break
        if done <= 2:  # these may have waited for a compilation
            began = now
        elif done < rounds and not math.isinf(end):
            rounds = min(most, done + int((end - now) / (now - began) * (done - 2)) + 1)
    return ascent


# --- few cities --------------------------------------------------------------------------------------


def _enumerated(instance: TspInstance) -> Bound:
    """Make the bound that a shortest tour of few cities is, or say that there is none."""
    tour = np.arange(instance.size)
    if isinstance(instance, ClosedTour):
        _, backwards = shortest_tour(directed_lengths(instance.outer))
        tour = instance.inward(instance.opened(backwards[::-1]))
    elif instance.size > 3:
        _, tour = shortest_tour(instance.exact_edges(*np.indices((instance.size, instance.size))).units)
    if (why := instance.violation(tour)) is not None:
        raise InfeasibleError(f"there is no tour of the edges that are there; of the shortest one, {why}")
    limit = instance.exact_objective(tour)
    return Bound.of(limit, "min", method="enumeration", exact=True, solution=tour)


def shortest_tour(lengths: NDArray[Any]) -> tuple[int, Solution]:
    """Visit the subsets of all cities but the last by rising number; ``paths[S, e]`` ends in e.

    Parameters
    ----------
    lengths : int64[N, N], or Python integers where sums might not fit
    """
    last = len(lengths) - 1
    far = 2 * (last + 2) * max(int(abs(lengths).max()), 1)  # whatever is added stays far
    lengths = lengths.astype(np.int64 if far < 2**61 else object)
    paths = np.full((1 << last, last), far, dtype=lengths.dtype)
    for city in range(last):
        paths[1 << city, city] = lengths[last, city]
    inner = lengths[:last, :last]
    for subset in range(1, 1 << last):
        for city in _cities(subset):
            if subset != 1 << city:
                paths[subset, city] = (paths[subset ^ (1 << city)] + inner[:, city]).min()
    subset = (1 << last) - 1
    ends = paths[subset] + lengths[:last, last]
    tour, here = [last], int(ends.argmin())
    while True:
        tour.append(here)
        subset ^= 1 << here
        if not subset:
            return int(ends.min()), np.array(tour)
        here = int((paths[subset] + inner[:, here]).argmin())


@functools.cache
def _cities(subset: int) -> tuple[int, ...]:
    return tuple(k for k in range(subset.bit_length()) if subset >> k & 1)


# --- whole lengths -----------------------------------------------------------------------------------


def _outer(instance: TspInstance) -> TspInstance:
    """Give the user's instance."""
    return instance.outer if isinstance(instance, ClosedTour) else instance


def _is_whole(instance: TspInstance) -> bool:
    """Tell whether all edge lengths are whole numbers."""
    if instance.matrix is not None:
        return bool(instance.matrix.dtype == np.int64)
    return instance.metric is not None and instance.metric.rounded


def _possible(instance: TspInstance, limit: Exact) -> Exact:
    """Raise a bound to the next length that a tour may have: a whole number where lengths are whole."""
    return math.ceil(limit) if _is_whole(_outer(instance)) else limit


def _whole(instance: TspInstance) -> WholeLengths | None:
    """Make lengths in a matrix whole, rounded down where bits are too few; None where none are needed."""
    if isinstance(instance, ClosedTour):
        return instance.whole()
    if instance.matrix is None or _is_whole(instance):
        return None
    numbers, shift = instance.exact_matrix, 0
    units = numbers.units
    if units.dtype != np.int64:
        shift = max(int(abs(units).max()).bit_length() - _WHOLE_BITS, 0)
        units = (units >> shift).astype(np.int64)
    whole = TspInstance(edge_weight_type="EXPLICIT", matrix=units)
    return WholeLengths(whole, Fraction(1 << shift, numbers.denominator))


def scale_of(instance: TspInstance) -> int:
    """The finest scale at which no length has more than its bits."""
    if instance.matrix is not None:
        longest = float(abs(instance.matrix.astype(np.float64)).max(initial=0.0))
    elif instance.metric is None or instance.metric.per_unit is None:
        longest = 2e4 * 1.1  # half around the globe, in km
    else:
        apart = float((instance.measured.max(axis=0) - instance.measured.min(axis=0)).sum())
        longest = 2.0 + apart if instance.metric.rounded else max(apart, 5e-324)
    if longest == 0.0:
        return 0
    scale = _LENGTH_BITS - math.frexp(longest)[1]
    # Whole lengths need no finer unit than potentials make use of.
    return min(scale, 16) if _is_whole(instance) else min(scale, 1000)


def scaled(instance: TspInstance, scale: int, i: NDArray[Any], j: NDArray[Any]) -> Ints:
    """Lengths of edges in whole multiples of ``2 ** -scale``, rounded down."""
    lengths = instance.edges(i, j)
    if lengths.dtype == np.int64:
        return np.asarray(lengths << scale if scale >= 0 else lengths >> -scale)
    return np.floor(np.ldexp(lengths, scale)).astype(np.int64)


# --- 1-trees over all edges --------------------------------------------------------------------------


class ScaledCities(NamedTuple):
    """An instance's cities renumbered, and its lengths in whole multiples of ``2 ** -scale``.

    Attributes
    ----------
    instance : TspInstance
    scale : int
        See `scale_of`.
    numbers : int64[N]
        The city of the file of each number.
    metric : KernelMetric
        Of the numbers.
    compiled : bool
        As `is_compiled` says.
    """

    instance: TspInstance
    scale: int
    numbers: Ints
    metric: KernelMetric
    compiled: bool

    def lengths(self, i: Ints, j: Ints) -> Ints:
        """Lengths of edges, rounded down."""
        return scaled(self.instance, self.scale, self.numbers[i], self.numbers[j])

    def with_edges(self, graph: Graph, *more: Edges) -> Graph:
        """Add edges to a graph of scaled lengths, each once."""
        size = len(self.numbers)
        known = np.repeat(np.arange(size), np.diff(graph.first)), graph.to
        i, j = (np.concatenate(ends) for ends in zip(known, *more, strict=True))
        keys = np.unique(np.concatenate([i * size + j, j * size + i])[np.tile(i != j, 2)])
        i, j = keys // size, keys % size
        return Graph(np.searchsorted(i, np.arange(size + 1)), j, self.lengths(i, j).astype(np.float64))


class OneTree(NamedTuple):
    """The shortest 1-tree of the complete graph.

    Attributes
    ----------
    total : int
        Its weight, less twice the potentials, in scaled units.
    edges : (int64[E], int64[E]) or None
        Its tree, and each city's two lightest edges; None of many cities.
    """

    total: int
    edges: Edges | None


def one_tree(
    cities: ScaledCities, graph: Graph, potentials: Ints, stop: Callable[[], bool] = lambda: False
) -> OneTree | None:
    """Find the shortest 1-tree of the complete graph.

    Parameters
    ----------
    cities : ScaledCities
    graph : Graph
        Some edges with scaled lengths, two a city or more.
    potentials : int64[N]
        Of at most 49 bits, beside which lengths have 46.
    stop : callable
        Ends the search when it says True.

    Returns
    -------
    OneTree or None
        None if it was stopped.
    """
    size, most = len(potentials), np.iinfo(np.int64).max
    if is_searched(cities.instance, compiled=cities.compiled):
        return _one_tree_of_many(cities, graph, potentials, stop)
    weights, lightest, second = (np.full(size, most) for _ in range(3))
    weights[0] = 0
    left = np.roll(np.arange(size), -1)
    ends, row = np.zeros((size, 3), np.int64), np.empty(size, np.int64)
    prim = trees.Prim(potentials, weights, ends, lightest, second, left, row, np.array([0, size - 1]))
    while (count := int(prim.counts[trees.LEFT])) > 0:
        if stop():
            return None
        if cities.compiled:
            trees.grow(cities.metric, math.ldexp(1.0, cities.scale), prim, int(_LOOK) // count + 1)
        else:
            row[:count] = cities.lengths(np.full(count, prim.counts[trees.LAST]), left[:count])
            trees.join(prim)
    total = sum(weights.tolist()) + int(second.max()) - 2 * sum(potentials.tolist())
    return OneTree(total, (np.repeat(np.arange(size), 3), ends.ravel()))


def _one_tree_of_many(
    cities: ScaledCities, graph: Graph, potentials: Ints, stop: Callable[[], bool]
) -> OneTree | None:
    """Add the heaviest second edge of the cities whose second edge in the graph is heavy."""
    size = len(potentials)
    weight = trees.spanning_weight(cities.metric, math.ldexp(1.0, cities.scale), graph, potentials, stop)
    if weight is None:
        return None
    owner = np.repeat(np.arange(size), np.diff(graph.first))
    weights = graph.lengths + potentials[owner] + potentials[graph.to]
    second = spanning_tree.choose(graph, weights, 2)[2].reshape(size, 2).max(axis=1)
    heaviest = -math.inf
    for city in np.argsort(-second)[:_SECONDS_TRIED]:
        if second[city] <= heaviest:
            break
        others = np.delete(np.arange(size), city)
        row = cities.lengths(np.full(size - 1, city), others) + potentials[city] + potentials[others]
        heaviest = max(heaviest, int(np.partition(row, 1)[1]))
    return OneTree(weight + heaviest - 2 * sum(potentials.tolist()), None)


def is_compiled(instance: TspInstance) -> bool:
    """Tell whether kernels have an instance's lengths to the last bit.

    Whole numbers beyond 52 bits are none of float64, and trigonometry may differ where no matrix holds it.
    """
    if instance.matrix is not None:
        return bool(abs(instance.matrix).max() <= 2.0**_COMPILED_BITS)
    return instance.edge_weight_type != "GEO" or instance.size <= DEAR_UP_TO


def is_searched(instance: TspInstance, *, compiled: bool) -> bool:
    """Tell whether Borůvka's algorithm finds the tree."""
    return compiled and instance.matrix is None and instance.size > _MANY


def least_seconds(instance: TspInstance, *, compiled: bool) -> float:
    """Estimate the time that a 1-tree takes."""
    if is_searched(instance, compiled=compiled):
        return _SEARCHED * instance.size
    return (_PAIR if compiled else _ARRAY_PAIR) * instance.size**2
