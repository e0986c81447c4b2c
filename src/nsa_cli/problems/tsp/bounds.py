"""What no tour is shorter than: the 1-tree bound of Held and Karp, and for few cities the optimum itself.

A tour is a spanning tree and one edge more. If every city i has a potential p(i) that is added to all of its
edges, each tour grows by twice the sum of them, so that the shortest 1-tree under the changed lengths, less
that sum, is a bound for any potentials (Held and Karp 1970, 1971). Good ones are found by a subgradient
method on few edges a city; the bound that is reported is then computed over *all* edges, in whole numbers.

Lengths are cut down to whole multiples of ``2 ** -scale`` and potentials are such multiples, so that sums,
comparisons and the bound itself are those of integers, and the potentials are a witness.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound, rounded_outwards
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Number, Solution
from nsa_cli.problems.tsp.heuristics import _positions, neighbours
from nsa_cli.problems.tsp.instance import TspInstance

#: Cities up to which the dynamic programme over subsets is a matter of milliseconds.
_FEW = 12

#: Scaled lengths have at most so many bits, potentials some more: float64 holds their sums exactly.
_LENGTH_BITS, _POTENTIAL_BITS = 46, 49

#: Nearest neighbours of a city among the candidate edges.
_NEAREST = 6

#: Cities up to which all pairs are looked at, a block of so many at a time.
_ALL_PAIRS, _BLOCK = 6_000, 2**18

#: Pairs a city that may be listed beside the candidates, at least and at most, and seconds a pair takes.
_LISTED, _PAIR_SECONDS = (30, 350), 3e-7

#: Classes of cities of like potential, which are searched for near pairs with a radius of their own.
_CLASSES = 12

#: Times that candidates are added, at most: fewer for many cities, and none where the bound on all edges
#: falls short of that on few by less than this share.
_TURNS, _SHORT = 5, 3e-4

#: Edges a city that are listed before they are weeded out.
_MANY = 20

#: Part of its last direction that a subgradient step keeps.
_MOMENTUM = 0.4

Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


class _Graph(NamedTuple):
    """Some edges ``i < j`` of the complete graph, sorted, that connect all cities.

    Attributes
    ----------
    size : int
    i, j : int32[E]
    rows : int32[N + 1]
        Where the edges of each `i` begin.
    """

    size: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rows: NDArray[np.int32]


class _Whole(NamedTuple):
    """The 1-tree of the complete graph.

    Attributes
    ----------
    total : int
        Its weight, less twice the potentials, in scaled units.
    cut : float
        What it may lack because edges were taken to weigh no more than a limit.
    graph : _Graph
        Edges among which it is, with their `weights` int64[E].
    tree : _Tree
    """

    total: int
    cut: float
    graph: _Graph
    weights: NDArray[np.int64]
    tree: _Tree


class _Tree(NamedTuple):
    """A minimum spanning tree: its edges and their weights, [N - 1] each."""

    i: NDArray[np.int32]
    j: NDArray[np.int32]
    weights: NDArray[np.float64]


def bound(instance: TspInstance, seconds: float, stop: Callable[[], bool]) -> Bound | None:
    """Bound the length of every tour.

    Parameters
    ----------
    instance : TspInstance
    seconds : float
        What it may take; without need for haste a twentieth of a second for 100 cities, half a second for
        1,000 and ten for 85,900.
    stop : callable
        Ends the method when it says True.

    Returns
    -------
    Bound or None
        None if there was no time.
    """
    if instance.size <= _FEW:
        return _enumerated(instance)
    end = time.monotonic() + seconds
    if seconds < _least_seconds(instance.size):
        return None
    scale = _scale_of(instance)
    found = _best_potentials(instance, scale, end, stop)
    if found is None:
        return None
    potentials, total = found
    witness = {"scale": scale, "potentials": potentials.tolist()}
    return Bound(value=_in_file_units(instance, total, scale), method="held-karp", witness=witness)


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
        if not isinstance(x, int) or abs(x) > 2**_POTENTIAL_BITS:
            raise DataError(
                f"witness: expected a potential of at most {_POTENTIAL_BITS} bits, got {shown(str(x))}",
                "witness",
                i,
            )
    if scale > _scale_of(instance):
        raise DataError(f"witness: scale {scale} is too fine for these lengths", "witness")
    if size < 3:
        raise DataError("witness: there is one tour only", "witness")
    potentials = np.array(given, dtype=np.int64)
    whole = _one_tree(instance, _candidates(instance), scale, potentials, math.inf, lambda: False)
    assert whole is not None
    return _in_file_units(instance, whole.total, scale)


def _least_seconds(size: int) -> float:
    """Time below which there is no point in beginning."""
    return 0.002 + 3e-5 * size


# --- whole numbers -----------------------------------------------------------------------------------


def _is_whole(instance: TspInstance) -> bool:
    if instance.matrix is not None:
        return bool(instance.matrix.dtype == np.int64)
    return instance.metric is not None and instance.metric.rounded


def _scale_of(instance: TspInstance) -> int:
    """The finest scale at which no length has more than its bits."""
    if instance.matrix is not None:
        longest = float(abs(instance.matrix.astype(np.float64)).max(initial=0.0))
    else:
        assert instance.metric is not None
        corners = [f(instance.measured, axis=0, keepdims=True) for f in (np.min, np.max)]
        if instance.metric.per_unit is None:
            longest = 2e4 * 1.1  # half around the globe, in km
        else:
            longest = 2.0 + float(abs(corners[1] - corners[0]).sum())
            longest = longest if instance.metric.rounded else max(longest - 2.0, 5e-324)
    if longest == 0.0:
        return 0
    scale = _LENGTH_BITS - math.frexp(longest)[1]
    # Whole lengths need no finer unit than potentials make use of.
    return min(scale, 16) if _is_whole(instance) else min(scale, 1000)


def _scaled(instance: TspInstance, scale: int, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.int64]:
    """Lengths of edges in whole multiples of ``2 ** -scale``, rounded down."""
    lengths = instance.edges(i, j)
    if lengths.dtype == np.int64:
        return np.asarray(lengths << scale if scale >= 0 else lengths >> -scale)
    whole: NDArray[np.int64] = np.floor(np.ldexp(lengths, scale)).astype(np.int64)
    return whole


def _in_file_units(instance: TspInstance, total: int, scale: int) -> Number:
    value = Fraction(total) / Fraction(2) ** scale
    return math.ceil(value) if _is_whole(instance) else rounded_outwards(value, "min")


# --- candidate edges ---------------------------------------------------------------------------------


def _graph(size: int, parts: list[Edges]) -> _Graph:
    """Sort edges and drop those that come twice."""
    i, j = (np.concatenate(ends).astype(np.int64) for ends in zip(*parts, strict=True))
    keys = np.unique(np.minimum(i, j) * size + np.maximum(i, j))
    i, j = keys // size, keys % size
    i, j = i[i != j], j[i != j]
    rows = np.searchsorted(i, np.arange(size + 1))
    return _Graph(size, i.astype(np.int32), j.astype(np.int32), rows.astype(np.int32))


def _candidates(instance: TspInstance) -> _Graph:
    """Choose few edges a city that good 1-trees are made of: neighbours, and what connects them."""
    size = instance.size
    near = min(_NEAREST, size - 1)
    everyone = np.arange(size)
    if instance.matrix is not None:
        lengths = instance.matrix.astype(np.float64)
        np.fill_diagonal(lengths, np.inf)
        nearest = np.argpartition(lengths, near - 1, axis=1)[:, :near].ravel()
        return _graph(size, [(np.repeat(everyone, near), nearest), _spanning_pairs(instance.matrix)])
    i, j = neighbours(instance, everyone, near)
    parts = [(i.ravel(), j.ravel()), *_triangles(instance.measured)]
    order = np.lexsort(instance.measured.T)  # a chain connects what nothing else does
    return _connected(_graph(size, parts), (order[:-1], order[1:]))


def _spanning_pairs(matrix: NDArray[Any]) -> Edges:
    from scipy.sparse.csgraph import minimum_spanning_tree

    lengths = matrix.astype(np.float64)
    tree = minimum_spanning_tree(lengths + (1.0 - lengths.min())).tocoo()  # 0 would be no edge
    return tree.row.astype(np.int64), tree.col.astype(np.int64)


def _triangles(points: NDArray[np.float64]) -> Iterator[Edges]:
    """Edges of the Delaunay triangulation, among them the shortest spanning tree; none for a line."""
    from scipy.spatial import Delaunay, QhullError

    try:
        corners = Delaunay(points).simplices.astype(np.int64)
    except (QhullError, ValueError):
        return
    for a in range(corners.shape[1]):
        for b in range(a):
            yield corners[:, a], corners[:, b]


def _connected(graph: _Graph, chain: Edges) -> _Graph:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    links = csr_matrix((np.ones(len(graph.j)), graph.j, graph.rows), shape=(graph.size, graph.size))
    if connected_components(links, directed=False, return_labels=False) == 1:
        return graph
    return _graph(graph.size, [(graph.i.astype(np.int64), graph.j.astype(np.int64)), chain])


# --- potentials --------------------------------------------------------------------------------------


def _best_potentials(
    instance: TspInstance, scale: int, end: float, stop: Callable[[], bool]
) -> tuple[NDArray[np.int64], int] | None:
    """Raise the bound on few edges and weigh it on all; where that falls short, add edges and go on."""
    graph, start = _candidates(instance), np.zeros(instance.size)
    found: tuple[NDArray[np.int64], int] | None = None
    for _ in range(_turns(instance.size)):
        began = time.monotonic()
        potentials, hoped = _subgradient(instance, graph, scale, start, end, stop)
        whole = None if stop() else _one_tree(instance, graph, scale, potentials, end, stop)
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


def _enriched(graph: _Graph, whole: _Whole) -> _Graph:
    """Add to the candidates each city's lightest edges of all, and the spanning tree of all."""
    edge = np.tile(np.arange(len(whole.weights)), 2)
    city = np.concatenate([whole.graph.i, whole.graph.j])
    order = np.lexsort((whole.weights[edge], city))
    rank = np.arange(len(order)) - np.searchsorted(city[order], city[order])
    few = edge[order][rank < _NEAREST]
    parts = [
        (graph.i, graph.j),
        (whole.tree.i, whole.tree.j),
        (whole.graph.i[few], whole.graph.j[few]),
    ]
    return _graph(graph.size, [(i.astype(np.int64), j.astype(np.int64)) for i, j in parts])


def _spanning_tree(graph: _Graph, weights: NDArray[np.float64]) -> _Tree:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import minimum_spanning_tree

    shift = 1.0 - weights.min()  # a weight of 0 would be no edge
    matrix = csr_matrix((weights + shift, graph.j, graph.rows), shape=(graph.size, graph.size))
    tree = minimum_spanning_tree(matrix).tocoo()
    return _Tree(tree.row, tree.col, tree.data - shift)


def _second_edges(
    graph: _Graph, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Weight and number of the second lightest edge of each city; infinite where there is but one."""
    edge = np.tile(np.arange(len(weights)), 2)
    city = np.concatenate([graph.i, graph.j])
    order = np.lexsort((weights[edge], city))
    city, edge = city[order], edge[order]
    first = np.searchsorted(city, np.arange(graph.size))
    second = np.minimum(first + 1, len(city) - 1)
    found = city[second] == np.arange(graph.size)
    return np.where(found, weights[edge[second]], np.inf), edge[second]


def _subgradient(
    instance: TspInstance,
    graph: _Graph,
    scale: int,
    start: NDArray[np.float64],
    end: float,
    stop: Callable[[], bool],
) -> tuple[NDArray[np.int64], float]:
    """Raise the 1-tree bound on the candidate edges; potentials of the best seen and its value, scaled.

    Steps fall to nothing along a parabola (Volgenant and Jonker 1982, "A branch and bound algorithm for
    the symmetric traveling salesman problem based on the 1-tree relaxation"), with momentum.
    """
    lengths = _scaled(instance, scale, graph.i, graph.j).astype(np.float64)
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
    limit = 2.0**_POTENTIAL_BITS
    return np.rint(best.clip(-limit, limit)).astype(np.int64), highest


def _rounds(size: int) -> int:
    """Subgradient steps: beyond these, hundredths of a per cent on random cities."""
    return max(60, round(300 * min(1.0, math.sqrt(1000 / size))))


def _affordable(rounds: int, one: float, seconds: float) -> int:
    """Leave half of the time for the bound over all edges."""
    if math.isinf(seconds):
        return rounds
    return max(4, min(rounds, int(0.5 * seconds / max(one, 1e-9))))


def _evaluate(graph: _Graph, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
    """Weight and degrees of the spanning tree and the heaviest second edge of a city.

    For *any* city, a shortest spanning tree and the city's second lightest edge weigh no more than its
    shortest 1-tree: the tree on the other cities and the lightest edge span everything too.
    """
    tree = _spanning_tree(graph, weights)
    second, edge = _second_edges(graph, weights)
    city = int(np.where(np.isfinite(second), second, -np.inf).argmax())
    degrees = np.bincount(tree.i, minlength=graph.size) + np.bincount(tree.j, minlength=graph.size)
    degrees[[graph.i[edge[city]], graph.j[edge[city]]]] += 1
    return float(tree.weights.sum() + second[city]), degrees


# --- the bound over all edges ------------------------------------------------------------------------


def _one_tree(
    instance: TspInstance,
    graph: _Graph,
    scale: int,
    potentials: NDArray[np.int64],
    end: float,
    stop: Callable[[], bool],
) -> _Whole | None:
    """Weigh the 1-tree of the complete graph, less twice the potentials, in scaled units.

    A first tree on the candidate edges bounds the edges that matter: those lighter than its heaviest. They
    are all listed, and the tree of what is listed is the tree of everything. Where that would list too
    many, every edge is taken to weigh no more than a lower limit, and the result is still a bound.
    """

    def weigh(i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.int64]:
        return np.asarray(_scaled(instance, scale, i, j) + potentials[i] + potentials[j])

    tree = _spanning_tree(graph, weigh(graph.i, graph.j).astype(np.float64))
    limit, pairs = _lighter_pairs(instance, scale, potentials, tree.weights, end)
    light = limit
    listed: list[Edges] = []
    for i, j in pairs:
        if stop():
            return None
        lighter = weigh(i, j) < light
        listed.append((i[lighter], j[lighter]))
        if sum(len(part[0]) for part in listed) > _MANY * graph.size:
            # The tree of what was listed stands for it, and leaves less to be listed.
            whole, tree = _merged(graph, tree, listed, weigh)
            listed, light = [], min(light, int(tree.weights.max()))
    whole, tree = _merged(graph, tree, listed, weigh)
    weights = weigh(whole.i, whole.j)
    spans = weigh(tree.i, tree.j)
    spanning = sum(int(x) for x in np.minimum(spans, limit))
    cut = float(np.maximum(spans - limit, 0).sum(dtype=np.float64))
    total = spanning + _best_second(whole, weights, weigh) - 2 * sum(potentials.tolist())
    return _Whole(total, cut, whole, weights, tree)


def _merged(
    graph: _Graph, tree: _Tree, listed: list[Edges], weigh: Callable[..., NDArray[np.int64]]
) -> tuple[_Graph, _Tree]:
    """Add edges to the candidates and a tree; and the new tree."""
    known = [(some.i.astype(np.int64), some.j.astype(np.int64)) for some in (graph, tree)]
    merged = _graph(graph.size, [*known, *listed])
    return merged, _spanning_tree(merged, weigh(merged.i, merged.j).astype(np.float64))


def _best_second(graph: _Graph, weights: NDArray[np.int64], weigh: Callable[..., NDArray[np.int64]]) -> int:
    """Find a heavy second lightest edge of a city, among all of the city's edges."""
    second, _ = _second_edges(graph, weights.astype(np.float64))
    tried = np.argsort(-np.where(np.isfinite(second), second, -np.inf))[:5]
    others = np.arange(graph.size)
    rows = [weigh(np.full(graph.size - 1, city), others[others != city]) for city in tried.tolist()]
    return max(int(np.partition(row, 1)[1]) for row in rows)


def _lighter_pairs(
    instance: TspInstance,
    scale: int,
    potentials: NDArray[np.int64],
    tree: NDArray[np.float64],
    end: float,
) -> tuple[int, Iterator[Edges]]:
    """Choose the highest limit that there is time for, and list a superset of the pairs that weigh less."""
    heaviest = int(tree.max())
    if instance.matrix is not None or instance.size <= _ALL_PAIRS:
        return heaviest, _all_pairs(instance.size)
    near = _NearPairs(instance, scale, potentials)
    fewest, most = (pairs * instance.size for pairs in _LISTED)
    affordable = min(max((end - time.monotonic()) / _PAIR_SECONDS, fewest), most)
    for quantile in (1.0, 0.9998, 0.9995, 0.999, 0.995, 0.99, 0.95, 0.8):
        limit = int(np.quantile(tree, quantile))
        if near.count(limit) <= affordable:
            return limit, near.pairs(limit)
    lightest = int(tree.min())
    return lightest, near.pairs(lightest)


def _all_pairs(size: int) -> Iterator[Edges]:
    rows = max(_BLOCK // size, 1)
    for first in range(0, size, rows):
        i, j = np.indices((min(rows, size - first), size)).reshape(2, -1)
        yield (i + first)[j > i + first], j[j > i + first]


class _NearPairs:
    """Pairs of cities that may weigh less than a limit, found in trees of points.

    Cities of like potentials share a tree, so that a few very attractive cities do not make all look far.
    """

    def __init__(self, instance: TspInstance, scale: int, potentials: NDArray[np.int64]) -> None:
        from scipy.spatial import cKDTree

        self.instance, self.scale = instance, scale
        points = _positions(instance)
        self.members = [m for m in np.array_split(np.argsort(potentials, kind="stable"), _CLASSES) if m.size]
        self.lowest = [int(potentials[m].min()) for m in self.members]
        self.trees = [cKDTree(points[m]) for m in self.members]

    def _radius(self, a: int, b: int, limit: int) -> float:
        """Distance of points beyond which no pair of two classes weighs less than a limit."""
        length = math.ldexp(float(limit - self.lowest[a] - self.lowest[b] + 1), -self.scale)
        return _reach(self.instance, length)

    def _class_pairs(self) -> Iterator[tuple[int, int]]:
        return ((a, b) for a in range(len(self.trees)) for b in range(a + 1))

    def count(self, limit: int) -> int:
        total = 0
        for a, b in self._class_pairs():
            radius = self._radius(a, b, limit)
            if radius >= 0:
                found = int(self.trees[a].count_neighbors(self.trees[b], radius))
                total += (found - len(self.members[a])) // 2 if a == b else found
        return total

    def pairs(self, limit: int) -> Iterator[Edges]:
        for a, b in self._class_pairs():
            radius = self._radius(a, b, limit)
            if radius < 0:
                continue
            if a == b:
                found = self.trees[a].query_pairs(radius, output_type="ndarray")
                yield self.members[a][found[:, 0]], self.members[a][found[:, 1]]
            else:
                near = self.trees[a].sparse_distance_matrix(self.trees[b], radius, output_type="ndarray")
                yield self.members[a][near["i"]], self.members[b][near["j"]]


def _reach(instance: TspInstance, length: float) -> float:
    """How far apart the points of two cities can be whose edge is shorter than a length."""
    metric = instance.metric
    assert metric is not None
    generous = 1 + 1e-9
    if metric.per_unit is None:  # chords of the globe of radius 1 that GEO uses, which rounds up
        return 2 * math.sin(min(max(length, 0.0) / 6378.388, math.pi) / 2) * generous if length > 0 else -1.0
    rounding = 1.0 if metric.rounded else 0.0
    # The largest difference of coordinates may be all there is to a length.
    spread = math.sqrt(metric.axes) if instance.edge_weight_type.startswith("MAX") else 1.0
    return (length + rounding) * spread / metric.per_unit * generous


# --- few cities --------------------------------------------------------------------------------------


def _enumerated(instance: TspInstance) -> Bound:
    """Find the shortest tour by dynamic programming over subsets (Bellman 1962, Held and Karp 1962)."""
    size, scale = instance.size, _scale_of(instance)
    if size < 4:
        tour: Solution = np.arange(size)
        return Bound(value=instance.objective(tour), method="enumeration", exact=True, solution=tour)
    i, j = np.indices((size, size)).reshape(2, -1)
    lengths = _scaled(instance, scale, i, j).reshape(size, size)
    total, tour = _shortest_tour(lengths)
    value = _in_file_units(instance, total, scale)
    return Bound(value=value, method="enumeration", exact=True, solution=tour)


def _shortest_tour(lengths: NDArray[np.int64]) -> tuple[int, Solution]:
    """Visit the subsets of all cities but the last by rising number; ``paths[S, e]`` ends in e."""
    last = len(lengths) - 1
    far = 2**61
    paths = np.full((1 << last, last), far)
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
