"""Closed tours with symmetric lengths in place of paths, directed edges, and tours through fixed edges.

Searches and bounds know closed symmetric tours only. Here an instance with a `Route` becomes one of those,
whose tours are the user's:

* a path is closed by one more city, the *dummy node*, between its ends;
* where edges have a direction, each city has two sides, joined by an edge that must be used, and an edge
  leads from the second side of one city to the first side of another (Jonker and Volgenant 1983);
* an edge that must be used is shorter by a *big-M penalty*, more than a tour can save without it, and one
  that is not there is longer by it.

What a tour has of these penalties and of the dummy node's edges is the same for every tour that obeys, and
all lengths are shifted so that it is nothing: such a tour is as long as the user's.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Number, Solution
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.route import Route

#: The most cities of which all tours are tried; so few leave no room for moves where edges have a direction.
FEW = 3

#: Kinds of edges: any, one of the dummy node, one that must be used, one that is not there.
_ANY, _DUMMY, _FIXED, _NONE = range(4)

#: Whole lengths have at most so many bits, which float64 holds.
_BITS = 51

#: The dummy node is as far from each city as its neighbour of this rank is, as a mean over cities: near
#: enough to be a neighbour, and too far for trees to hang on it.
_RANK = 5

#: That mean is over so many cities, or some more.
_ASKED = 256

#: The number of rows of a matrix that are measured at once.
_ROWS = 16


class WholeLengths(NamedTuple):
    """An instance with its lengths in whole numbers, rounded down where bits are too few.

    Attributes
    ----------
    instance : TspInstance
    unit : Fraction
        The length that is 1 in it, in file units.
    """

    instance: TspInstance
    unit: Fraction


class Unpenalised(NamedTuple):
    """Whole lengths between nodes, of which a tour that obeys has as many as the tour of cities is long.

    Attributes
    ----------
    units : int64[M, M]
    unit : Fraction
        The length that is 1 in them, in file units.
    there, fixed : bool[M, M]
        Edges that there are, and those that each tour has.
    exact : bool
        Whether no length was rounded down.
    """

    units: NDArray[np.int64]
    unit: Fraction
    there: NDArray[np.bool_]
    fixed: NDArray[np.bool_]
    exact: bool


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClosedTour(TspInstance):
    """A closed symmetric instance whose tours stand for those of another one.

    A solution is a tour of the nodes, int64[M]. Whatever is asked about it is answered for the tour of cities
    that it stands for.

    Attributes
    ----------
    matrix : float64[M, M]
        The lengths between nodes, in file units.
    outer : TspInstance
        The user's instance.
    between : float64[C, C]
        The lengths of `outer`, with 0 for those of the dummy node.
    """

    outer: TspInstance
    between: NDArray[np.float64]

    # --- solutions

    def outward(self, solution: Solution) -> Solution:
        """Read the tour of cities, int64[N], off one of nodes; off any, even if it does not obey."""
        outer, nodes = self.outer, solution
        if outer.route.directed:
            side, city = nodes % 2, nodes // 2
            same = city == np.roll(city, -1)
            forth = int((same & (side == 0)).sum())
            nodes = city[side == 0] if 2 * forth >= int(same.sum()) else city[side == 0][::-1]
        return self.opened(nodes)

    def opened(self, nodes: Solution) -> Solution:
        """Take the dummy node out of a tour of one node a city."""
        outer = self.outer
        if not outer.route.open:
            return np.asarray(nodes)
        begin = int(np.flatnonzero(nodes == outer.size)[0])
        path = np.roll(nodes, -begin)[1:]
        first, last = outer.route.first, outer.route.last
        turned = path[-1] == first if first is not None else last is not None and path[0] == last
        turned = turned and not outer.route.directed
        return np.asarray(path[::-1] if turned else path)

    def inward(self, solution: Solution) -> Solution:
        """Make the tour of nodes, int64[M], for one of cities; fixed edges that it lacks are brought in."""
        outer = self.outer
        tour = outer.route.joined(solution, outer.fixed_paths)
        if outer.route.open:
            tour = np.append(tour, outer.size)
        return np.stack([2 * tour, 2 * tour + 1], 1).ravel() if outer.route.directed else tour

    def best_of_all(self) -> Solution:
        """Try all tours of a few cities."""
        tours = [self.inward(np.array(tour)) for tour in permutations(range(self.outer.size))]
        return min(tours, key=lambda tour: (self.violation(tour) is not None, self.exact_objective(tour)))

    def exact_objective(self, solution: Solution) -> Exact:
        return self.outer.exact_objective(self.outward(solution))

    def objective(self, solution: Solution) -> Number:
        return self.outer.objective(self.outward(solution))

    def violation(self, solution: Solution) -> str | None:
        if (why := super().violation(solution)) is not None:
            return why
        return self.outer.violation(self.outward(solution))

    @property
    def may_be_infeasible(self) -> bool:
        return True

    def facts(self) -> dict[str, Any]:
        return self.outer.facts()

    # --- lengths

    @functools.cached_property
    def spacing(self) -> float:
        """The mean length of a city's shortest edge, in file units."""
        lengths = np.where(_kinds(self.outer) == _ANY, self.between, np.inf)
        np.fill_diagonal(lengths, np.inf)
        nearest = lengths[: self.outer.size, : self.outer.size].min(axis=1)
        return float(max(nearest[np.isfinite(nearest)].sum() / max(np.isfinite(nearest).sum(), 1), 0.0))

    def whole(self) -> WholeLengths:
        """Make the same instance with whole lengths, for bounds without rounding errors."""
        route = self.outer.route
        kinds = _kinds(self.outer)
        most = _BITS - 2 * (len(kinds) * (2 if route.directed else 1)).bit_length() - 2
        units, unit, _ = self._units(kinds, most)
        matrix, factor = _penalised(units, kinds, route, two_sided=route.directed)
        return WholeLengths(TspInstance(edge_weight_type="EXPLICIT", matrix=matrix), unit / factor)

    def _units(self, kinds: NDArray[np.uint8], most: int) -> tuple[NDArray[np.int64], Fraction, bool]:
        """Give whole lengths [C, C] of so many bits at most, their unit, and whether nothing was rounded."""
        outer = self.outer
        units, unit, exact = self.between, Fraction(1), True
        if outer.matrix is not None:
            units, unit = _padded(outer.exact_matrix.units, len(kinds)), unit / outer.exact_matrix.denominator
        elif outer.metric is not None and not outer.metric.rounded:
            digits = most - int(np.frexp(np.abs(units).max())[1])
            units, unit, exact = np.floor(np.ldexp(units, digits)), Fraction(2) ** -digits, False
        units = units.astype(np.int64) if units.dtype == np.float64 else units
        there = np.where(kinds == _NONE, 0, units)
        shift = max(int(abs(there).max()).bit_length() - most, 0)
        return (there >> shift).astype(np.int64), unit * (1 << shift), exact and not shift

    def unpenalised(self) -> Unpenalised:
        """Give the lengths between nodes as they are, in whole numbers, and which edges must and may be."""
        kinds = _kinds(self.outer)
        units, unit, exact = self._units(kinds, _BITS)
        there, fixed = (kinds != _NONE) & ~np.eye(len(kinds), dtype=bool), kinds == _FIXED
        if self.outer.route.directed:
            units, there, fixed = (_two_sided(square) for square in (units, there, fixed))
            city = np.arange(0, len(there), 2)
            for square in (there, fixed):
                square[city, city + 1] = square[city + 1, city] = True
        return Unpenalised(units, unit, there, fixed, exact)


def _two_sided(once: NDArray[Any]) -> NDArray[Any]:
    """Put lengths from city to city between the second side of one and the first side of the other."""
    values = np.zeros((2 * len(once),) * 2, dtype=once.dtype)
    values[1::2, ::2], values[::2, 1::2] = once, once.T
    return values


def searched(instance: TspInstance) -> TspInstance:
    """Give the instance that searches work on: a closed symmetric one, with a matrix."""
    route = instance.route
    # Of two cities there is one closed tour anyway.
    if isinstance(instance, ClosedTour) or route.is_plain or instance.size <= 2 - route.open:
        return instance
    between = _between(instance)
    matrix, factor = _penalised(between, _kinds(instance), route, two_sided=route.directed)
    return ClosedTour(
        name=instance.name,
        best_known=instance.best_known,
        edge_weight_type="EXPLICIT",
        matrix=np.divide(matrix, factor, out=matrix),
        outer=instance,
        between=between,
    )


def directed_lengths(instance: TspInstance) -> NDArray[Any]:
    """Compute whole lengths [C, C] of a closed tour of the cities and the dummy node, a node each.

    They are Python's integers, so that nothing is rounded.
    """
    i, j = np.indices((instance.size, instance.size))
    kinds = _kinds(instance)
    units = _padded(instance.exact_edges(i, j).units, len(kinds))
    return _penalised(units.astype(object), kinds, instance.route, two_sided=False)[0]


def _between(instance: TspInstance) -> NDArray[np.float64]:
    """Compute all lengths, float64[C, C]; those of the dummy node are 0."""
    size, cities = instance.size, np.arange(instance.size)
    lengths = np.zeros((size + instance.route.open,) * 2)
    if instance.matrix is not None:
        lengths[:size, :size] = instance.matrix
        return lengths
    for begin in range(0, size, _ROWS):  # of few rows, intermediate numbers stay in the processor's cache
        rows = cities[begin : begin + _ROWS, None]
        lengths[begin : begin + len(rows), :size] = instance.edges(rows, cities)
    return lengths


def _padded(lengths: NDArray[Any], size: int) -> NDArray[Any]:
    padded = np.zeros((size, size), dtype=lengths.dtype)
    padded[: len(lengths), : len(lengths)] = lengths
    return padded


def _kinds(instance: TspInstance) -> NDArray[np.uint8]:
    """Tell the kinds of the edges from city to city, uint8[C, C]; the dummy node of a path is the last."""
    route, size = instance.route, instance.size
    kinds = np.full((size + route.open, size + route.open), _ANY, dtype=np.uint8)
    if instance.absent is not None:
        kinds[:size, :size][instance.absent] = _NONE
    for a, b in route.fixed:
        kinds[a, b] = _FIXED
        kinds[b, a] = kinds[b, a] if route.directed else _FIXED
    if route.open and route.directed:
        for row, end in ((kinds[size], route.first), (kinds[:, size], route.last)):
            row[:size] = _DUMMY if end is None else _NONE
            row[[] if end is None else [end]] = _FIXED
    elif route.open:
        kinds[size, :size] = _DUMMY if len(route.ends) < 2 else _NONE
        kinds[size, list(route.ends)] = _FIXED
        kinds[:size, size] = kinds[size, :size]
    return kinds


def _penalised(
    lengths: NDArray[Any], kinds: NDArray[np.uint8], route: Route, *, two_sided: bool
) -> tuple[NDArray[Any], int]:
    """Put penalties on lengths [C, C] by their kinds, which make every shortest tour obey.

    A tour of M nodes has f fixed edges and M - f others. All lengths are between `low` and `high`; those of
    the dummy node are set to one of them, those within a city to `low`. A tour that lacks a of the fixed
    edges and has p that are not there saves at most (M - f + 1) (high - low) by it, and pays a + p penalties.

    Returns
    -------
    lengths, factor : [M, M], int
        Symmetric, unless edges have a direction and each city has a single node; all of them are multiplied
        by the factor, so that whole ones stay whole.
    """
    count = len(lengths)
    there = (kinds != _NONE) & ~np.eye(count, dtype=bool)
    cities = count - route.open
    known = lengths[:cities, :cities][there[:cities, :cities]]
    low, high = (known.min(), known.max()) if known.size else (0, 0)
    lengths = lengths.copy()
    of_dummy = low
    if route.open:
        some = slice(0, cities, max(cities // _ASKED, 1))
        among = np.where(there[some, :cities], lengths[some, :cities], np.inf).astype(np.float64)
        ranked = np.sort(among, axis=1)[:, min(_RANK, cities - 1) - 1]
        middle = ranked[np.isfinite(ranked)]
        of_dummy = type(low)(np.floor(middle.mean())) if middle.size else low
        of_dummy = min(max(of_dummy, low), high)
        lengths[-1, :] = lengths[:, -1] = of_dummy
    nodes = count * (2 if two_sided else 1)
    fixed = int((kinds == _FIXED).sum()) // (1 if route.directed else 2) + (count if two_sided else 0)
    spread = high - low
    big_m = (nodes - fixed + 1) * spread + (spread or abs(high) or 1)
    shift = fixed * big_m - (2 * of_dummy if route.open else 0) - (count * low if two_sided else 0)
    values = nodes * lengths + shift
    values[kinds == _FIXED] -= nodes * big_m
    never = nodes * (high + big_m) + shift
    values[kinds == _NONE] = never
    if two_sided:
        once, values = values, np.full((nodes, nodes), never, dtype=lengths.dtype)
        values[1::2, ::2], values[::2, 1::2] = once, once.T
        city = np.arange(0, nodes, 2)
        values[city, city + 1] = values[city + 1, city] = nodes * (low - big_m) + shift
    np.fill_diagonal(values, 0)
    return values, nodes
