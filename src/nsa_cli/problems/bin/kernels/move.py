"""Hooks of the paper's neighbourhood; see `nsa_cli.problems.bin.move.operations`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import variant
from nsa_cli.kernels.lanes import HIDDEN, score_sums, sum_features
from nsa_cli.problems.bin.kernels import shared
from nsa_cli.problems.bin.kernels.batch import BinBatch


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
    packing : shared.BinLists
    free : float32[1, 16 blocks]
        Feature of a bin: its free capacity.
    bin : slots.Slots
        Choice of a bin.
    """

    packing: shared.BinLists
    free: NDArray[np.float32]
    bin: slots.Slots


@variant(hooks.load, batch=BinBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    shared.pack_items(work.packing, x, batch.weights[row], batch.capacity[row])
    hooks.compute_features(batch, policy, work, row, member)


@variant(hooks.compute_features, batch=BinBatch, policy=Paper)
def _compute_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    packing, unit = work.packing, batch.unit[row]
    for i in range(len(packing.bin_of)):
        packing.seen[0, i] = batch.weights[row, i] / unit
        packing.seen[1, i] = -packing.needs[packing.bin_of[i]] / unit
        work.free[0, i] = -packing.needs[i] / unit
    blocks = work.bin.sums.shape[0]
    shared.sum_items(policy, packing, member, 0, blocks)
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
    item = shared.draw_item(policy, packing, member, heat, uniform(at, 0))

    weight, own = batch.weights[row, item], packing.bin_of[item]
    first, bias = policy.bin.first[member], policy.bin.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[0, h] * packing.seen[0, item] + first[2, h] * heat)
    second, blocks = policy.bin.second[member], slot.sums.shape[0]
    largest = score_sums(slot.sums, slot.floor, second, slot.logits, 0, blocks)
    kept, packing.needs[own] = packing.needs[own], slots.NEVER
    target = slots.choose_allowed(slot, largest, packing.needs, -weight, uniform(at, 1), mode)
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
    shared.take(work.packing, item, weight)
    shared.put(work.packing, item, target, weight)
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
        shared.sum_items(policy, packing, member, block, block + 1)
        item = packing.after[item]
