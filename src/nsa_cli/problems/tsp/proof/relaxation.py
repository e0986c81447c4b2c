"""The linear programme over some edges, its inequalities, and whole bounds from its dual values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import total_of
from nsa_cli.core.programme import Lines, Outcome, Programme
from nsa_cli.problems.tsp.kernels import reduced_costs
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints
from nsa_cli.problems.tsp.kernels.reduced_costs import Duals
from nsa_cli.problems.tsp.proof.cuts import Cut, crossings, packed
from nsa_cli.problems.tsp.proof.lengths import Edges, WholeEdges

#: Units of the programme in a mean edge of the tour.
_UNITS = 256

#: Edges outside of the tour are made so much shorter, of a unit, where dual values leave too many at 0.
_NUDGE = 1e-3

#: Slack inequalities go if they are so many, and so great a share.
_OLD, _OLD_SHARE = 10, 0.1

#: Dual values are clipped to so many bits.
_MOST = 2.0**58

#: Dual values below the first are 0; borders with less slack than the second have none.
_ZERO, _TIGHT = 1e-7, 1e-5


class StoppedError(Exception):
    """The clock, or numbers that are too large, have ended the search."""


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
    cuts : dict of Cut
        By their keys, in the order of the rows.
    ages : int64[C]
        For how many solves each was slack.
    programme : Programme
    last : Outcome
    per : float
        Whole lengths in a unit of the programme.
    """

    def __init__(self, edges: WholeEdges, tour: Ints) -> None:
        self.edges, self.size = edges, edges.size
        self.keys, self.i, self.j, self.lengths = np.zeros((4, 0), np.int64)
        self.lower, self.upper = np.zeros((2, 0))
        self.cuts: dict[tuple[bytes, ...], Cut] = {}
        self.ages = np.zeros(0, np.int64)
        self._nudged = False
        self.programme = Programme()
        self.programme.add_rows(2.0, 2.0, Lines.of([()] * self.size))
        mean = float(np.abs(edges.of(tour, np.roll(tour, -1))).astype(np.float64).mean())
        self.per = mean / _UNITS or math.ldexp(1.0, edges.scale)
        self._fixed = self._keys_of(*edges.fixed)
        self.set_tour(tour)
        self.add_edges(*edges.near)
        self.add_edges(*edges.fixed)
        self.last: Outcome

    # --- columns

    def _keys_of(self, i: Ints, j: Ints) -> Ints:
        return np.minimum(i, j) * self.size + np.maximum(i, j)

    def _columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.keys, self.i, self.j, self.lengths

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
        more = (new, i, j, self.edges.of(i, j))
        self.keys, self.i, self.j, self.lengths = map(np.append, self._columns(), more)
        self.lower = np.append(self.lower, np.isin(new, self._fixed))
        self.upper = np.append(self.upper, np.ones(width))
        cut, edge, times = crossings(packed([*self.cuts.values()], self.size), self.size, i, j)
        columns = np.concatenate([np.arange(width), np.arange(width), edge])
        rows = np.concatenate([i, j, cut + self.size])
        values = np.concatenate([np.ones(2 * width), times])
        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(width)).astype(np.int32)
        lines = Lines(starts, rows[order].astype(np.int32), values[order])
        self.programme.add_columns(self._costs()[-width:], self.lower[-width:], 1.0, lines)
        return width

    def _costs(self) -> Floats:
        costs = self.lengths / self.per
        return costs - _NUDGE * ~np.isin(self.keys, self.tour_keys) if self._nudged else costs

    def nudge(self) -> bool:
        """Make edges outside of the tour a little shorter, so that few have no reduced cost; once."""
        done, self._nudged = self._nudged, True
        if not done:
            self.programme.set_costs(np.arange(len(self.keys)), self._costs())
        return not done

    def keep_edges(self, i: Ints, j: Ints) -> None:
        """Keep the columns of these edges and of fixed ones only, and let those that have none join."""
        kept = np.isin(self.keys, self._keys_of(i, j)) | (self.lower > 0.5)
        self.programme.delete_columns(np.flatnonzero(~kept))
        self.keys, self.i, self.j, self.lengths = (one[kept] for one in self._columns())
        self.lower, self.upper = self.lower[kept], self.upper[kept]
        self.add_edges(i, j)

    def branch(self, fixings: Sequence[tuple[int, int]]) -> None:
        """Fix the columns of some edges, by their keys, at 1 or 0, and free the others."""
        some = {value: [key for key, fixed in fixings if fixed == value] for value in (0, 1)}
        lower = np.isin(self.keys, np.append(self._fixed, some[1]))
        upper = ~np.isin(self.keys, some[0])
        moved = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        self.lower, self.upper = lower.astype(np.float64), upper.astype(np.float64)
        self.programme.set_bounds(moved, self.lower[moved], self.upper[moved])

    # --- rows

    def add_cuts(self, cuts: Sequence[Cut]) -> int:
        """Add those inequalities that are not there yet; how many."""
        new = {cut.key: cut for cut in cuts if cut.key not in self.cuts}
        rows, columns, times = crossings(packed([*new.values()], self.size), self.size, self.i, self.j)
        starts = np.searchsorted(rows, np.arange(len(new))).astype(np.int32)
        lines = Lines(starts, columns.astype(np.int32), times.astype(np.float64))
        self.programme.add_rows([float(cut.least) for cut in new.values()], math.inf, lines)
        self.cuts |= new
        self.ages = np.append(self.ages, np.zeros(len(new), np.int64))
        return len(new)

    def purge(self, age: int) -> None:
        """Drop the inequalities that were slack for so many solves, if they are many."""
        old = self.ages >= age
        if np.count_nonzero(old) >= max(_OLD, _OLD_SHARE * len(old)):
            rows = np.flatnonzero(old) + self.size
            self.programme.delete_rows(rows)
            self.last = self.last._replace(duals=np.delete(self.last.duals, rows))
            self.cuts = dict(one for one, gone in zip(self.cuts.items(), old, strict=True) if not gone)
            self.ages = self.ages[~old]

    # --- solving

    def solve(self, clock: Clock) -> bool:
        """Solve from the last basis on; whether there is a solution."""
        self.last = self.programme.solve(clock)
        if self.last.state == "unfinished":
            raise StoppedError
        if self.last.state == "optimal":
            self.ages = np.where(self.last.duals[self.size :] <= _ZERO, self.ages + 1, 0)
        return self.last.state == "optimal"

    def tight(self) -> list[Ints]:
        """List the sets of inequalities of one set that have no slack."""
        few = self.last.rows[self.size :] < 2.0 + _TIGHT
        pairs = zip(self.cuts.values(), few, strict=True)
        return [cut.sets[0] for cut, tight in pairs if tight and len(cut.sets) == 1]

    def tried(self, column: int, value: float, basis: object, iterations: int) -> Outcome:
        """Solve for some iterations with a column fixed, and put everything back."""
        self.programme.set_bounds([column], value, value)
        outcome = self.programme.solve(iterations=iterations)
        self.programme.set_bounds([column], self.lower[column], self.upper[column])
        self.programme.set_basis(basis)
        return outcome

    # --- bounds

    def _values(self, duals: Floats) -> tuple[Values, Duals, int]:
        """Round dual values to whole ones, and add up what they give without reduced costs.

        Raises
        ------
        StoppedError
            If sums of them might not fit into 64 bits.
        """
        cuts = [*self.cuts.values()]
        new = np.zeros(self.size + len(cuts) - len(duals))  # inequalities since the last solve
        scaled = np.rint(np.clip(np.append(duals, new) * self.per, -_MOST, _MOST)).astype(np.int64)
        cities, weights, sets = (
            scaled[: self.size],
            np.maximum(scaled[self.size :], 0),
            packed(cuts, self.size),
        )
        whole = Duals(cities.copy(), sets.first, sets.sets, weights[sets.cut])
        if not self.edges.fits(whole):
            raise StoppedError
        reduced_costs.raise_potentials(whole)
        used = [(cuts[k], int(weights[k])) for k in np.flatnonzero(weights)]
        base = 2 * total_of(cities) + sum(cut.least * value for cut, value in used)
        return Values(cities, used), whole, base

    def bounded(self, duals: Floats | None = None) -> Bounded:
        """Bound the tours of the columns' edges, within the columns' bounds, from any dual values."""
        values, whole, base = self._values(self.last.duals if duals is None else duals)
        costs = self.lengths.copy()
        reduced_costs.reduce_costs(whole, self.i, self.j, costs)
        counted = np.where(self.lower > 0.5, costs, np.where(self.upper > 0.5, np.minimum(costs, 0), 0))
        return Bounded(base + total_of(counted), costs, values)

    def bounded_by_all(self, limit: int, clock: Clock) -> tuple[int, Edges, bool, Values]:
        """Bound all tours, and find edges with reduced costs below a limit; whether these are all.

        Fixed edges are those that each tour has; bounds of the columns do not count.

        Raises
        ------
        StoppedError
            If time is over.
        """
        values, whole, base = self._values(self.last.duals)
        costs = self.edges.of(*self.edges.fixed)
        reduced_costs.reduce_costs(whole, *self.edges.fixed, costs)
        if (found := self.edges.scanned(whole, limit, clock)) is None:
            raise StoppedError
        total, edges, complete = found
        return base + total_of(np.maximum(costs, 0)) + total, edges, complete, values
