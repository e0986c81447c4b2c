"""Lengths in whole numbers for proofs: of the cities of an instance, or of the nodes of a closed one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from nsa_cli.core.exact import Exact, total_of
from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.bound import is_compiled
from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import reduced_costs
from nsa_cli.problems.tsp.kernels.metric import CODES, Floats, Ints, KernelMetric, lengths
from nsa_cli.problems.tsp.kernels.reduced_costs import CITY, EDGES, Duals, Scan
from nsa_cli.problems.tsp.neighbour_lists import nearest_in_orthants, neighbour_lists

#: Candidates of each city, where quadrants add to them, and where they do not.
_NEAR, _NEAR_IN_MATRIX = 5, 8

#: Lengths of all edges at a city have at most so many bits, so that sums of reduced costs have at most 61.
_BITS, _SUM_BITS = 55, 61

#: Whole lengths get so many further bits for dual values.
_FINER = 20

#: Lengths in a matrix have at most so many bits, which float64 holds.
_MATRIX_BITS = 52

#: Pairs of cities between two looks at the clock, and edges of a scan that there is room for, a city.
_LOOK, _ROOM = 10_000_000, 12

#: Edges as two arrays of cities and their whole lengths or reduced costs.
Edges = tuple[Ints, Ints, Ints]


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeEdges:
    """All edges between some cities, with lengths in whole multiples of ``unit / 2 ** scale``, rounded down.

    Attributes
    ----------
    instance : TspInstance
        As searches see it.
    metric : KernelMetric
        Of the cities as they are numbered here; infinite where there is no edge.
    unit : Fraction
        What is 1 in it, in file units.
    whole : bool
        Whether each length is a whole multiple of that, not rounded.
    numbers : int64[N]
        The instance's number of each city.
    near : (int64[E], int64[E])
        Candidates.
    fixed : (int64[F], int64[F])
        Edges that each tour has.
    longest : float
        Of the metric, by absolute value.
    """

    instance: TspInstance
    metric: KernelMetric
    unit: Fraction
    whole: bool
    numbers: Ints
    near: tuple[Ints, Ints]
    fixed: tuple[Ints, Ints] = field(default_factory=lambda: (np.zeros(0, np.int64),) * 2)
    longest: float

    @property
    def size(self) -> int:
        """Number of cities."""
        return len(self.numbers)

    @cached_property
    def scale(self) -> int:
        """Bits after the point of the metric's lengths."""
        bits = _BITS - self.size.bit_length() - math.frexp(self.longest)[1]
        return min(bits, _FINER) if self.whole or not self.longest else min(bits, 1000)

    def lengths(self, i: Ints, j: Ints) -> Floats:
        """Give the lengths of edges in the metric."""
        return lengths(self.metric, i, j)

    def of(self, i: Ints, j: Ints) -> Ints:
        """Give the whole lengths of edges."""
        return np.floor(np.ldexp(self.lengths(i, j), self.scale)).astype(np.int64)

    def goal(self, objective: Exact) -> int:
        """Give the least whole length that a tour no better than this objective might have."""
        units = Fraction(objective) / self.unit
        finer = Fraction(2) ** self.scale
        return math.floor((units - 1) * finer) + 1 if self.whole else math.ceil(units * finer)

    def limit(self, total: int) -> Exact:
        """Turn a bound in whole lengths to one in file units."""
        units = Fraction(total) / Fraction(2) ** self.scale
        found = (math.ceil(units) if self.whole else units) * self.unit
        whole = isinstance(self.instance.exact_objective(self.numbers), int)
        return math.ceil(found) if whole else found

    def inward(self, tour: Solution) -> Ints:
        """Renumber a tour of the instance."""
        place = np.empty(self.size, np.int64)
        place[self.numbers] = np.arange(self.size)
        return place[tour]

    def fits(self, duals: Duals) -> bool:
        """Tell whether sums of reduced costs fit into 64 bits; potentials are still those of the cities."""
        of_sets = np.append(0.0, np.cumsum(duals.weights[duals.sets].astype(np.float64)))
        around = of_sets[duals.first[1:]] - of_sets[duals.first[:-1]]
        most = np.abs(duals.potentials.astype(np.float64)) + around
        longest, rounding = math.ldexp(self.longest, self.scale), 1e-9 * float(of_sets[-1])
        return bool(self.size * (longest + 2.01 * float(most.max()) + rounding) < 2.0**_SUM_BITS)

    def scanned(
        self, duals: Duals, limit: int, stop: Callable[[], bool], most: int
    ) -> tuple[int, Edges] | None:
        """Sum up the negative reduced costs of all edges, and find the edges with costs below a limit.

        Returns
        -------
        total, edges : int, (int64[E], int64[E], int64[E])
            None if it was stopped, or there are more than `most` of these.
        """
        size, counts = self.size, np.zeros(2, np.int64)
        i, j, costs = np.empty((3, _ROOM * size), np.int64)
        found = Scan(np.zeros(size, np.int64), i, j, costs, counts)
        parts: list[Edges] = []
        unit = math.ldexp(1.0, self.scale)
        while counts[CITY] < size:
            if stop() or sum(len(part[0]) for part in parts) > most:
                return None
            reduced_costs.scan(self.metric, unit, duals, limit, found, _LOOK)
            some = slice(counts[EDGES])
            parts.append((i[some].copy(), j[some].copy(), costs[some].copy()))
            counts[EDGES] = 0
        i, j, costs = (np.concatenate(ends) for ends in zip(*parts, strict=True))
        return total_of(found.negative), (i, j, costs)


def whole_edges(instance: TspInstance) -> WholeEdges | None:
    """Prepare an instance, as searches see it, for proofs; None where kernels do not have its lengths."""
    if isinstance(instance, ClosedTour):
        return _of_nodes(instance)
    if instance.matrix is not None:
        units, unit, whole = instance.exact_matrix.units, Fraction(1, instance.exact_matrix.denominator), True
        there = ~np.eye(instance.size, dtype=bool)
        if instance.absent is not None:
            there &= ~instance.absent
        return _of_matrix(instance, units, unit, there, whole=whole)
    if not (instance.has_finite_lengths and is_compiled(instance)):
        return None
    lists = neighbour_lists(instance, merge=False)
    numbers, metric = lists.sites.numbers, instance.metric
    near = lists.neighbours[:, :_NEAR]
    around = nearest_in_orthants(instance.points[numbers])
    joined = np.concatenate([near, around], axis=1)
    city, k = np.nonzero(joined >= 0)
    assert metric is not None
    longest = 2e4 * 1.1 if metric.per_unit is None else instance.diagonal + 2.0
    if metric.per_unit is not None and not metric.rounded:
        longest = instance.diagonal
    return WholeEdges(
        instance=instance,
        metric=lists.metric,
        unit=Fraction(1),
        whole=metric.rounded,
        numbers=numbers,
        near=(city, joined[city, k]),
        longest=longest,
    )


def _of_nodes(instance: ClosedTour) -> WholeEdges:
    units, unit, there, fixed, whole = instance.unpenalised()
    i, j = (np.ascontiguousarray(ends) for ends in np.nonzero(np.triu(fixed)))
    return replace(_of_matrix(instance, units, unit, there, whole=whole), fixed=(i, j))


def _of_matrix(instance: TspInstance, units: Any, unit: Fraction, there: Any, *, whole: bool) -> WholeEdges:
    """Prepare whole lengths in a matrix [N, N], rounded down where they have too many bits."""
    size = len(units)
    units = np.where(there, units, 0)
    shift = max(int(abs(units).max()).bit_length() - _MATRIX_BITS, 0)
    rows = (units >> shift).astype(np.float64) if shift else units.astype(np.float64)
    longest = float(abs(rows).max(initial=0.0))
    rows[~there] = np.inf
    count = min(_NEAR_IN_MATRIX, size - 1)
    near = np.argpartition(rows, count - 1, axis=1)[:, :count] if count else np.zeros((size, 0), np.int64)
    city, k = np.nonzero(np.isfinite(np.take_along_axis(rows, near, 1)))
    return WholeEdges(
        instance=instance,
        metric=KernelMetric(rows.ravel(), size, *CODES["EXPLICIT"]),
        unit=unit * (1 << shift),
        whole=whole and not shift,
        numbers=np.arange(size),
        near=(city, near[city, k]),
        longest=longest,
    )
