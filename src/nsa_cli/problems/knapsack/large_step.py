"""Large-step chains of the knapsack, and the swaps that finish their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.problems.knapsack.heuristics import break_solution
from nsa_cli.problems.knapsack.instance import KnapsackInstance
from nsa_cli.problems.knapsack.kernels.large_step import FREE, PLACES, VALUE, Items, Selection

#: The fewest items.
_LEAST = 3

#: The number of items in the window.
_WINDOW = 32

#: The share of the kicks that swap two of all items, where the window does not have all.
_SWAPS = 0.25

#: The most swaps of an answer, each the best of all pairs.
_LAST_SWAPS = 200

#: The most items that are looked at for all of them.
_LAST_LOOKS = 10_000_000

#: Values below this cannot be scaled to integers of `_VALUE_BITS`.
_NOTHING = 1e-280

#: Values are scaled to integers whose sum stays below two to this.
_VALUE_BITS = 60


class KnapsackLargeStep:
    """Large-step chains of the knapsack; see `nsa_cli.core.problem.LargeStep`."""

    def fits(self, instance: KnapsackInstance) -> bool:
        """Tell whether there are enough items, and values that integers can hold."""
        return instance.size >= _LEAST and not 0 < float(instance.values.max()) < _NOTHING

    def budget(self, instance: KnapsackInstance) -> Budget:
        """Choose a second at most, and far less for few items.

        Temperatures are in mean values of the items in the window. Measured on the paper's sets and on the
        correlated classes of Pisinger (2005): uncorrelated items hardly mind, of the others some chains are
        caught in a corner, which several do not have in common.
        """
        steps = int(np.clip(2_000 * instance.size, 100_000, 1_000_000))
        return Budget(steps, 0.3, 0.003, chains=4)

    def runs(
        self,
        instances: Sequence[KnapsackInstance],
        x: NDArray[Any],
        kicks: float = math.inf,
        fast_setup: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first selections."""
        made = {id(i): prepare(i) for i in {id(i): i for i in instances}.values()}
        return [_run(made[id(i)], chosen) for i, chosen in zip(instances, x, strict=True)]


class Prepared(NamedTuple):
    """An instance as its chains share it.

    Attributes
    ----------
    items : Items
    order : int64[M]
        The positions of `items` in the instance.
    free : bool[N]
        Whether an item weighs nothing and is worth something: it is always taken.
    capacity, worth : int
        The capacity, and the value of the `free` items, in exact units.
    """

    items: Items
    order: NDArray[np.int64]
    free: NDArray[np.bool_]
    capacity: int
    worth: int


def prepare(instance: KnapsackInstance) -> Prepared:
    """Sort the items by value per weight and find the window: those whose toggling costs least at the break.

    At the break item's ratio r, a selection loses ``|v - r w|`` by not having an item where that ratio says.
    """
    values, unit = whole_values(instance.values)
    weights, capacity = instance.exact.units, instance.exact.capacity
    free, order, broken = break_solution(values, weights, capacity)
    breaking = order[broken : broken + 1] if broken < len(order) else order[-1:]
    losses = np.abs(values[order] - (values[breaking] / weights[breaking]) * weights[order])
    near = np.argsort(losses, kind="stable")[:_WINDOW]
    outside = np.ones(len(order), dtype=bool)
    outside[near] = False
    window_first = np.argsort(outside, kind="stable")
    order, home, window = order[window_first], window_first < broken, len(near)
    v, w = values[order], weights[order]
    lightest = int(w[:window].min(initial=capacity + 1))
    swaps = _SWAPS if len(order) > _WINDOW else 0.0
    scale = float(v[:window].mean()) if window else 1.0
    items = Items(v, w, home, window, lightest, swaps, unit, scale, tolerance=0.0)
    return Prepared(items, order, free, capacity, int(values[free].sum()))


def whole_values(values: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """Scale values to integers, int64[N]; also gives their unit, in file units."""
    bits = _VALUE_BITS - len(values).bit_length()
    if values.dtype == np.int64 and values.max(initial=0) < 2**bits:
        return values, 1.0
    numbers = values.astype(np.float64)
    shift = bits - int(np.frexp(numbers.max(initial=0.0))[1])
    return np.rint(np.ldexp(numbers, shift)).astype(np.int64), float(np.ldexp(1.0, -shift))


def _run(prepared: Prepared, chosen: Solution) -> LargeStepRun:
    items, inside = prepared.items, swapped(prepared, chosen[prepared.order])
    size = len(inside)
    counts = np.zeros(PLACES, dtype=np.int64)
    counts[FREE] = prepared.capacity - items.weights[inside].sum()
    counts[VALUE] = prepared.worth + items.values[inside].sum()
    toggled, astray = np.zeros(2 * items.window + 2, dtype=np.int64), np.zeros(size, dtype=np.int64)
    place, best = np.full(size, -1, dtype=np.int64), inside.copy()
    state = Selection(inside, best, toggled, astray, place, counts)
    return LargeStepRun(items, state, _reader(prepared, inside), _reader(prepared, best, swaps=True))


def _reader(prepared: Prepared, taken: NDArray[np.bool_], *, swaps: bool = False) -> Callable[[], Solution]:
    """Make a reader of a selection of the instance's items, after improving swaps where `swaps` says so."""

    def read() -> Solution:
        chosen = prepared.free.copy()
        chosen[prepared.order[swapped(prepared, taken) if swaps else taken]] = True
        return chosen

    return read


def swapped(prepared: Prepared, taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Swap one item in for one out, the best pair of all first, until that is worth nothing or often enough.

    Of many items a chain that swaps at random may leave a pair; bool[M] as `taken`.
    """
    values, weights = prepared.items.values, prepared.items.weights
    taken, by_weight = taken.copy(), np.argsort(weights, kind="stable")
    free = prepared.capacity - int(weights[taken].sum())
    for _ in range(min(_LAST_SWAPS, _LAST_LOOKS // max(len(taken), 1))):
        left, inside = by_weight[~taken[by_weight]], np.flatnonzero(taken)
        last = np.searchsorted(weights[left], free + weights[inside], side="right") - 1
        if not len(left) or not (last >= 0).any():
            break
        best = np.maximum.accumulate(values[left])
        gains = np.where(last >= 0, best[last] - values[inside], 0)
        k = int(gains.argmax())
        if gains[k] <= 0:
            break
        out, into = inside[k], left[int(values[left[: last[k] + 1]].argmax())]
        taken[out], taken[into] = False, True
        free += int(weights[out] - weights[into])
    return taken


large_step = KnapsackLargeStep()
