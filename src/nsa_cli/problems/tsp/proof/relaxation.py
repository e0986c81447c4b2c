"""The linear programme over some edges, its inequalities, and whole bounds from its dual values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import total_of
from nsa_cli.core.programme import Lines, Outcome, Programme
from nsa_cli.problems.tsp.kernels import reduced_costs
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints
from nsa_cli.problems.tsp.kernels.reduced_costs import Duals
from nsa_cli.problems.tsp.proof.cuts import Cut, Packed, crossings, packed
from nsa_cli.problems.tsp.proof.lengths import WholeEdges

#: A mean edge of the tour has between so many units of the programme and twice as many, unless lengths are
#: whole and shorter than the last number: then dual values tend to be whole, too.
_UNITS, _SHORT = 256, 2048

#: Edges outside of the tour are made so much shorter, of a unit, where dual values leave too many at 0.
_NUDGE = 1e-3

#: Simplex iterations between two looks at the clock, over cities; at least so many.
_LOOK, _LEAST = 400_000, 50

#: Dual values are clipped to so many bits.
_MOST = 2.0**58

#: Dual values below the first are 0; borders with less slack than the second have none.
_ZERO, _TIGHT = 1e-7, 1e-5


class Values(NamedTuple):
    """Whole dual values: of each city, and of some inequalities.

    Attributes
    ----------
    cities : int64[N]
    cuts : list of (Cut, int)
        The values are positive.
    """

    cities: Ints
    cuts: list[tuple[Cut, int]]


class Bounded(NamedTuple):
    """A bound in whole lengths, and what it was computed from.

    Attributes
    ----------
    total : int
        No tour of the edges that are there is shorter.
    costs : int64[E]
        Reduced costs of the columns.
    values : Values
    """

    total: int
    costs: Ints
    values: Values


class Relaxation:
    """A programme whose columns are edges, and whose rows are cities and inequalities.

    Parameters
    ----------
    edges : WholeEdges
    tour : int64[N]
        In the numbers of `edges`.

    Attributes
    ----------
    i, j, lengths : int64[E]
        Ends of the columns' edges, and their whole lengths.
    lower, upper : float64[E]
        Bounds of the columns.
    cuts : list of Cut
    ages : int64[C]
        For how many solves each was slack.
    last : Outcome
    per : float
        Whole lengths in a unit of the programme.
    """

    def __init__(self, edges: WholeEdges, tour: Ints) -> None:
        self.edges, self.size = edges, edges.size
        self.i, self.j, self.lengths = (np.zeros(0, np.int64) for _ in range(3))
        self.lower, self.upper = np.zeros(0), np.zeros(0)
        self.cuts: list[Cut] = []
        self.ages = np.zeros(0, np.int64)
        self._keys: set[tuple[bytes, ...]] = set()
        self._packed: Packed | None = None
        self._nudged = False
        self._programme = Programme()
        self._programme.add_rows(2.0, 2.0, Lines.of([()] * self.size))
        around = tour, np.roll(tour, -1)
        mean = float(np.abs(edges.of(*around)).astype(np.float64).mean())
        self.per = math.ldexp(1.0, edges.scale)
        if not (edges.whole and mean < _SHORT * self.per) and mean > 0:
            self.per = mean / _UNITS
        self.set_tour(tour)
        ends = [np.concatenate(some) for some in zip(edges.near, around, edges.fixed, strict=True)]
        self.add_edges(*ends)
        fixed = np.isin(self.keys(self.i, self.j), self.keys(*edges.fixed))
        self.fix(np.flatnonzero(fixed), 1.0)
        self.last: Outcome

    # --- columns

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Give numbers that tell edges apart."""
        return np.minimum(i, j) * self.size + np.maximum(i, j)

    def set_tour(self, tour: Ints) -> None:
        """Note the best tour, whose edges are not nudged."""
        self.tour_keys = np.sort(self.keys(tour, np.roll(tour, -1)))

    def add_edges(self, i: Ints, j: Ints) -> int:
        """Add columns of edges that have none yet; how many."""
        new = np.setdiff1d(self.keys(i, j), self.keys(self.i, self.j))
        i, j = new // self.size, new % self.size
        i, j = i[i != j], j[i != j]
        if not len(i):
            return 0
        first, lengths, width = len(self.i), self.edges.of(i, j), len(i)
        self.i, self.j = np.concatenate([self.i, i]), np.concatenate([self.j, j])
        self.lengths = np.concatenate([self.lengths, lengths])
        self.lower = np.concatenate([self.lower, np.zeros(width)])
        self.upper = np.concatenate([self.upper, np.ones(width)])
        cut, edge, times = crossings(self.packed, self.size, i, j)
        columns = np.concatenate([np.arange(width), np.arange(width), edge])
        rows = np.concatenate([i, j, cut + self.size])
        values = np.concatenate([np.ones(2 * width), times.astype(np.float64)])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(width)).astype(np.int32)
        lines = Lines(starts, rows[order].astype(np.int32), values[order])
        self._programme.add_columns(self._costs()[first:], 0.0, 1.0, lines)
        return width

    def _costs(self) -> Floats:
        costs = self.lengths / self.per
        if self._nudged:
            costs -= np.where(np.isin(self.keys(self.i, self.j), self.tour_keys), 0.0, _NUDGE)
        return costs

    def nudge(self) -> bool:
        """Make edges outside of the tour a little shorter, so that few have no reduced cost; once."""
        if self._nudged:
            return False
        self._nudged = True
        self._programme.set_costs(np.arange(len(self.i)), self._costs())
        return True

    def keep_edges(self, kept: NDArray[np.bool_]) -> None:
        """Delete the columns of other edges."""
        if kept.all():
            return
        self._programme.delete_columns(np.flatnonzero(~kept))
        self.i, self.j, self.lengths = self.i[kept], self.j[kept], self.lengths[kept]
        self.lower, self.upper = self.lower[kept], self.upper[kept]

    def fix(self, columns: Ints | Sequence[int], value: float) -> None:
        """Fix columns at 0 or 1."""
        self.bound(columns, value, value)

    def bound(self, columns: Ints | Sequence[int], lower: float, upper: float) -> None:
        """Set bounds of columns."""
        if len(columns):
            self.lower[columns], self.upper[columns] = lower, upper
            self._programme.set_bounds(columns, lower, upper)

    # --- rows

    @property
    def packed(self) -> Packed:
        """The inequalities' sets by city."""
        if self._packed is None:
            self._packed = packed(self.cuts, self.size)
        return self._packed

    def add_cuts(self, cuts: Sequence[Cut]) -> int:
        """Add those inequalities that are not there yet; how many."""
        new: list[Cut] = []
        for cut in cuts:
            if (key := cut.key) not in self._keys:
                self._keys.add(key)
                new.append(cut)
        if new:
            rows, columns, times = crossings(packed(new, self.size), self.size, self.i, self.j)
            starts = np.searchsorted(rows, np.arange(len(new))).astype(np.int32)
            lines = Lines(starts, columns.astype(np.int32), times.astype(np.float64))
            self._programme.add_rows([float(cut.least) for cut in new], math.inf, lines)
            self.cuts += new
            self.ages = np.concatenate([self.ages, np.zeros(len(new), np.int64)])
            self._packed = None
        return len(new)

    def purge(self, age: int) -> None:
        """Drop the inequalities that were slack for so many solves, if they are many."""
        old = np.flatnonzero(self.ages >= age)
        if len(old) < max(10, 0.1 * len(self.cuts)):
            return
        self._programme.delete_rows(old + self.size)
        self.last = self.last._replace(duals=np.delete(self.last.duals, old + self.size))
        gone = set(old.tolist())
        self._keys.difference_update(self.cuts[k].key for k in gone)
        self.cuts = [cut for k, cut in enumerate(self.cuts) if k not in gone]
        self.ages = np.delete(self.ages, old)
        self._packed = None

    # --- solving

    def solve(self, clock: Clock) -> bool:
        """Solve from the last basis on; whether it came to an end before the clock's."""
        look = max(_LOOK // self.size, _LEAST)
        while True:
            self.last = self._programme.solve(clock.left, look)
            if self.last.state in ("optimal", "infeasible"):
                break
            if clock.is_over() or not self._goes_on():
                return False
        if self.last.state == "optimal":
            slack = self.last.duals[self.size :] <= _ZERO
            self.ages = np.where(slack, self.ages + 1, 0)
        return True

    def _goes_on(self) -> bool:
        return bool(np.isfinite(self.last.objective))

    def tight(self) -> list[Ints]:
        """List the sets of inequalities of one set that have no slack."""
        few = self.last.rows[self.size :] < 2.0 + _TIGHT
        return [
            cut.sets[0] for cut, tight in zip(self.cuts, few, strict=True) if tight and len(cut.sets) == 1
        ]

    def tried(self, column: int, value: float, basis: object, iterations: int) -> Outcome:
        """Solve for some iterations with a column fixed, and put everything back."""
        self._programme.set_bounds([column], value, value)
        outcome = self._programme.solve(iterations=iterations)
        self._programme.set_bounds([column], self.lower[column], self.upper[column])
        self._programme.set_basis(basis)
        return outcome

    def ray(self) -> Floats | None:
        """Give what may be added to dual values where the last solve was infeasible."""
        return self._programme.ray()

    def basis(self) -> object:
        """Give the basis of the last solve."""
        return self._programme.basis()

    # --- bounds

    def values(self, duals: Floats) -> tuple[Values, Duals] | None:
        """Round dual values to whole ones; None if sums of them might not fit into 64 bits."""
        new = np.zeros(self.size + len(self.cuts) - len(duals))  # inequalities since the last solve
        scaled = np.rint(np.clip(np.append(duals, new) * self.per, -_MOST, _MOST))
        sets, weights = self.packed, np.maximum(scaled[self.size :], 0.0).astype(np.int64)
        cities = scaled[: self.size].astype(np.int64)
        whole = Duals(cities.copy(), sets.first, sets.sets, weights[sets.cut])
        if not self.edges.fits(whole, whole.weights.astype(np.float64)):
            return None
        reduced_costs.raise_potentials(whole)
        used = np.flatnonzero(weights).tolist()
        return Values(cities, [(self.cuts[k], int(weights[k])) for k in used]), whole

    def bounded(self, duals: Floats | None = None, lengths: Ints | None = None) -> Bounded | None:
        """Bound the tours of the columns' edges, within the columns' bounds, from any dual values."""
        found = self.values(self.last.duals if duals is None else duals)
        if found is None:
            return None
        costs = (self.lengths if lengths is None else lengths).copy()
        reduced_costs.reduce_costs(found[1], self.i, self.j, costs)
        one, free = self.lower > 0.5, (self.lower < 0.5) & (self.upper > 0.5)
        counted = np.where(one, costs, np.where(free, np.minimum(costs, 0), 0))
        return Bounded(_base(found[0]) + total_of(counted), costs, found[0])

    def bounded_by_all(
        self, limit: int, stop: Callable[[], bool], most: int
    ) -> tuple[int, tuple[Ints, Ints, Ints], Values] | None:
        """Bound all tours, and find the edges with reduced costs below a limit.

        Fixed edges are those that each tour has; bounds of the columns do not count. None if it was stopped,
        or there are more than `most` edges.
        """
        if (found := self.values(self.last.duals)) is None:
            return None
        fixed = self.edges.fixed
        costs = self.edges.of(*fixed)
        reduced_costs.reduce_costs(found[1], *fixed, costs)
        base = _base(found[0]) + total_of(np.maximum(costs, 0))
        scanned = self.edges.scanned(found[1], limit, stop, most)
        return scanned and (base + scanned[0], scanned[1], found[0])


def _base(values: Values) -> int:
    return 2 * total_of(values.cities) + sum(cut.least * value for cut, value in values.cuts)
