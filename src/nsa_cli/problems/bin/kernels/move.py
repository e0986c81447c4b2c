"""Hooks of the paper's neighbourhood, and bins as linked lists, which `squares` has, too.

The reference is `nsa_cli.problems.bin.operations`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import inlined, variant
from nsa_cli.kernels.lanes import HIDDEN, score_sums, sum_features


class BinBatch(NamedTuple):
    """Instances of one size, as arrays or as tensors.

    Attributes
    ----------
    weights : int64[B, N]
        The weights in exact integer units, so that loads never drift.
    capacity : int64[B]
        The capacity in the same units.
    unit : float64[B]
        The weight that is 1 to the policy, in the same units: by default the capacity.
    scale : float64[B]
        It is 1: an energy is a number of bins.
    """

    weights: Any
    capacity: Any
    unit: Any
    scale: Any


class SquaresBatch(BinBatch):
    """Batch for the sum of squares; a class of its own, by which compiled hooks are chosen.

    Attributes
    ----------
    scale : float64[B]
        1 / (2 N): the squared load of a full bin, in bins.
    """


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
        slots.forbid_from(slot.logits, items)
        slots.weigh(slot, largest)
    return slots.draw(slot, u, policy.mode)


@variant(hooks.store, batch=(BinBatch, SquaresBatch))
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.packing.bin_of[i]


class Paper(NamedTuple):
    """Learnt policy: networks of the two choices.

    Item: weight and free capacity of its bin; in common T. Bin: free capacity; in common the item's weight
    and T.
    """

    item: slots.Network
    bin: slots.Network
    mode: slots.Mode


class Work(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    packing : BinLists
    free : float32[1, 16 blocks]
        Feature of a bin: its free capacity.
    bin : slots.Slots
        Choice of a bin.
    """

    packing: BinLists
    free: NDArray[np.float32]
    bin: slots.Slots


@variant(hooks.load, batch=BinBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    pack_items(work.packing, x, batch.weights[row], batch.capacity[row])
    hooks.compute_features(batch, policy, work, row, member)


@variant(hooks.compute_features, batch=BinBatch, policy=Paper)
def _compute_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    packing, unit = work.packing, batch.unit[row]
    for i in range(len(packing.bin_of)):
        packing.seen[0, i] = batch.weights[row, i] / unit
        packing.seen[1, i] = -packing.needs[packing.bin_of[i]] / unit
        work.free[0, i] = -packing.needs[i] / unit
    blocks = work.bin.sums.shape[0]
    sum_items(policy, packing, member, 0, blocks)
    sum_features(work.free, (0,), policy.bin.first[member, 1:2], work.bin.sums, 0, blocks)


@variant(hooks.propose, batch=BinBatch, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    packing = work.packing
    item = np.int64(uniform(at, 0) * len(packing.bin_of))
    weight, own = batch.weights[row, item], packing.bin_of[item]
    kept, packing.needs[own] = packing.needs[own], slots.NEVER
    target = slots.choose_uniformly(packing.needs, -weight, uniform(at, 1))
    packing.needs[own] = kept
    return (item, target), item >= 0 and target >= 0


@variant(hooks.propose, batch=BinBatch, policy=Paper)
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    packing, slot, mode, heat = work.packing, work.bin, policy.mode, np.float32(temperature)
    item = draw_item(policy, packing, member, heat, uniform(at, 0))

    weight, own = batch.weights[row, item], packing.bin_of[item]
    first, bias = policy.bin.first[member], policy.bin.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[0, h] * packing.seen[0, item] + first[2, h] * heat)
    second, blocks = policy.bin.second[member], slot.sums.shape[0]
    largest = score_sums(slot.sums, slot.floor, second, slot.logits, 0, blocks)
    kept, packing.needs[own] = packing.needs[own], slots.NEVER
    target = slots.choose(slot, largest, uniform(at, 1), mode, packing.needs, -weight)
    packing.needs[own] = kept
    return (item, target), item >= 0 and target >= 0


@variant(hooks.energy, batch=BinBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    used = 0
    for b in range(len(work.packing.sizes)):
        used += work.packing.sizes[b] > 0
    return np.float64(used)


@variant(hooks.delta, batch=BinBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    packing = work.packing
    closes = packing.sizes[packing.bin_of[action[0]]] == 1
    opens = packing.sizes[action[1]] == 0
    return np.float64(opens) - np.float64(closes)


@variant(hooks.apply, batch=BinBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    item, target = action
    source, weight = work.packing.bin_of[item], batch.weights[row, item]
    take(work.packing, item, weight)
    put(work.packing, item, target, weight)
    hooks.update_features(batch, policy, work, row, member, source)
    hooks.update_features(batch, policy, work, row, member, target)


@variant(hooks.update_features, batch=BinBatch, policy=Paper)
def _update_features(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    packing = work.packing
    room = np.float32(-packing.needs[changed] / batch.unit[row])
    work.free[0, changed] = room
    block = changed // LANES
    sum_features(work.free, (0,), policy.bin.first[member, 1:2], work.bin.sums, block, block + 1)
    item = packing.first[changed]
    while item >= 0:
        packing.seen[1, item] = room
        block = item // LANES
        sum_items(policy, packing, member, block, block + 1)
        item = packing.after[item]
