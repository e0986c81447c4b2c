"""Hooks of the sum of squares neighbourhood; see `nsa_cli.problems.bin.operations`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import inlined, variant
from nsa_cli.kernels.lanes import HIDDEN, score_features
from nsa_cli.problems.bin.kernels import move
from nsa_cli.problems.bin.kernels.move import SquaresBatch

_score = score_features(3)


class Squares(NamedTuple):
    """Learnt policy: networks of the two choices.

    Item: weight and free capacity of its bin; in common T. Other: weight that comes back, free capacity
    there, gain per T; in common the item's weight and free capacity, and T.
    """

    item: slots.Network
    other: slots.Network
    mode: slots.Mode


class Work(NamedTuple):
    """State of one chain; candidates of the second choice are bins and then items.

    Attributes
    ----------
    packing : move.BinLists
    back : int64[16 blocks]
        Weight that comes back from a candidate.
    there : int64[16 blocks]
        Minus the room that a candidate leaves: `needs`, less `back`; `NEVER` of empty bins.
    now : int64[16 blocks]
        The same for the item of this step, `NEVER` also where its place is too small.
    seen : float32[3, 16 blocks]
        Features of a candidate: weight that comes back, room there, squashed gain in this step.
    other : slots.Slots
        Choice of a candidate.
    """

    packing: move.BinLists
    back: NDArray[np.int64]
    there: NDArray[np.int64]
    now: NDArray[np.int64]
    seen: NDArray[np.float32]
    other: slots.Slots


@variant(hooks.load, batch=SquaresBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    size = len(x)
    move.pack_items(work.packing, x, batch.weights[row], batch.capacity[row])
    for i in range(size):
        work.back[size + i] = batch.weights[row, i]
    for b in range(size):
        _make_room(work, b)
    hooks.compute_features(batch, policy, work, row, member)


@inlined
def _make_room(work: Any, changed: int) -> None:
    """Update `there` after a change of a bin."""
    packing = work.packing
    size, needs = len(packing.bin_of), packing.needs[changed]
    work.there[changed] = needs if packing.sizes[changed] > 0 else slots.NEVER
    item = packing.first[changed]
    while item >= 0:
        work.there[size + item] = needs - work.back[size + item]
        item = packing.after[item]


@variant(hooks.compute_features, batch=SquaresBatch, policy=Squares)
def _compute_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    packing, unit = work.packing, batch.unit[row]
    size = len(packing.bin_of)
    for i in range(size):
        weight, room = batch.weights[row, i] / unit, -packing.needs[packing.bin_of[i]] / unit
        packing.seen[0, i] = work.seen[0, size + i] = weight
        packing.seen[1, i] = work.seen[1, size + i] = room
        work.seen[1, i] = -packing.needs[i] / unit
    move.sum_items(policy, packing, member, 0, packing.item.sums.shape[0])


@inlined
def _fit(work: Any, item: int, weight: int) -> None:
    """Set `now`: `there` where the item's own bin has room for the weight that comes back, else `NEVER`."""
    packing = work.packing
    own = packing.bin_of[item]
    limit = weight - packing.needs[own]
    for c in range(len(work.now)):
        work.now[c] = work.there[c] if work.back[c] <= limit else slots.NEVER
    work.now[own] = slots.NEVER
    mate = packing.first[own]
    while mate >= 0:
        work.now[len(packing.bin_of) + mate] = slots.NEVER
        mate = packing.after[mate]


@inlined
def _weigh(work: Any, weight: float, room: float, heat: float) -> None:
    """Compute the gain of squared loads if an item in a bin with some room goes to each candidate."""
    back, there, gains = work.seen
    for c in range(len(gains)):
        shift = weight - back[c]
        gain = np.float32(2.0) * shift * (shift + (room - there[c]))
        gains[c] = gain / (abs(gain) + heat)


@variant(hooks.propose, batch=SquaresBatch, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    item = np.int64(uniform(at, 0) * len(work.packing.bin_of))
    weight = batch.weights[row, item]
    _fit(work, item, weight)
    other = slots.choose_uniformly(work.now, -weight, uniform(at, 1))
    return (item, other), item >= 0 and other >= 0


@variant(hooks.propose, batch=SquaresBatch, policy=Squares)
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    heat = np.float32(0.25 * math.log(max(temperature, 1e-30)))
    item = move.draw_item(policy, work.packing, member, heat, uniform(at, 0))

    weight, slot, blocks = batch.weights[row, item], work.other, work.other.sums.shape[0]
    _fit(work, item, weight)
    first, bias = policy.other.first[member], policy.other.bias[member]
    seen, room = work.packing.seen[0, item], work.packing.seen[1, item]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[0, h] * seen + first[1, h] * room + first[2, h] * heat)
    _weigh(work, seen, room, np.float32(max(temperature, 1e-30)))
    second = policy.other.second[member]
    largest = _score(work.seen, first[3:6], slot.floor, second, slot.logits, blocks)
    other = slots.choose(slot, largest, uniform(at, 1), policy.mode, work.now, -weight)
    return (item, other), item >= 0 and other >= 0


@variant(hooks.energy, batch=SquaresBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    packing, used, squares = work.packing, 0, 0.0
    for b in range(len(packing.sizes)):
        used += packing.sizes[b] > 0
        squares += _load_of(batch, packing, row, b) ** 2
    return used - squares * batch.scale[row]


@inlined
def _load_of(batch: Any, packing: Any, row: int, b: int) -> float:
    """Load of a bin, as a share of the capacity."""
    return (batch.capacity[row] + packing.needs[b]) / max(batch.capacity[row], 1)


@inlined
def _target(packing: Any, other: int) -> int:
    """Bin that the item goes to."""
    size = len(packing.bin_of)
    return other if other < size else packing.bin_of[other - size]


@variant(hooks.delta, batch=SquaresBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    packing, item, other = work.packing, action[0], action[1]
    source, target = packing.bin_of[item], _target(packing, other)
    shift = (batch.weights[row, item] - work.back[other]) / max(batch.capacity[row], 1)
    here, there = _load_of(batch, packing, row, source), _load_of(batch, packing, row, target)
    rise = 2.0 * shift * (shift + there - here)
    closes = other < len(packing.bin_of) and packing.sizes[source] == 1
    return -np.float64(closes) - rise * batch.scale[row]


@variant(hooks.apply, batch=SquaresBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    packing, item, other = work.packing, action[0], action[1]
    size = len(packing.bin_of)
    source, target, weight = packing.bin_of[item], _target(packing, other), batch.weights[row, item]
    move.take(packing, item, weight)
    move.put(packing, item, target, weight)
    if other >= size:
        move.take(packing, other - size, work.back[other])
        move.put(packing, other - size, source, work.back[other])
    for changed in (source, target):
        _make_room(work, changed)
        hooks.update_features(batch, policy, work, row, member, changed)


@variant(hooks.update_features, batch=SquaresBatch, policy=Squares)
def _update_features(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    packing = work.packing
    size, room = len(packing.bin_of), np.float32(-packing.needs[changed] / batch.unit[row])
    work.seen[1, changed] = room
    item = packing.first[changed]
    while item >= 0:
        packing.seen[1, item] = work.seen[1, size + item] = room
        block = item // LANES
        move.sum_items(policy, packing, member, block, block + 1)
        item = packing.after[item]
