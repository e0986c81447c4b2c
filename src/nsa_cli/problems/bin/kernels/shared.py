"""Bins as linked lists and the choice of an item, shared by both fused kernels of bin packing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.jit import inlined, variant
from nsa_cli.kernels.lanes import HIDDEN, forbid_from, sum_features
from nsa_cli.problems.bin.kernels.batch import BinBatch, SquaresBatch


class BinLists(NamedTuple):
    """Items by bin, in doubly linked lists, and the features of items.

    Attributes
    ----------
    bin_of : int64[N]
        Bin of each item.
    needs : int64[16 blocks]
        Minus the free capacity of each bin: a bin has room for weight w if this is at most -w.
    sizes, first : int64[N]
        Number of items of each bin, and one of them; -1 if it is empty.
    after, before : int64[N]
        Neighbours of an item in the list of its bin, -1 at the ends.
    seen : float32[2, 16 blocks]
        Weight of each item, and free capacity of its bin.
    item : slots.Slots
        Choice of an item.
    """

    bin_of: NDArray[np.int64]
    needs: NDArray[np.int64]
    sizes: NDArray[np.int64]
    first: NDArray[np.int64]
    after: NDArray[np.int64]
    before: NDArray[np.int64]
    seen: NDArray[np.float32]
    item: slots.Slots


def empty_packing(size: int) -> BinLists:
    """Allocate a packing of N items."""
    padded = slots.blocks_of(size) * LANES
    bin_of, *lists = (slots.aligned((size,), np.int64) for _ in range(5))
    seen, item = slots.aligned((2, padded)), slots.slot_space(size)
    return BinLists._make((bin_of, slots.never(padded), *lists, seen, item))


@inlined
def pack_items(packing: Any, x: Any, weights: Any, capacity: int) -> None:
    """Put all items into the bins of `x`."""
    for b in range(len(x)):
        packing.needs[b] = -capacity
        packing.sizes[b] = 0
        packing.first[b] = -1
    for i in range(len(x)):
        put(packing, i, x[i], weights[i])


@inlined
def put(packing: Any, item: int, target: int, weight: int) -> None:
    """Put an item that is in no bin into one."""
    head = packing.first[target]
    packing.before[item], packing.after[item] = -1, head
    if head >= 0:
        packing.before[head] = item
    packing.first[target] = item
    packing.bin_of[item] = target
    packing.sizes[target] += 1
    packing.needs[target] += weight


@inlined
def take(packing: Any, item: int, weight: int) -> None:
    """Take an item out of its bin."""
    source, before, after = packing.bin_of[item], packing.before[item], packing.after[item]
    if before >= 0:
        packing.after[before] = after
    else:
        packing.first[source] = after
    if after >= 0:
        packing.before[after] = before
    packing.sizes[source] -= 1
    packing.needs[source] -= weight


@inlined
def sum_items(policy: Any, packing: Any, member: int, begin: int, end: int) -> None:
    """Compute the first-layer sums of the items in some blocks."""
    shifts = (0, packing.seen.shape[1])
    sum_features(packing.seen, shifts, policy.item.first[member], packing.item.sums, begin, end)
    slots.mark_stale(packing.item, begin, end)


@inlined
def draw_item(policy: Any, packing: Any, member: int, heat: float, u: float) -> Any:
    """Choose an item by two features and the temperature."""
    slot, items = packing.item, len(packing.bin_of)
    first, bias = policy.item.first[member], policy.item.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[2, h] * heat)
    changed, largest = slots.update_scores(slot, policy.item.second[member])
    if changed:
        if items < len(slot.logits):
            forbid_from(slot.logits, items)
        slots.weigh(slot, largest)
    return slots.draw(slot, u, policy.mode)


@variant(hooks.store, batch=(BinBatch, SquaresBatch))
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.packing.bin_of[i]
