"""Hooks of the paper's neighbourhood; see `nsa_cli.problems.knapsack.operations`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, slots
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import generic, inlined, variant
from nsa_cli.kernels.lanes import HIDDEN, sum_features


class KnapsackBatch(NamedTuple):
    """Instances of one size, as arrays or as tensors.

    Attributes
    ----------
    values : float64[B, N]
        The values in file units.
    weights : int64[B, N]
        The weights in exact integer units.
    capacity : int64[B]
        The capacity in the same units.
    items : float32[B, N, 3]
        Features that do not change: weight and value, about in (0, 1], and capacity an item (C / N, in the
        unit of the weights).
    scale : float64[B]
        The value, in file units, that is 1 to the policy.
    per_weight : float64[B]
        What an exact unit of weight is to the policy.
    """

    values: Any
    weights: Any
    capacity: Any
    items: Any
    scale: Any
    per_weight: Any


class Paper(NamedTuple):
    """Learnt policy: occupancy, weight, value, capacity; in common T."""

    item: slots.Network
    mode: slots.Mode


class Relative(NamedTuple):
    """Learnt policy: occupancy, weight, value, log ratio; in common free capacity and T."""

    item: slots.Network
    mode: slots.Mode


class Work(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    inside : bool[N]
        The selection.
    needs : int64[16 blocks]
        Capacity that the flip of an item needs: its weight, or `slots.ALWAYS` if it is in.
    free : int64[1]
        Capacity left.
    seen : float32[4, 16 blocks]
        Features of the items, occupancy first.
    slot : slots.Slots
    """

    inside: NDArray[np.bool_]
    needs: NDArray[np.int64]
    free: NDArray[np.int64]
    seen: NDArray[np.float32]
    slot: slots.Slots


_LEARNT = (Paper, Relative)


@variant(hooks.load, batch=KnapsackBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    free = batch.capacity[row]
    for i in range(len(x)):
        weight = batch.weights[row, i]
        work.inside[i] = x[i]
        free -= weight if x[i] else 0
        work.needs[i] = slots.ALWAYS if x[i] else weight
    work.free[0] = free
    hooks.compute_features(batch, policy, work, row, member)


@variant(hooks.compute_features, batch=KnapsackBatch, policy=_LEARNT)
def _compute_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    for i in range(len(work.inside)):
        work.seen[0, i] = work.inside[i]
        work.seen[1, i] = batch.items[row, i, 0]
        work.seen[2, i] = batch.items[row, i, 1]
        work.seen[3, i] = third(policy, batch.items[row, i])
    _sum(policy, work, member, 0, work.slot.sums.shape[0])


@generic
def third(policy: Any, item: Any) -> float:
    """Feature 3 of an item."""


@variant(third, policy=Paper)
def _capacity(policy: Any, item: Any) -> float:
    return item[2]


@variant(third, policy=Relative)
def _log_ratio(policy: Any, item: Any) -> float:
    least = np.float32(1e-6)
    return min(max(math.log(max(item[1], least) / max(item[0], least)), -4.0), 4.0)


@inlined
def _sum(policy: Any, work: Any, member: int, begin: int, end: int) -> None:
    width = work.seen.shape[1]
    shifts = (0, width, 2 * width, 3 * width)
    sum_features(work.seen, shifts, policy.item.first[member], work.slot.sums, begin, end)
    slots.mark_stale(work.slot, begin, end)


@variant(hooks.propose, batch=KnapsackBatch, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    item = slots.choose_uniformly(work.needs, work.free[0], uniform(at, 0))
    return (item, np.int64(0)), item >= 0


@variant(hooks.propose, batch=KnapsackBatch, policy=_LEARNT)
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    slot, room = work.slot, work.free[0]
    common(batch, policy, slot.floor, row, member, room, np.float32(temperature))
    changed, largest = slots.update_scores(slot, policy.item.second[member])
    if changed:  # the room and what items need change with the sums only
        slots.weigh(slot, largest, work.needs, room)
    item = slots.draw(slot, uniform(at, 0), policy.mode, work.needs, room)
    return (item, np.int64(0)), item >= 0


@generic
def common(batch: Any, policy: Any, floor: Any, row: int, member: int, room: int, heat: float) -> None:
    """Set `floor` from the features that all items have in common."""


@variant(common, policy=Paper)
def _common(batch: Any, policy: Any, floor: Any, row: int, member: int, room: int, heat: float) -> None:
    first, bias = policy.item.first[member], policy.item.bias[member]
    for h in range(HIDDEN):
        floor[h] = -(bias[h] + first[4, h] * heat)


@variant(common, policy=Relative)
def _common_relative(
    batch: Any, policy: Any, floor: Any, row: int, member: int, room: int, heat: float
) -> None:
    first, bias = policy.item.first[member], policy.item.bias[member]
    left = min(np.float32(room * batch.per_weight[row]), np.float32(4.0))
    for h in range(HIDDEN):
        floor[h] = -(bias[h] + first[4, h] * left + first[5, h] * heat)


@variant(hooks.energy, batch=KnapsackBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    total = 0.0
    for i in range(len(work.inside)):
        total += batch.values[row, i] if work.inside[i] else 0.0
    return -total


@variant(hooks.delta, batch=KnapsackBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    value = batch.values[row, action[0]]
    return value if work.inside[action[0]] else -value


@variant(hooks.apply, batch=KnapsackBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    item = action[0]
    weight = batch.weights[row, item]
    inside = not work.inside[item]
    work.inside[item] = inside
    work.free[0] += -weight if inside else weight
    work.needs[item] = slots.ALWAYS if inside else weight
    hooks.update_features(batch, policy, work, row, member, item)


@variant(hooks.update_features, batch=KnapsackBatch, policy=_LEARNT)
def _update_features(batch: Any, policy: Any, work: Any, row: int, member: int, changed: int) -> None:
    work.seen[0, changed] = work.inside[changed]
    block = changed // LANES
    _sum(policy, work, member, block, block + 1)


@variant(hooks.store, batch=KnapsackBatch)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for i in range(len(x)):
        x[i] = work.inside[i]
