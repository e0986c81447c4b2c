"""Large step of the knapsack: the kick toggles an item or two, local search ejects and refills.

Local search goes by ratio, value per weight. A *window* holds the items whose toggling costs least where the
capacity's price is that of the break item, the first that no longer fits when items are taken by falling
value per weight: few others are worth a change where values and weights are unrelated (the core of Balas and
Zemel 1980). Where they are correlated, all are about as good and what counts is to fill the capacity: so some
kicks swap two of all items, one in and one out. Where that brings an item outside of the window to the wrong
side, some kicks bring it home again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import steps
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.index_set import toggle_member
from nsa_cli.kernels.jit import inlined, variant

#: The most draws that a swap takes to find an item on the other side.
_TRIES = 4

#: Indices of `Selection.counts`: capacity left and value; both before the kick; items in `Selection.toggled`;
#: how many of them were kicked; items in `Selection.astray`. There are `PLACES` of them.
FREE, VALUE, FREE_BEFORE, VALUE_BEFORE, TOGGLED, KICKED, ASTRAY = range(7)
PLACES = 7


class Items(NamedTuple):
    """Items that can be taken, M of them, those in the window first, by falling value per weight.

    Attributes
    ----------
    values, weights : int64[M]
        The values and weights of the items, in exact units.
    home : bool[M]
        Whether an item is in the break solution, before the break item.
    window : int
        W, the number of items in the window.
    lightest : int
        The least weight in the window.
    swaps : float
        The share of the kicks that swap two of all items.
    unit : float
        A unit of `values`, in file units.
    scale, tolerance : float
        See `nsa_cli.kernels.steps`.
    """

    values: NDArray[np.int64]
    weights: NDArray[np.int64]
    home: NDArray[np.bool_]
    window: int
    lightest: int
    swaps: float
    unit: float
    scale: float
    tolerance: float


class Selection(NamedTuple):
    """State of a chain.

    Attributes
    ----------
    inside, best : bool[M]
        The current selection and the best one.
    toggled : int64[2 W + 2]
        The items that the step has toggled, kicked ones first.
    astray, place : int64[M]
        The items outside of the window that are not at home, in no order; and each item's place among them,
        -1 for those that are none.
    counts : int64[7]
        The numbers at `FREE` and the following places.
    """

    inside: NDArray[np.bool_]
    best: NDArray[np.bool_]
    toggled: NDArray[np.int64]
    astray: NDArray[np.int64]
    place: NDArray[np.int64]
    counts: NDArray[np.int64]


@variant(steps.descend, data=Items)
def _descend(data: Items, state: Selection, limit: int) -> bool:
    """Bring all items outside of the window home, for a start's choice of them would stay for long."""
    counts = state.counts
    for k in range(data.window, len(state.inside)):
        if state.inside[k] != data.home[k]:
            counts[TOGGLED] = 0
            _toggle(data, state, k)
    counts[TOGGLED] = counts[KICKED] = counts[ASTRAY] = 0
    _fit(data, state)
    return True


@variant(steps.kick, data=Items)
def _kick(data: Items, state: Selection, draws: np.uint64) -> bool:
    """Toggle one or two items of the window, or one that is astray, or swap two of all."""
    counts = state.counts
    if data.window == 0:
        return False
    counts[FREE_BEFORE], counts[VALUE_BEFORE] = counts[FREE], counts[VALUE]
    counts[TOGGLED] = 0
    kind = uniform(draws, 1)
    if kind < data.swaps:
        return _swap(data, state, draws)
    a = np.int64(uniform(draws, 2) * data.window)
    counts[KICKED] = 1
    if counts[ASTRAY] and uniform(draws, 4) < data.swaps:
        _toggle(data, state, state.astray[np.int64(uniform(draws, 5) * counts[ASTRAY])])
        if uniform(draws, 6) < 0.5:
            return True
        _toggle(data, state, a)
        counts[KICKED] = 2
        return True
    _toggle(data, state, a)
    if data.window > 1 and kind - data.swaps < 0.5 * (1.0 - data.swaps):
        b = np.int64(uniform(draws, 3) * (data.window - 1))
        _toggle(data, state, b + (b >= a))
        counts[KICKED] = 2
    return True


@inlined
def _swap(data: Items, state: Selection, draws: np.uint64) -> bool:
    """Swap an item of all with one on the other side, if they fit."""
    counts, size = state.counts, len(data.values)
    a = np.int64(uniform(draws, 2) * size)
    for attempt in range(_TRIES):
        b = np.int64(uniform(draws, 3 + attempt) * size)
        if state.inside[a] != state.inside[b]:
            more = data.weights[b] - data.weights[a]
            if (more if state.inside[a] else -more) > counts[FREE]:
                return False
            _toggle(data, state, a)
            _toggle(data, state, b)
            counts[KICKED] = 2
            return True
    return False


@variant(steps.local_search, data=Items)
def _local_search(data: Items, state: Selection, draws: np.uint64) -> float:
    counts = state.counts
    return np.float64(counts[VALUE_BEFORE] - counts[VALUE]) if _fit(data, state) else math.inf


@inlined
def _fit(data: Items, state: Selection) -> bool:
    """Eject the worst of the window until all fits, then take the best that fit; kicked items stay."""
    counts, inside = state.counts, state.inside
    k = data.window
    while counts[FREE] < 0:
        k -= 1
        if k < 0:
            return False
        if inside[k] and not _is_kicked(state, k):
            _toggle(data, state, k)
    if counts[FREE] >= data.lightest:
        for k in range(data.window):
            if not inside[k] and data.weights[k] <= counts[FREE] and not _is_kicked(state, k):
                _toggle(data, state, k)
    return True


@inlined
def _is_kicked(state: Selection, k: int) -> bool:
    kicked, toggled = state.counts[KICKED], state.toggled
    return bool((kicked > 0 and toggled[0] == k) or (kicked == 2 and toggled[1] == k))


@inlined
def _toggle(data: Items, state: Selection, k: int | np.int64) -> None:
    counts = state.counts
    sign = 1 if state.inside[k] else -1
    state.inside[k] = not state.inside[k]
    counts[FREE] += sign * data.weights[k]
    counts[VALUE] -= sign * data.values[k]
    state.toggled[counts[TOGGLED]] = k
    counts[TOGGLED] += 1


@variant(steps.accept, data=Items)
def _accept(data: Items, state: Selection) -> None:
    """Write down which items are astray: kicked ones alone can be, others are in the window."""
    for t in range(state.counts[KICKED]):
        k = state.toggled[t]
        if k >= data.window:
            toggle_member(state.astray, state.place, state.counts, ASTRAY, k)


@variant(steps.reject, data=Items)
def _reject(data: Items, state: Selection) -> None:
    counts = state.counts
    for k in range(counts[TOGGLED]):
        item = state.toggled[k]
        state.inside[item] = not state.inside[item]
    counts[FREE], counts[VALUE] = counts[FREE_BEFORE], counts[VALUE_BEFORE]


@variant(steps.energy, data=Items)
def _energy(data: Items, state: Selection) -> float:
    return np.float64(-state.counts[VALUE] * data.unit)


@variant(steps.save_best, data=Items)
def _save_best(data: Items, state: Selection) -> None:
    for k in range(len(state.best)):
        state.best[k] = state.inside[k]
