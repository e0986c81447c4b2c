"""Core programme of the knapsack: dynamic programming over a core that grows from the break item outwards.

Items are sorted by value per weight; the break solution takes them up to the first that does not fit.
From it, states (weight, value) are extended by turns with the next item above the break, which may be
taken, and the next below, which may be left out; dominated states go, and those that cannot beat the best
solution known. Few items are ever looked at (Pisinger 1997, "A minimal algorithm for the 0-1 knapsack
problem"). Each step here is a few vectorised passes over the states.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock

#: States of all steps together, some hundred megabytes and a second or two; and of Python integers.
_MOST_STATES, _MOST_LONG = 6_000_000, 300_000

#: Share by which float64 bounds on integers may be off, sums of some terms included.
_SLACK = 2.0**-48


class _Step(NamedTuple):
    """Origin of the states of a step: the state before each, and whether `item` was toggled."""

    item: int
    parent: NDArray[np.int32]
    toggled: NDArray[np.bool_]


class _States(NamedTuple):
    """Pareto-optimal partial solutions by rising weight: int64[S] each, or Python integers."""

    weights: NDArray[Any]
    values: NDArray[Any]


class CoreProgramme:
    """State of one run; items without weight are taken, items without value or room are not.

    Parameters
    ----------
    values, weights : int64[N], or Python integers where sums do not stay below 2**61
        Not negative.
    capacity : int
    known : bool[N]
        A feasible selection.
    """

    def __init__(
        self,
        values: NDArray[Any],
        weights: NDArray[Any],
        capacity: int,
        known: NDArray[np.bool_],
    ) -> None:
        self.all_values = values
        self.best = known.copy()
        self.best_value = int(values[known].sum())
        self.capacity, self.free = capacity, (weights == 0) & (values > 0)
        items = np.flatnonzero((values > 0) & (weights > 0) & (weights <= capacity))
        ratios = (values[items] / weights[items]).astype(np.float64)
        order = np.argsort(-ratios, kind="stable")
        self.items, self.ratios = items[order], ratios[order]
        self.values, self.weights = values[self.items], weights[self.items]
        self.broken = int(np.searchsorted(np.cumsum(self.weights), capacity, side="right"))
        self.prefix_weight = int(self.weights[: self.broken].sum())
        self.prefix_value = int(self.values[: self.broken].sum() + values[self.free].sum())
        # Ratios in floats may be out of order by a rounding error, which is far within the margin.
        self.margin = _SLACK * (float(values.sum()) + 1.0)

    def run(self, clock: Clock) -> tuple[NDArray[np.bool_], int]:
        """Extend the states item by item until the best is proved optimal, or time or memory ends.

        Parameters
        ----------
        clock : Clock

        Returns
        -------
        chosen : bool[N]
            The best selection found.
        upper : int
            Upper bound of the value; the value of `chosen` if the programme has ended.
        """
        states = _States(
            np.array([self.prefix_weight], dtype=self.weights.dtype),
            np.array([self.prefix_value], dtype=self.values.dtype),
        )
        long = object in (self.weights.dtype, self.values.dtype)
        most = _MOST_LONG if long else _MOST_STATES
        history: list[_Step] = []
        self._improve(states, history)
        if self.broken == len(self.items):
            return self.best, self.best_value
        self.reach = self._reach()
        above, below, total = self.broken, self.broken - 1, 0
        while len(states.weights):
            above, below = self._next(above, +1), self._next(below, -1)
            bounds = self._bounds(states, above, below) + self.margin
            alive = np.flatnonzero(bounds >= self.best_value + 1)
            states = _States(states.weights[alive], states.values[alive])
            history.append(_Step(-1, alive.astype(np.int32), np.zeros(len(alive), dtype=bool)))
            if not len(alive) or (above == len(self.items) and below < 0):
                break
            total += 2 * len(alive)
            if total > most or clock.reason():
                return self.best, max(self.best_value, int(np.floor(bounds.max())))
            for item, step in ((above, +1), (below, -1)):
                if 0 <= item < len(self.items):
                    states, how = self._extended(states, item, step)
                    history.append(how)
                    self._improve(states, history)
            above, below = min(above + 1, len(self.items)), max(below - 1, -1)
        return self.best, self.best_value

    def _next(self, item: int, step: int) -> int:
        """Skip the items that the break solution's bound fixes where they are (Dembo and Hammer 1980)."""
        if not 0 <= item < len(self.items):
            return len(self.items) if step > 0 else -1
        others = self.reach[item:] if step > 0 else self.reach[item::-1]
        loose = others + self.margin >= self.best_value + 1
        ahead = int(loose.argmax())
        return item + step * (ahead if loose[ahead] else len(others))

    def _reach(self) -> NDArray[np.float64]:
        """Upper bounds of the break solution with each item toggled, float64[M]."""
        step = np.where(np.arange(len(self.items)) < self.broken, -1, 1)
        room = self.capacity - self.prefix_weight - step * self.weights
        filled = room * self.ratios[self.broken]
        return np.asarray(self.prefix_value + step * self.values + filled, dtype=np.float64)

    def _bounds(self, states: _States, above: int, below: int) -> NDArray[np.float64]:
        """Upper bound of each state: filled at the best ratio left, or relieved at the worst, float64[S]."""
        fill = self.ratios[above] if above < len(self.items) else 0.0
        room = (self.capacity - states.weights).astype(np.float64)
        if below >= 0:
            relieved = np.where(room < 0, room * self.ratios[below], room * fill)
        else:
            relieved = np.where(room < 0, -np.inf, room * fill)
        return np.asarray(states.values + relieved, dtype=np.float64)

    def _extended(self, states: _States, item: int, step: int) -> tuple[_States, _Step]:
        """Merge the states with those that have the item toggled; keep the Pareto-optimal ones."""
        count = len(states.weights)
        weights = np.concatenate([states.weights, states.weights + step * self.weights[item]])
        values = np.concatenate([states.values, states.values + step * self.values[item]])
        order = np.argsort(weights, kind="stable")
        weights, values = weights[order], values[order]
        before = np.maximum.accumulate(values)
        good = np.concatenate([[True], values[1:] > before[:-1]])
        order = order[good]
        how = _Step(int(self.items[item]), (order % count).astype(np.int32), order >= count)
        return _States(weights[good], values[good]), how

    def _improve(self, states: _States, history: list[_Step]) -> None:
        """Keep the best feasible state if it is better: values rise with weights, so the last that fits."""
        place = int(np.searchsorted(states.weights, self.capacity, side="right")) - 1
        if place < 0 or int(states.values[place]) <= self.best_value:
            return
        chosen = self.free.copy()
        chosen[self.items[: self.broken]] = True
        for step in reversed(history):
            if step.toggled[place]:
                chosen[step.item] ^= True
            place = int(step.parent[place])
        self.best, self.best_value = chosen, int(self.all_values[chosen].sum())
