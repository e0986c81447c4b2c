"""The covering programme of bin packing: a bound by whole prices of items, and packings from its patterns.

Each column is a pattern, what one bin holds; each type of equal items is covered by as many as there are. The
patterns are priced exactly (Gilmore and Gomory 1961). Any whole prices give a bound: no bin holds items of
more than V together, so that there are at least ``sum of prices / V`` bins (Farley 1990). The duals are
rounded down to such prices, and V is found by dynamic programming: no float has a part in what is proved.

Columns of no cost put a lighter item where a pattern has a heavier one, so that fewer patterns are generated
(Valério de Carvalho 2005). Packings come from rounding patterns up one by one, with patterns priced for what
is left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock
from nsa_cli.core.programme import Lines, Outcome, Programme
from nsa_cli.problems.bin.kernels.pricing import Lots, least_weights, trace

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: What an empty bin may cost: prices are whole multiples of its share. More where rounding costs too much.
_UNITS, _FINEST = (1_000, 10_000), 1_000_000

#: Rounding down costs a tenth of a bin so.
_UNIT = 5

#: Patterns that one pricing gives at most.
_PATTERNS = 30

#: States of a dynamic programme at most, some hundred megabytes.
_MOST_STATES = 100_000_000

#: States of all dynamic programmes at most where time has no limit: a second. A step of the simplex method
#: takes as long as so many a row.
_MOST_WORK, _ITERATION = 1_000_000_000, 50

#: What is a rounding error in numbers of bins.
_NEAR = 1e-6

#: Share by which float64 sums may be off, and more.
_SLACK = 1e-9


class Columns:
    """The programme of an instance; types are in the order of falling weights.

    Parameters
    ----------
    weights : int64[N]
        Of items that fit, below 2**61 together.
    capacity : int
        Positive.
    value : int
        A bound that is known.
    clock : Clock

    Attributes
    ----------
    prices : int64[N]
        Whole prices that give `value`, if it has risen; 0 of items without weight.
    most : int
        No bin holds items of a higher price together.
    value : int
        The bound.
    """

    def __init__(self, weights: Ints, capacity: int, value: int, clock: Clock) -> None:
        self.capacity, self.clock, self.weights = capacity, clock, weights
        falling, kinds, demand = np.unique(-weights[weights > 0], return_inverse=True, return_counts=True)
        self.types, self.demand = -falling, demand.astype(np.int64)
        self.kinds = np.full(len(weights), -1)
        self.kinds[weights > 0] = kinds
        self.value, self.prices, self.most = value, np.zeros(len(weights), np.int64), 1
        self.unit = int(np.clip(_UNIT * len(weights), *_UNITS))
        self.work, self.known = 0, set[bytes]()
        self.patterns = np.zeros((0, len(self.types)), np.int64)
        count = len(self.types)
        self.programme = Programme(simplex_strategy=0)
        self.programme.add_rows(demand, math.inf, Lines.of([()] * count))
        if count > 1:
            pairs = [(t, t + 1) for t in range(count - 1)]
            entries = Lines.of(pairs, [(-1.0, 1.0)] * len(pairs))
            self.programme.add_columns(np.zeros(len(pairs)), 0.0, math.inf, entries)

    def add(self, packing: Ints) -> None:
        """Add the patterns of a packing: the bin of each item, int64[N]."""
        used = self.kinds >= 0
        patterns = np.zeros((int(packing.max()) + 1, len(self.types)), np.int64)
        np.add.at(patterns, (packing[used], self.kinds[used]), 1)
        self._add(patterns)

    def bound(self, enough: int) -> None:
        """Generate patterns until the bound cannot rise, or until it is enough; it is in `value`.

        Parameters
        ----------
        enough : int
            Bins of a packing that is known.
        """
        while self.value < enough and (found := self._solved()) is not None:
            prices = self._rounded(found.duals)
            most, patterns = self._priced(prices, self.demand)
            if most is None:
                return
            if (value := -(-int(prices @ self.demand) // most)) > self.value:
                self.value, self.most = value, most
                self.prices = np.where(self.kinds >= 0, prices[self.kinds], 0)
            if self.value >= math.ceil(found.objective - _NEAR):
                return
            if not self._add(patterns[patterns @ found.duals > 1 + _NEAR]):
                if self.unit >= _FINEST:
                    return
                self.unit *= 10

    def _rounded(self, duals: Floats) -> Ints:
        """Round duals down to whole prices, none above what a bin costs."""
        return np.floor(np.clip(duals, 0.0, 1.0) * self.unit + _NEAR).astype(np.int64)

    def packing(self) -> Ints | None:
        """Round patterns up one by one, and price others for what is left.

        Returns
        -------
        int64[N] or None
            The bin of each item; None without time, or where rounding errors stop it.
        """
        left, chosen, rows = self.demand.copy(), list[Ints](), np.arange(len(self.types))
        while left.any():
            self.programme.set_row_bounds(rows, left, math.inf)
            found = self._solved()
            if found is not None and self._add(self._priced(self._rounded(found.duals), left)[1]):
                found = self._solved()
            if found is None:
                return None
            amounts = found.columns[-len(self.patterns) :]
            counts = np.floor(amounts + _NEAR).astype(np.int64)
            if not counts.any():
                counts[int(np.argmax(amounts))] = 1
            before = len(chosen)
            for k in np.repeat(np.arange(len(counts)), counts):
                if (pattern := _fitted(self.patterns[k], left)).any():
                    chosen.append(pattern)
                    left -= pattern
            if len(chosen) == before:
                return None
        by_type = np.argsort(self.kinds, kind="stable")[np.count_nonzero(self.kinds < 0) :]
        bins, packing = np.tile(np.arange(len(chosen)), len(self.types)), np.zeros_like(self.kinds)
        packing[by_type] = np.repeat(bins, np.array(chosen, np.int64).T.ravel())
        return packing

    def _solved(self) -> Outcome | None:
        """Minimise; None without time."""
        if self._is_over():
            return None
        cost = _ITERATION * max(len(self.types), 1)
        most = math.inf if self.clock.is_limited else (_MOST_WORK - self.work) // cost + 1
        found = self.programme.solve(self.clock, most)
        self.work += found.iterations * cost
        return found if found.state == "optimal" else None

    def _is_over(self) -> bool:
        """Tell whether time has run out, or as much work is done as there would be time for."""
        return self.clock.is_over() or (self.work > _MOST_WORK and not self.clock.is_limited)

    def _add(self, patterns: Ints) -> bool:
        """Add the patterns that are new; tell whether there are any."""
        new = [row for row in patterns if row.any() and row.tobytes() not in self.known]
        self.known.update(row.tobytes() for row in new)
        if not new:
            return False
        self.patterns = np.concatenate([self.patterns, new])
        places = [np.flatnonzero(row) for row in new]
        entries = Lines.of(places, [row[p] for row, p in zip(new, places, strict=True)])
        self.programme.add_columns(np.ones(len(new)), 0.0, math.inf, entries)
        return True

    def _priced(self, prices: Ints, demand: Ints) -> tuple[int | None, Ints]:
        """Find what a bin may be worth at most, and patterns that are worth more than one costs.

        Returns
        -------
        most : int or None
            At least 1; None if there are too many states, or is no time.
        patterns : int64[P, T]
        """
        lots = self._lots(prices, demand)
        states = self._ceiling(lots) + 1
        self.work += states * len(lots.types)
        if states * len(lots.types) > _MOST_STATES or self._is_over():
            return None, self.patterns[:0]
        least = np.empty(states, np.int64)
        taken = np.empty((len(lots.types), states), np.bool_)
        most = least_weights(lots, self.capacity, least, taken)
        values = self.unit + 1 + np.flatnonzero(least[self.unit + 1 :] <= self.capacity)
        if len(values) > _PATTERNS:
            values = values[np.linspace(0, len(values) - 1, _PATTERNS).astype(np.int64)]
        patterns = np.empty((len(values), len(self.types)), np.int64)
        trace(lots, taken, values[::-1].astype(np.int64), patterns)
        return max(most, 1), patterns

    def _lots(self, prices: Ints, demand: Ints) -> Lots:
        """Put the items of a price together, of each type as many as are asked for and fit into a bin."""
        chosen = np.flatnonzero((prices > 0) & (demand > 0))
        types, counts = list[int](), list[int]()
        for t in chosen.tolist():
            left, size = min(int(demand[t]), self.capacity // int(self.types[t])), 1
            while left:
                taken = min(size, left)
                types.append(t)
                counts.append(taken)
                left, size = left - taken, 2 * size
        of, many = np.array(types, np.int64), np.array(counts, np.int64)
        return Lots(of, many, self.types[of] * many, prices[of] * many)

    def _ceiling(self, lots: Lots) -> int:
        """Bound what a bin is worth by Dantzig's bound, rounded up by more than what float64 sums are off."""
        order = np.argsort(-lots.worths / lots.weights)
        weights, worths = (np.append(0.0, np.cumsum(one[order])) for one in (lots.weights, lots.worths))
        value = np.interp(float(self.capacity), weights, worths)
        return int(value + _SLACK * (value * weights[-1] / self.capacity + worths[-1])) + 1


def _fitted(pattern: Ints, left: Ints) -> Ints:
    """Fit a pattern to what is left: where a type has gone, the heaviest lighter one takes its place."""
    taken = np.minimum(pattern, left)
    for t in np.repeat(np.arange(len(pattern)), pattern - taken):
        lighter = t + np.flatnonzero(left[t:] > taken[t:])
        if len(lighter):
            taken[lighter[0]] += 1
    return taken
