"""Large step of bin packing: the kick unpacks a few bins, local search fills them by minimum bin slack.

Minimum bin slack fills one bin after the other by a short tree search for the items that fill it best (Gupta
and Ho 1999), here with the largest item left (Fleszar and Hindi 2002). Chains maximise the sum of squared
loads (Falkenauer 1996); large-step chains are Martin, Otto and Felten's (1991).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import steps
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.jit import inlined, kernel, variant

#: Indices of `Packing.counts`: bins in use, bins with room left; and of the step, bins unpacked, their items,
#: and bins filled again.
BINS, LOOSE, CHOSEN, ITEMS, REFILLED = range(5)

#: The fewest bins that a step unpacks: one alone could only be filled as before.
_FEWEST = 2

#: The most bins that a step unpacks.
MOST = 8

#: The most nodes of the tree search for the items of a bin.
_NODES = 300

#: Sort keys are weights, perturbed by up to this share.
_PERTURBED = 0.3

#: Sums of at most `MOST` squared loads that differ by less are equal.
_TOLERANCE = 1e-12


class Bins(NamedTuple):
    """Instance as the chains on it read it; see `nsa_cli.kernels.steps`.

    Attributes
    ----------
    units : int64[N]
        Weights in exact units.
    capacity : int
        The capacity of a bin, in exact units.
    least : int
        A lower bound on the bins; a chain with as few rests.
    scale : float
        It is 1: temperatures are in squared loads, of which a full bin has 1.
    tolerance : float
        Sums of squared loads that differ by less are equal.
    """

    units: NDArray[np.int64]
    capacity: int
    least: int
    scale: float = 1.0
    tolerance: float = _TOLERANCE


class Packing(NamedTuple):
    """State of a chain: bins as singly linked lists, and scratch space of a step, of at most M items.

    Attributes
    ----------
    first : int64[N]
        One item of each bin in use; bins are 0 to ``counts[BINS] - 1``.
    after : int64[N]
        Next item in the bin of each item, -1 at the end.
    load, size : int64[N]
        The sum of units and the number of items of each bin in use.
    loose, place : int64[N]
        The bins with room left, in no order; and each bin's place among them, -1 for full ones.
    counts : int64[5]
    chosen : int64[8]
        The bins that are unpacked, in rising order.
    ends, loads : int64[8]
        For each new bin, where it ends in `packed`, and its load.
    item, unit, rest : int64[M + 1]
        The items that are not packed again yet, by falling key; their units, and sums from each one on.
    stack, found : int64[M + 1]
        The positions in `item` of the search's current and best filling.
    packed : int64[M + 1]
        The items in their new order, bin by bin.
    key : float64[M + 1]
        The sort keys of the items: their perturbed weights.
    """

    first: NDArray[np.int64]
    after: NDArray[np.int64]
    load: NDArray[np.int64]
    size: NDArray[np.int64]
    loose: NDArray[np.int64]
    place: NDArray[np.int64]
    counts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    ends: NDArray[np.int64]
    loads: NDArray[np.int64]
    item: NDArray[np.int64]
    unit: NDArray[np.int64]
    rest: NDArray[np.int64]
    stack: NDArray[np.int64]
    found: NDArray[np.int64]
    packed: NDArray[np.int64]
    key: NDArray[np.float64]


@kernel
def bins_of(state: Packing, bin_of: NDArray[np.int64]) -> None:
    """Write the bin of each item, int64[N]."""
    for b in range(state.counts[BINS]):
        item = state.first[b]
        while item >= 0:
            bin_of[item] = b
            item = state.after[item]


@variant(steps.descend, data=Bins)
def _descend(data: Bins, state: Packing, limit: int) -> bool:
    """Descend nowhere: a start is taken as it is."""
    return True


@variant(steps.kick, data=Bins)
def _kick(data: Bins, state: Packing, draws: np.uint64) -> bool:
    """Unpack a few bins, unless there are as few as the lower bound says."""
    counts = state.counts
    if counts[BINS] <= data.least:
        return False
    bins, draw = _choose(state, draws)
    if bins < _FEWEST:
        return False
    counts[CHOSEN], counts[ITEMS] = bins, _unpack(data, state, bins, draws, draw)
    return True


@variant(steps.local_search, data=Bins)
def _local_search(data: Bins, state: Packing, draws: np.uint64) -> float:
    """Fill the bins again one by one; fewer bins are better whatever their loads."""
    counts = state.counts
    bins = counts[CHOSEN]
    counts[REFILLED] = _fill(state, counts[ITEMS], bins, data.capacity)
    if counts[REFILLED] == 0:
        return math.inf
    if counts[REFILLED] < bins:
        return -math.inf
    return _loss(state, bins, counts[REFILLED], data.capacity)


@variant(steps.reject, data=Bins)
def _reject(data: Bins, state: Packing) -> None:
    """Undo nothing: the packing is not overwritten before a step is accepted."""


@variant(steps.energy, data=Bins)
def _energy(data: Bins, state: Packing) -> float:
    return np.float64(state.counts[BINS])


@variant(steps.save_best, data=Bins)
def _save_best(data: Bins, state: Packing) -> None:
    """Save nothing: the number of bins never rises, so the current packing is a best one."""


@inlined
def _choose(state: Packing, draws: np.uint64) -> tuple[int, int]:
    """Choose bins to unpack, every second one among those with room left.

    Returns
    -------
    bins, draw : int, int
        Number of bins, and the next draw of the step.
    """
    chosen, counts = state.chosen, state.counts
    wanted = _FEWEST + np.int64(uniform(draws, 1) * (MOST - _FEWEST + 1))
    items = bins = 0
    draw = 2
    for attempt in range(2 * wanted):
        by_chance = uniform(draws, draw)
        draw += 1
        if attempt % 2 == 0 and counts[LOOSE]:
            b = state.loose[np.int64(by_chance * counts[LOOSE])]
        else:
            b = np.int64(by_chance * counts[BINS])
        if items + state.size[b] >= len(state.item):
            continue
        at = bins
        while at > 0 and chosen[at - 1] > b:
            at -= 1
        if at > 0 and chosen[at - 1] == b:
            continue
        for k in range(bins, at, -1):
            chosen[k] = chosen[k - 1]
        chosen[at] = b
        items += state.size[b]
        bins += 1
        if bins == wanted:
            break
    return bins, draw


@inlined
def _unpack(data: Bins, state: Packing, bins: int, draws: np.uint64, draw: int) -> int:
    """List the items of the chosen bins by falling key, and count them."""
    strength = 2.0 * _PERTURBED * uniform(draws, draw)
    items = 0
    for k in range(bins):
        item = state.first[state.chosen[k]]
        while item >= 0:
            draw += 1
            key = data.units[item] * (1.0 + strength * (uniform(draws, draw) - 0.5))
            at = items
            while at > 0 and state.key[at - 1] < key:
                state.key[at] = state.key[at - 1]
                state.item[at] = state.item[at - 1]
                at -= 1
            state.key[at] = key
            state.item[at] = item
            items += 1
            item = state.after[item]
    for k in range(items):
        state.unit[k] = data.units[state.item[k]]
    return items


@inlined
def _fill(state: Packing, items: int, bins: int, capacity: int) -> int:
    """Fill one bin after the other, and count them; 0 as soon as more are needed than were unpacked."""
    made = packed = 0
    while items > 0:
        state.rest[items] = 0
        for k in range(items - 1, -1, -1):
            state.rest[k] = state.rest[k + 1] + state.unit[k]
        # A step that needs more bins than it unpacked is never accepted.
        if made + max((state.rest[0] - 1) // max(capacity, 1) + 1, 1) > bins:
            return 0
        state.loads[made] = _search(state, items, capacity)
        left = found = 0
        free = capacity - state.loads[made]
        for k in range(items):
            taken = k == state.found[found]
            if taken:
                found += 1
            elif state.unit[k] <= free:  # items without weight, which the search leaves out
                taken = True
                free -= state.unit[k]
                state.loads[made] += state.unit[k]
            if taken:
                state.packed[packed] = state.item[k]
                packed += 1
            else:
                state.item[left] = state.item[k]
                state.unit[left] = state.unit[k]
                left += 1
        items = left
        state.ends[made] = packed
        made += 1
    return made


@kernel
def _search(state: Packing, items: int, capacity: int) -> int:
    """Find the items that fill a bin best together with the first, minimum bin slack.

    Depth first over the items in their order, with each item before without it; the first branch is greedy.
    Positions of the items go to `found`, then -1; returns their load.
    """
    unit, rest, stack, found = state.unit, state.rest, state.stack, state.found
    load: int = unit[0]
    best = load
    stack[0] = found[0] = 0
    depth = most = 1
    at = 1
    nodes = 0
    while best < capacity and nodes < _NODES:
        while at < items and load + unit[at] > capacity:
            at += 1
        if at < items and load + rest[at] > best:
            nodes += 1
            stack[depth] = at
            depth += 1
            load += unit[at]
            at += 1
            if load > best:
                best = load
                most = depth
                for k in range(depth):
                    found[k] = stack[k]
        elif depth > 1:
            depth -= 1
            at = stack[depth]
            load -= unit[at]
            at += 1
            while at < items and unit[at] == unit[at - 1]:  # an equal item instead fills as much at best
                at += 1
        else:
            break
    found[most] = -1
    return best


@inlined
def _loss(state: Packing, bins: int, made: int, capacity: int) -> float:
    """Sum of squared loads of the chosen bins less that of the new ones, loads as shares of the capacity."""
    before = after = 0.0
    for k in range(bins):
        before += (state.load[state.chosen[k]] / max(capacity, 1)) ** 2
    for k in range(made):
        after += (state.loads[k] / max(capacity, 1)) ** 2
    return before - after


@variant(steps.accept, data=Bins)
def _accept(data: Bins, state: Packing) -> None:
    """Write the new bins over the chosen ones, and move the last bins into the gaps."""
    bins, made = state.counts[CHOSEN], state.counts[REFILLED]
    begin = np.int64(0)
    for k in range(made):
        b, end = state.chosen[k], state.ends[k]
        state.first[b] = state.packed[begin]
        for at in range(begin, end - 1):
            state.after[state.packed[at]] = state.packed[at + 1]
        state.after[state.packed[end - 1]] = -1
        state.load[b] = state.loads[k]
        state.size[b] = end - begin
        _mark(state, b, state.loads[k] < data.capacity)
        begin = end
    for k in range(bins - 1, made - 1, -1):  # from behind: the last bin is this one, or one that stays
        b = state.chosen[k]
        _mark(state, b, False)
        state.counts[BINS] -= 1
        last = state.counts[BINS]
        if b != last:
            state.first[b] = state.first[last]
            state.load[b] = state.load[last]
            state.size[b] = state.size[last]
            _mark(state, last, False)
            _mark(state, b, state.load[b] < data.capacity)


@inlined
def _mark(state: Packing, b: int, is_loose: bool) -> None:
    """Put a bin into the set of those with room left, or take it out, if it is not there, or is."""
    loose, place, counts = state.loose, state.place, state.counts
    if is_loose and place[b] < 0:
        place[b] = counts[LOOSE]
        loose[counts[LOOSE]] = b
        counts[LOOSE] += 1
    elif not is_loose and place[b] >= 0:
        counts[LOOSE] -= 1
        last = loose[counts[LOOSE]]
        loose[place[b]] = last
        place[last] = place[b]
        place[b] = -1
