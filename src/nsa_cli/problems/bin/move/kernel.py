"""Bin packing's parts of a fused kernel; see `operations` for what they mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.draws import LANES
from nsa_cli.core.kernel import parts
from nsa_cli.core.kernel.draws import uniform
from nsa_cli.core.kernel.jit import generic, inlined, variant
from nsa_cli.core.kernel.lanes import HIDDEN, forbid_from, score_sums, sum_features
from nsa_cli.core.kernel.parts import Fused, Uniform
from nsa_cli.core.kernel.slots import (
    NEVER,
    Mode,
    Network,
    Slots,
    aligned,
    blocks_of,
    choose_allowed,
    choose_among,
    choose_uniformly,
    draw,
    never,
    score_again,
    slot_space,
    spoil,
    weigh,
)
from nsa_cli.problems.bin.batch import BinBatch, SquaresBatch, pack


class Paper(NamedTuple):
    """Item: weight and free capacity of its bin, in common T. Bin: free capacity, in common weight and T."""

    item: Network
    bin: Network
    mode: Mode


class Work(NamedTuple):
    """One chain's state.

    Attributes
    ----------
    bin_of : int64[N]
        The packing.
    needs : int64[16 blocks]
        Minus the free capacity of each bin: a bin has room for weight w if this is at most -w.
    count, first : int64[N]
        Items of each bin, and one of them; -1 if it is empty.
    after, before : int64[N]
        The item's neighbours in the list of its bin's items, -1 at the ends.
    weight, room, free : float32[1, 16 blocks]
        What the policy sees: of items their weight and the room in their bins, and of bins their room.
    item, bin : Slots
    """

    bin_of: Any
    needs: Any
    count: Any
    first: Any
    after: Any
    before: Any
    seen: Any
    free: Any
    item: Slots
    bin: Slots


def workspace(x: Any) -> Work:
    """Allocate what a thread needs for one chain at a time."""
    size = len(x)
    padded = blocks_of(size) * LANES
    return Work(
        aligned((size,), np.int64),
        never(padded),
        *(aligned((size,), np.int64) for _ in range(4)),
        aligned((2, padded)),
        aligned((1, padded)),
        slot_space(size),
        slot_space(size),
    )


@variant(parts.load, batch=BinBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for b in range(len(x)):
        work.needs[b] = -batch.capacity[row]
        work.count[b] = 0
        work.first[b] = -1
    for i in range(len(x)):
        put(work, i, x[i], batch.weights[row, i])
    look(batch, policy, work, row, member)


@inlined
def put(work: Any, item: int, target: int, weight: int) -> None:
    """Put an item that is nowhere into a bin."""
    head = work.first[target]
    work.before[item], work.after[item] = -1, head
    if head >= 0:
        work.before[head] = item
    work.first[target] = item
    work.bin_of[item] = target
    work.count[target] += 1
    work.needs[target] += weight


@inlined
def take(work: Any, item: int, weight: int) -> None:
    """Take an item out of its bin."""
    source, before, after = work.bin_of[item], work.before[item], work.after[item]
    if before >= 0:
        work.after[before] = after
    else:
        work.first[source] = after
    if after >= 0:
        work.before[after] = before
    work.count[source] -= 1
    work.needs[source] -= weight


@generic
def look(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    """Compute all features and first-layer sums."""
    raise NotImplementedError


@variant(look, policy=Uniform)
def _look_uniform(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    pass


@variant(look, batch=BinBatch, policy=Paper)
def _look(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    for i in range(len(work.bin_of)):
        work.seen[0, i] = batch.weights[row, i] / batch.unit[row]
        work.seen[1, i] = -work.needs[work.bin_of[i]] / batch.unit[row]
        work.free[0, i] = -work.needs[i] / batch.unit[row]
    blocks = work.item.sums.shape[0]
    _sum_items(policy, work, member, 0, blocks)
    sum_features(work.free, (0,), policy.bin.first[member, 1:2], work.bin.sums, 0, blocks)


@inlined
def _sum_items(policy: Any, work: Any, member: int, begin: int, end: int) -> None:
    shifts = (0, work.seen.shape[1])
    sum_features(work.seen, shifts, policy.item.first[member], work.item.sums, begin, end)
    spoil(work.item, begin, end)


@inlined
def draw_item(policy: Any, work: Any, member: int, heat: float, u: float, given: int) -> Any:
    """Choose an item, of which the policy sees two features, and the temperature."""
    slot, items = work.item, len(work.bin_of)
    first, bias = policy.item.first[member], policy.item.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[2, h] * heat)
    anew, largest = score_again(slot, policy.item.second[member])
    if anew:
        if items < len(slot.logits):
            forbid_from(slot.logits, items)
        weigh(slot, largest)
    return draw(slot, u, policy.mode, given)


@variant(parts.propose, batch=BinBatch, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    item = choose_among(len(work.bin_of), uniform(at, 0), given[0])
    weight, own = batch.weights[row, item.index], work.bin_of[item.index]
    kept, work.needs[own] = work.needs[own], NEVER
    target = choose_uniformly(work.needs, -weight, uniform(at, 1), given[1])
    work.needs[own] = kept
    return (item.index, target.index), item.log_probability + target.log_probability


@variant(parts.propose, batch=BinBatch, policy=Paper)
def _propose(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    heat = np.float32(temperature)
    item = draw_item(policy, work, member, heat, uniform(at, 0), given[0])

    slot, blocks = work.bin, work.bin.sums.shape[0]
    weight, own = batch.weights[row, item.index], work.bin_of[item.index]
    first, bias = policy.bin.first[member], policy.bin.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[0, h] * work.seen[0, item.index] + first[2, h] * heat)
    largest = score_sums(slot.sums, slot.floor, policy.bin.second[member], slot.logits, 0, blocks)
    kept, work.needs[own] = work.needs[own], NEVER
    target = choose_allowed(slot, largest, work.needs, -weight, uniform(at, 1), policy.mode, given[1])
    work.needs[own] = kept
    return (item.index, target.index), item.log_probability + target.log_probability


@variant(parts.energy, batch=BinBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    used = 0
    for b in range(len(work.count)):
        used += work.count[b] > 0
    return np.float64(used)


@variant(parts.delta, batch=BinBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    closes = work.count[work.bin_of[action[0]]] == 1
    opens = work.count[action[1]] == 0
    return np.float64(opens) - np.float64(closes)


@variant(parts.apply, batch=BinBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    item, target = action
    source, weight = work.bin_of[item], batch.weights[row, item]
    take(work, item, weight)
    put(work, item, target, weight)
    look_again(batch, policy, work, row, member, source)
    look_again(batch, policy, work, row, member, target)


@generic
def look_again(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    """Bring the features of a bin and of what is in it up to date."""
    raise NotImplementedError


@variant(look_again, policy=Uniform)
def _look_again_uniform(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    pass


@variant(look_again, batch=BinBatch, policy=Paper)
def _look_again(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    room = np.float32(-work.needs[changed] / batch.unit[row])
    work.free[0, changed] = room
    block = changed // LANES
    sum_features(work.free, (0,), policy.bin.first[member, 1:2], work.bin.sums, block, block + 1)
    item = work.first[changed]
    while item >= 0:
        work.seen[1, item] = room
        block = item // LANES
        _sum_items(policy, work, member, block, block + 1)
        item = work.after[item]


@variant(parts.reverse, work=Work)
def _reverse(batch: Any, work: Any, row: int, action: Any) -> Any:
    return action[0], work.bin_of[action[0]]


@variant(parts.store, batch=(BinBatch, SquaresBatch))
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.bin_of[i]


fused = Fused(
    arrays=pack,
    workspace=workspace,
    draws=2,
    policies={"paper": Paper},
    features={"paper": (3, 3)},
)
