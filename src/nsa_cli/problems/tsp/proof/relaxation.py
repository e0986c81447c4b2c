"""The linear programme over some edges, its inequalities, and whole bounds from its dual values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

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
    keys, i, j, lengths : int64[E]
        Of the columns' edges: numbers that tell them apart, ends in rising order, and whole lengths.
    lower, upper : float64[E]
        Bounds of the columns.
    tour_keys : int64[N]
        Edges of the best tour, which are not nudged.
    cuts : list of Cut
    ages : int64[C]
        For how many solves each was slack.
    last : Outcome
    per : float
        Whole lengths in a unit of the programme.
    """

    def __init__(self, edges: WholeEdges, tour: Ints) -> None:
        self.edges, self.size = edges, edges.size
        self.keys, self.i, self.j, self.lengths = np.zeros((4, 0), np.int64)
        self.lower, self.upper = np.zeros((2, 0))
        self.cuts: list[Cut] = []
        self.ages = np.zeros(0, np.int64)
        self._known: set[tuple[bytes, ...]] = set()
        self._packed: Packed | None = None
        self._nudged = False
        self._programme = Programme()
        self._programme.add_rows(2.0, 2.0, Lines.of([()] * self.size))
        mean = float(np.abs(edges.of(tour, np.roll(tour, -1))).astype(np.float64).mean())
        self.per = math.ldexp(1.0, edges.scale)
        if not (edges.whole and mean < _SHORT * self.per) and mean > 0:
            self.per = mean / _UNITS
        self._fixed = self._keys_of(*edges.fixed)
        self.set_tour(tour)
        self.add_edges(*edges.near)
        self.add_edges(*edges.fixed)
        self.last: Outcome

    # --- columns

    def _keys_of(self, i: Ints, j: Ints) -> Ints:
        return np.minimum(i, j) * self.size + np.maximum(i, j)

    def set_tour(self, tour: Ints) -> None:
        """Note the best tour, and let its edges join."""
        self.tour_keys = self._keys_of(tour, np.roll(tour, -1))
        self.add_edges(tour, np.roll(tour, -1))

    def add_edges(self, i: Ints, j: Ints) -> int:
        """Add columns of edges that have none yet; how many."""
        new = np.setdiff1d(self._keys_of(i[i != j], j[i != j]), self.keys)
        if not (width := len(new)):
            return 0
        i, j = np.divmod(new, self.size)
        columns = (self.keys, self.i, self.j, self.lengths)
        more = (new, i, j, self.edges.of(i, j))
        self.keys, self.i, self.j, self.lengths = map(np.append, columns, more)
        self.lower = np.append(self.lower, np.isin(new, self._fixed))
        self.upper = np.append(self.upper, np.ones(width))
        cut, edge, times = crossings(self.packed, self.size, i, j)
        columns = np.concatenate([np.arange(width), np.arange(width), edge])
        rows = np.concatenate([i, j, cut + self.size])
        values = np.concatenate([np.ones(2 * width), times])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(width)).astype(np.int32)
        lines = Lines(starts, rows[order].astype(np.int32), values[order])
        self._programme.add_columns(self._costs()[-width:], self.lower[-width:], 1.0, lines)
        return width

    def _costs(self) -> Floats:
        costs = self.lengths / self.per
        return costs - _NUDGE * ~np.isin(self.keys, self.tour_keys) if self._nudged else costs

    def nudge(self) -> bool:
        """Make edges outside of the tour a little shorter, so that few have no reduced cost; once."""
        done, self._nudged = self._nudged, True
        if not done:
            self._programme.set_costs(np.arange(len(self.keys)), self._costs())
        return not done

    def keep_edges(self, i: Ints, j: Ints) -> None:
        """Keep the columns of these edges and of fixed ones only, and let those that have none join."""
        kept = np.isin(self.keys, self._keys_of(i, j)) | (self.lower > 0.5)
        self._programme.delete_columns(np.flatnonzero(~kept))
        self.keys, self.i, self.j, self.lengths = (
            one[kept] for one in (self.keys, self.i, self.j, self.lengths)
        )
        self.lower, self.upper = self.lower[kept], self.upper[kept]
        self.add_edges(i, j)

    def branch(self, fixings: Sequence[tuple[int, int]]) -> None:
        """Fix the columns of some edges, by their keys, at 1 or 0, and free the others."""
        some = {value: [key for key, fixed in fixings if fixed == value] for value in (0, 1)}
        lower = np.isin(self.keys, np.append(self._fixed, some[1]))
        upper = ~np.isin(self.keys, some[0])
        moved = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        self.lower, self.upper = lower.astype(np.float64), upper.astype(np.float64)
        self._programme.set_bounds(moved, self.lower[moved], self.upper[moved])

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
            if (key := cut.key) not in self._known:
                self._known.add(key)
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
        self._known.difference_update(self.cuts[k].key for k in gone)
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

    def solution(self) -> tuple[Ints, Ints, Floats]:
        """Give the edges of the last solve, and their weights."""
        return self.i, self.j, self.last.columns

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

    def bounded(self, duals: Floats | None = None) -> Bounded | None:
        """Bound the tours of the columns' edges, within the columns' bounds, from any dual values."""
        found = self.values(self.last.duals if duals is None else duals)
        if found is None:
            return None
        costs = self.lengths.copy()
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
