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
from nsa_cli.kernels.index_set import toggle_member
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


class Packing(NamedTuple):
    """Packing of a chain between two steps, as singly linked lists; changed in place.

    Attributes
    ----------
    units : int64[N]
        Weights in exact units, read only.
    first : int64[N]
        One item of each bin in use; bins are 0 to ``counts[BINS] - 1``.
    after : int64[N]
        Next item in the bin of each item, -1 at the end.
    load, size : int64[N]
        The sum of units and the number of items of each bin in use.
    loose, place : int64[N]
        The bins with room left, in no order; and each bin's place among them, -1 for full ones.
    counts : int64[5]
    """

    units: NDArray[np.int64]
    first: NDArray[np.int64]
    after: NDArray[np.int64]
    load: NDArray[np.int64]
    size: NDArray[np.int64]
    loose: NDArray[np.int64]
    place: NDArray[np.int64]
    counts: NDArray[np.int64]


class Scratch(NamedTuple):
    """Scratch space of a step, which unpacks at most M items; nothing in it outlasts the step.

    Attributes
    ----------
    chosen : int64[8]
        The bins that are unpacked, in rising order.
    item, unit, rest : int64[M + 1]
        The items that are not packed again yet, by falling key; their units, and sums from each one on.
    key : float64[M + 1]
        The sort keys of the items: their perturbed weights.
    stack, found : int64[M + 1]
        The positions in `item` of the search's current and best filling.
    packed : int64[M + 1]
        The items in their new order, bin by bin.
    ends, loads : int64[8]
        For each new bin, where it ends in `packed`, and its load.
    """

    chosen: NDArray[np.int64]
    item: NDArray[np.int64]
    unit: NDArray[np.int64]
    rest: NDArray[np.int64]
    key: NDArray[np.float64]
    stack: NDArray[np.int64]
    found: NDArray[np.int64]
    packed: NDArray[np.int64]
    ends: NDArray[np.int64]
    loads: NDArray[np.int64]


class Bins(NamedTuple):
    """Instance as the chains on it read it; see `nsa_cli.kernels.steps`.

    Attributes
    ----------
    capacity : int
        The capacity of a bin, in exact units.
    least : int
        A lower bound on the bins; a chain with as few rests.
    scale : float
        It is 1: temperatures are in squared loads, of which a full bin has 1.
    tolerance : float
        Sums of squared loads that differ by less are equal.
    """

    capacity: int
    least: int
    scale: float = 1.0
    tolerance: float = _TOLERANCE


class Repacking(NamedTuple):
    """State of a chain."""

    packing: Packing
    scratch: Scratch


@kernel
def bins_of(packing: Packing, bin_of: NDArray[np.int64]) -> None:
    """Write the bin of each item, int64[N]."""
    for b in range(packing.counts[BINS]):
        item = packing.first[b]
        while item >= 0:
            bin_of[item] = b
            item = packing.after[item]


@variant(steps.descend, data=Bins)
def _descend(data: Bins, state: Repacking, limit: int) -> bool:
    """Descend nowhere: a start is taken as it is."""
    return True


@variant(steps.kick, data=Bins)
def _kick(data: Bins, state: Repacking, draws: np.uint64) -> bool:
    """Unpack a few bins, unless there are as few as the lower bound says."""
    packing, scratch = state.packing, state.scratch
    counts = packing.counts
    if counts[BINS] <= data.least:
        return False
    bins, draw = _choose(packing, scratch, draws)
    if bins < _FEWEST:
        return False
    counts[CHOSEN], counts[ITEMS] = bins, _unpack(packing, scratch, bins, draws, draw)
    return True


@variant(steps.local_search, data=Bins)
def _local_search(data: Bins, state: Repacking, draws: np.uint64) -> float:
    """Fill the bins again one by one; fewer bins are better whatever their loads."""
    packing, scratch, capacity = state.packing, state.scratch, data.capacity
    counts = packing.counts
    bins = counts[CHOSEN]
    counts[REFILLED] = _fill(scratch, counts[ITEMS], bins, capacity)
    if counts[REFILLED] == 0:
        return math.inf
    if counts[REFILLED] < bins:
        return -math.inf
    return _loss(packing, scratch, bins, counts[REFILLED], capacity)


@variant(steps.reject, data=Bins)
def _reject(data: Bins, state: Repacking) -> None:
    """Undo nothing: the packing is not overwritten before a step is accepted."""


@variant(steps.energy, data=Bins)
def _energy(data: Bins, state: Repacking) -> float:
    return np.float64(state.packing.counts[BINS])


@variant(steps.save_best, data=Bins)
def _save_best(data: Bins, state: Repacking) -> None:
    """Save nothing: the number of bins never rises, so the current packing is a best one."""


@inlined
def _choose(packing: Packing, scratch: Scratch, draws: np.uint64) -> tuple[int, int]:
    """Choose bins to unpack, every second one among those with room left.

    Returns
    -------
    bins, draw : int, int
        Number of bins, and the next draw of the step.
    """
    chosen, counts = scratch.chosen, packing.counts
    wanted = _FEWEST + np.int64(uniform(draws, 1) * (MOST - _FEWEST + 1))
    items = bins = 0
    draw = 2
    for attempt in range(2 * wanted):
        by_chance = uniform(draws, draw)
        draw += 1
        if attempt % 2 == 0 and counts[LOOSE]:
            b = packing.loose[np.int64(by_chance * counts[LOOSE])]
        else:
            b = np.int64(by_chance * counts[BINS])
        if items + packing.size[b] >= len(scratch.item):
            continue
        at = bins
        while at > 0 and chosen[at - 1] > b:
            at -= 1
        if at > 0 and chosen[at - 1] == b:
            continue
        for k in range(bins, at, -1):
            chosen[k] = chosen[k - 1]
        chosen[at] = b
        items += packing.size[b]
        bins += 1
        if bins == wanted:
            break
    return bins, draw


@inlined
def _unpack(packing: Packing, scratch: Scratch, bins: int, draws: np.uint64, draw: int) -> int:
    """List the items of the chosen bins by falling key, and count them."""
    strength = 2.0 * _PERTURBED * uniform(draws, draw)
    items = 0
    for k in range(bins):
        item = packing.first[scratch.chosen[k]]
        while item >= 0:
            draw += 1
            key = packing.units[item] * (1.0 + strength * (uniform(draws, draw) - 0.5))
            at = items
            while at > 0 and scratch.key[at - 1] < key:
                scratch.key[at] = scratch.key[at - 1]
                scratch.item[at] = scratch.item[at - 1]
                at -= 1
            scratch.key[at] = key
            scratch.item[at] = item
            items += 1
            item = packing.after[item]
    for k in range(items):
        scratch.unit[k] = packing.units[scratch.item[k]]
    return items


@inlined
def _fill(scratch: Scratch, items: int, bins: int, capacity: int) -> int:
    """Fill one bin after the other, and count them; 0 as soon as more are needed than were unpacked."""
    made = packed = 0
    while items > 0:
        scratch.rest[items] = 0
        for k in range(items - 1, -1, -1):
            scratch.rest[k] = scratch.rest[k + 1] + scratch.unit[k]
        # A step that needs more bins than it unpacked is never accepted.
        if made + max((scratch.rest[0] - 1) // max(capacity, 1) + 1, 1) > bins:
            return 0
        scratch.loads[made] = _search(scratch, items, capacity)
        left = 0
        found = 0
        free = capacity - scratch.loads[made]
        for k in range(items):
            taken = k == scratch.found[found]
            if taken:
                found += 1
            elif scratch.unit[k] <= free:  # items without weight, which the search leaves out
                taken = True
                free -= scratch.unit[k]
                scratch.loads[made] += scratch.unit[k]
            if taken:
                scratch.packed[packed] = scratch.item[k]
                packed += 1
            else:
                scratch.item[left] = scratch.item[k]
                scratch.unit[left] = scratch.unit[k]
                left += 1
        items = left
        scratch.ends[made] = packed
        made += 1
    return made


@kernel
def _search(scratch: Scratch, items: int, capacity: int) -> int:
    """Find the items that fill a bin best together with the first, minimum bin slack.

    Depth first over the items in their order, with each item before without it; the first branch is greedy.
    Positions of the items go to `found`, then -1; returns their load.
    """
    unit, rest, stack, found = scratch.unit, scratch.rest, scratch.stack, scratch.found
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
def _loss(packing: Packing, scratch: Scratch, bins: int, made: int, capacity: int) -> float:
    """Sum of squared loads of the chosen bins less that of the new ones, loads as shares of the capacity."""
    before = after = 0.0
    for k in range(bins):
        before += (packing.load[scratch.chosen[k]] / max(capacity, 1)) ** 2
    for k in range(made):
        after += (scratch.loads[k] / max(capacity, 1)) ** 2
    return before - after


@variant(steps.accept, data=Bins)
def _accept(data: Bins, state: Repacking) -> None:
    """Write the new bins over the chosen ones, and move the last bins into the gaps."""
    packing, scratch, capacity = state.packing, state.scratch, data.capacity
    bins, made = packing.counts[CHOSEN], packing.counts[REFILLED]
    begin = np.int64(0)
    for k in range(made):
        b, end = scratch.chosen[k], scratch.ends[k]
        packing.first[b] = scratch.packed[begin]
        for at in range(begin, end - 1):
            packing.after[scratch.packed[at]] = scratch.packed[at + 1]
        packing.after[scratch.packed[end - 1]] = -1
        packing.load[b] = scratch.loads[k]
        packing.size[b] = end - begin
        _mark(packing, b, scratch.loads[k] < capacity)
        begin = end
    for k in range(bins - 1, made - 1, -1):  # from behind: the last bin is this one, or one that stays
        b = scratch.chosen[k]
        _mark(packing, b, False)
        packing.counts[BINS] -= 1
        last = packing.counts[BINS]
        if b != last:
            packing.first[b] = packing.first[last]
            packing.load[b] = packing.load[last]
            packing.size[b] = packing.size[last]
            _mark(packing, last, False)
            _mark(packing, b, packing.load[b] < capacity)


@inlined
def _mark(packing: Packing, b: int, is_loose: bool) -> None:
    """Write down whether a bin has room left."""
    if is_loose != (packing.place[b] >= 0):
        toggle_member(packing.loose, packing.place, packing.counts, LOOSE, b)
