"""The walk on squared fills as parts of a fused kernel; see `squares` for what they mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.draws import LANES
from nsa_cli.core.kernel import parts
from nsa_cli.core.kernel.draws import uniform
from nsa_cli.core.kernel.jit import inlined, variant
from nsa_cli.core.kernel.lanes import HIDDEN, score_features, sum_features
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
    never,
    slot_space,
    spoil,
)
from nsa_cli.problems.bin.batch import SquaresBatch, bins_of, pack_squares
from nsa_cli.problems.bin.move.kernel import draw_item, look, look_again, put, take

_score = score_features(3)


class Squares(NamedTuple):
    """Networks of the two choices.

    Item: weight and free capacity of its bin; in common T. Other: weight that comes back, free capacity
    there, gain per T; in common the item's weight and free capacity, and T.
    """

    item: Network
    other: Network
    mode: Mode


class Work(NamedTuple):
    """One chain's state.

    Attributes
    ----------
    bin_of : int64[N]
        The packing.
    needs : int64[N]
        Minus the free capacity of each bin.
    count, first : int64[N]
        Items of each bin, and one of them; -1 if it is empty.
    after, before : int64[N]
        The item's neighbours in the list of its bin's items, -1 at the ends.
    back : int64[16 blocks]
        Of the second choice's candidates, bins and then items: the weight that comes back.
    there : int64[16 blocks]
        Minus the room that they leave: `needs`, less `back`; `NEVER` of empty bins.
    now : int64[16 blocks]
        The same for the item of this step, `NEVER` also where its place is too small.
    seen : float32[2, 16 blocks]
        What the policy sees of items: weight, room in their bins.
    seen_of_others : float32[3, 16 blocks]
        Of the second choice's candidates: weight that comes back, room there, squashed gain in this step.
    item, other : Slots
    """

    bin_of: Any
    needs: Any
    count: Any
    first: Any
    after: Any
    before: Any
    back: Any
    there: Any
    now: Any
    seen: Any
    seen_of_others: Any
    item: Slots
    other: Slots


def workspace(x: Any) -> Work:
    """Allocate what a thread needs for one chain at a time."""
    size = len(x)
    items, others = blocks_of(size) * LANES, blocks_of(2 * size) * LANES
    return Work(
        *(aligned((size,), np.int64) for _ in range(6)),
        aligned((others,), np.int64),
        never(others),
        never(others),
        aligned((2, items)),
        aligned((3, others)),
        slot_space(size),
        slot_space(2 * size),
    )


@variant(parts.load, batch=SquaresBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    size = len(x)
    for b in range(size):
        work.needs[b] = -batch.capacity[row]
        work.count[b] = 0
        work.first[b] = -1
        work.there[b] = NEVER
    for i in range(size):
        put(work, i, x[i], batch.weights[row, i])
        work.back[size + i] = batch.weights[row, i]
    for b in range(size):
        _make_room(work, b)
    look(batch, policy, work, row, member)


@inlined
def _make_room(work: Any, changed: int) -> None:
    """Bring `there` up to date after a change of a bin's content."""
    size, needs = len(work.bin_of), work.needs[changed]
    work.there[changed] = needs if work.count[changed] > 0 else NEVER
    item = work.first[changed]
    while item >= 0:
        work.there[size + item] = needs - work.back[size + item]
        item = work.after[item]


@variant(look, batch=SquaresBatch, policy=Squares)
def _look(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    size, unit = len(work.bin_of), batch.unit[row]
    for i in range(size):
        weight, room = batch.weights[row, i] / unit, -work.needs[work.bin_of[i]] / unit
        work.seen[0, i] = work.seen_of_others[0, size + i] = weight
        work.seen[1, i] = work.seen_of_others[1, size + i] = room
        work.seen_of_others[1, i] = -work.needs[i] / unit
    _sum_items(policy, work, member, 0, work.item.sums.shape[0])


@inlined
def _sum_items(policy: Any, work: Any, member: int, begin: int, end: int) -> None:
    shifts = (0, work.seen.shape[1])
    sum_features(work.seen, shifts, policy.item.first[member], work.item.sums, begin, end)
    spoil(work.item, begin, end)


@inlined
def _fit(work: Any, item: int, weight: int) -> None:
    """Set `now`: what of `there` is open to an item, whose place takes what is not too heavy for it."""
    own = work.bin_of[item]
    limit = weight - work.needs[own]
    for c in range(len(work.now)):
        work.now[c] = work.there[c] if work.back[c] <= limit else NEVER
    work.now[own] = NEVER
    mate = work.first[own]
    while mate >= 0:
        work.now[len(work.bin_of) + mate] = NEVER
        mate = work.after[mate]


@inlined
def _weigh(work: Any, weight: float, room: float, heat: float) -> None:
    """Compute what squared fills gain if an item in a bin with some room goes to each candidate."""
    back, there, gains = work.seen_of_others
    for c in range(len(gains)):
        shift = weight - back[c]
        gain = np.float32(2.0) * shift * (shift + (room - there[c]))
        gains[c] = gain / (abs(gain) + heat)


@variant(parts.propose, batch=SquaresBatch, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    item = choose_among(len(work.bin_of), uniform(at, 0), given[0])
    weight = batch.weights[row, item.index]
    _fit(work, item.index, weight)
    other = choose_uniformly(work.now, -weight, uniform(at, 1), given[1])
    return (item.index, other.index), item.log_probability + other.log_probability


@variant(parts.propose, batch=SquaresBatch, policy=Squares)
def _propose(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any, given: Any
) -> Any:
    heat = np.float32(0.25 * math.log(max(temperature, 1e-30)))
    item = draw_item(policy, work, member, heat, uniform(at, 0), given[0])

    weight, slot, blocks = batch.weights[row, item.index], work.other, work.other.sums.shape[0]
    _fit(work, item.index, weight)
    first, bias = policy.other.first[member], policy.other.bias[member]
    seen, room = work.seen[0, item.index], work.seen[1, item.index]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + first[0, h] * seen + first[1, h] * room + first[2, h] * heat)
    _weigh(work, seen, room, np.float32(max(temperature, 1e-30)))
    second = policy.other.second[member]
    largest = _score(work.seen_of_others, first[3:6], slot.floor, second, slot.logits, blocks)
    other = choose_allowed(slot, largest, work.now, -weight, uniform(at, 1), policy.mode, given[1])
    return (item.index, other.index), item.log_probability + other.log_probability


@variant(parts.energy, batch=SquaresBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    used, squares = 0, 0.0
    for b in range(len(work.count)):
        used += work.count[b] > 0
        squares += _fill(batch, work, row, b) ** 2
    return used - squares * batch.scale[row]


@inlined
def _fill(batch: Any, work: Any, row: int, b: int) -> float:
    return (batch.capacity[row] + work.needs[b]) / max(batch.capacity[row], 1)


@inlined
def _target(work: Any, other: int) -> int:
    """Give the bin that the second choice stands for."""
    size = len(work.bin_of)
    return other if other < size else work.bin_of[other - size]


@variant(parts.delta, batch=SquaresBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    item, other = action
    source, target = work.bin_of[item], _target(work, other)
    shift = (batch.weights[row, item] - work.back[other]) / max(batch.capacity[row], 1)
    rise = 2.0 * shift * (shift + _fill(batch, work, row, target) - _fill(batch, work, row, source))
    closes = other < len(work.bin_of) and work.count[source] == 1
    return -np.float64(closes) - rise * batch.scale[row]


@variant(parts.apply, batch=SquaresBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    item, other = action
    source, target, weight = work.bin_of[item], _target(work, other), batch.weights[row, item]
    take(work, item, weight)
    put(work, item, target, weight)
    if other >= len(work.bin_of):
        take(work, other - len(work.bin_of), work.back[other])
        put(work, other - len(work.bin_of), source, work.back[other])
    for changed in (source, target):
        _make_room(work, changed)
        look_again(batch, policy, work, row, member, changed)


@variant(look_again, batch=SquaresBatch, policy=Squares)
def _look_again(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    size, room = len(work.bin_of), np.float32(-work.needs[changed] / batch.unit[row])
    work.seen_of_others[1, changed] = room
    item = work.first[changed]
    while item >= 0:
        work.seen[1, item] = work.seen_of_others[1, size + item] = room
        block = item // LANES
        _sum_items(policy, work, member, block, block + 1)
        item = work.after[item]


@variant(parts.reverse, work=Work)
def _reverse(batch: Any, work: Any, row: int, action: Any) -> Any:
    item, other = action
    return item, other if other >= len(work.bin_of) else work.bin_of[item]


fused = Fused(
    arrays=pack_squares,
    workspace=workspace,
    draws=2,
    policies={"squares": Squares},
    features={"squares": (3, 6)},
    objectives=bins_of,
)
