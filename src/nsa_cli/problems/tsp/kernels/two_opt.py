"""2-opt over all pairs of cities; see `nsa_cli.problems.tsp.two_opt.operations` for its moves.

Features are kept in the order of the tour, as rows for the vector units; a 2-opt move reverses a segment of
each row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks, lanes, slots
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import generic, inlined, variant
from nsa_cli.kernels.slots import Mode, Network, Slots
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, length

_score_four = lanes.score_features(4)


class TspArrays(NamedTuple):
    """A batch for kernels.

    Attributes
    ----------
    data : float64[B', M]
        The `KernelMetric.data` of each instance.
    data_row : int64[B]
        The row of `data` that a chain's instance has: chains of one instance share it.
    stride, formula, rounding : int
        See `KernelMetric`.
    points : float32[B', N, 2]
    nearest : float64[B', N]
    scale : float64[B]
    plane : bool
        Whether lengths are distances of `points`, unrounded.
    """

    data: Floats
    data_row: Ints
    stride: int
    formula: int
    rounding: int
    points: NDArray[np.float32]
    nearest: Floats
    scale: Floats
    plane: bool


class Paper(NamedTuple):
    """A policy of coordinates of a city and its neighbours, for the second city those of the first too; T."""

    first: Network
    second: Network
    mode: Mode


class Relative(NamedTuple):
    """A policy of lengths in units of the spacing of N cities.

    The weights of the second city's features are in this order: added edges (i, j) and (i-1, j-1), removed
    edge (j-1, j), squashed gain; and in common, removed edge (i-1, i), log T.
    """

    first: Network
    second: Network
    mode: Mode


class Work(NamedTuple):
    """One chain's state.

    Attributes
    ----------
    tour : int64[N]
    seen : float32[2, 16 blocks + 16]
        Rows in the tour's order, from index 1 on, with the last city before the first and the first after the
        last. Paper: x and y. Relative: length of the edge to the predecessor, and of the edge to the nearest
        city.
    plane : float32[2, 16 blocks + 16]
        Relative: x and y in units of the spacing, likewise.
    pair : float32[4, 16 blocks]
        Relative: features of the second city.
    first, second : Slots
    """

    tour: Ints
    seen: NDArray[np.float32]
    plane: NDArray[np.float32]
    pair: NDArray[np.float32]
    first: Slots
    second: Slots


def workspace(x: Any) -> Work:
    """Allocate a thread's scratch space, for one chain at a time."""
    size = len(x)
    padded = slots.blocks_of(size) * LANES
    return Work(
        slots.aligned((size,), np.int64),
        slots.aligned((2, padded + LANES)),
        slots.aligned((2, padded + LANES)),
        slots.aligned((4, padded)),
        slots.slot_space(size),
        slots.slot_space(size),
    )


@inlined
def edge_length(batch: Any, row: int, u: int, v: int) -> float:
    """Length of the edge between two cities, in file units."""
    metric = KernelMetric(batch.data[batch.data_row[row]], batch.stride, batch.formula, batch.rounding)
    return length(metric, u, v)


@inlined
def spacing_of(batch: Any, row: int, size: int) -> float:
    """Spacing of so many cities in file units."""
    return batch.scale[row] / math.sqrt(size)


@inlined
def plane_distance(x: float, y: float) -> np.float32:
    """Length of a difference in the plane; float32, which the compiler vectorises."""
    return np.float32(math.sqrt(x * x + y * y))


@variant(hooks.load, batch=TspArrays)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for k in range(len(x)):
        work.tour[k] = x[k]
    hooks.compute_features(batch, policy, work, row, member)


@variant(hooks.propose, batch=TspArrays, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    size = len(work.tour)
    first, j = np.int64(uniform(at, 0) * size), np.int64(uniform(at, 1) * (size - 3))
    if first == 0:  # ranks leave out the first city and its two neighbours, which lie around the end or not
        j += 2
    elif first == size - 1:
        j += 1
    elif j >= first - 1:
        j += 3
    return (first, j), size >= 4


@inlined
def _leave_out(work: Any, first: int, logits: Any) -> None:
    """Forbid the first city and its two tour neighbours."""
    size = len(work.tour)
    slots.forbid_from(logits, size)
    if first >= 0:
        logits[first] = logits[first - 1 if first > 0 else size - 1] = -np.inf
        logits[first + 1 if first < size - 1 else 0] = -np.inf


@inlined
def turn_round(row: Any, begin: int, end: int) -> None:
    """Reverse a row's elements from `begin` to `end`, both included."""
    for k in range((end - begin + 1) >> 1):
        kept = row[begin + k]
        row[begin + k] = row[end - k]
        row[end - k] = kept


@variant(hooks.propose, batch=TspArrays, policy=(Paper, Relative))
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    if len(work.tour) < 4:
        return (np.int64(0), np.int64(0)), False
    set_floor(policy, work, member, temperature)
    changed, largest = slots.update_scores(work.first, policy.first.second[member])
    if changed:
        _leave_out(work, np.int64(-1), work.first.logits)  # a literal is one more type to compile
        slots.weigh(work.first, largest)
    first = slots.draw(work.first, uniform(at, 0), policy.mode)
    largest = score_second(batch, policy, work, row, member, temperature, first)
    _leave_out(work, first, work.second.logits)
    second = slots.choose(work.second, largest, uniform(at, 1), policy.mode)
    return (first, second), first >= 0 and second >= 0


@inlined
def tour_energy(batch: Any, row: int, tour: Any) -> float:
    """Length of a closed tour."""
    total = 0.0
    for k in range(len(tour)):
        total += edge_length(batch, row, tour[k - 1 if k > 0 else len(tour) - 1], tour[k])
    return total


@inlined
def reversal_delta(batch: Any, row: int, tour: Any, begin: int, end: int) -> float:
    """Length that the reversal of positions `begin` to `end` adds."""
    size = len(tour)
    a, b = tour[begin], tour[end]
    before = tour[begin - 1 if begin > 0 else size - 1]
    after = tour[end + 1 if end < size - 1 else 0]
    new = edge_length(batch, row, before, b) + edge_length(batch, row, a, after)
    return new - edge_length(batch, row, before, a) - edge_length(batch, row, b, after)


@variant(hooks.energy, batch=TspArrays)
def _energy(batch: Any, work: Any, row: int) -> float:
    return tour_energy(batch, row, work.tour)


@variant(hooks.delta, batch=TspArrays)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    begin, end = min(action[0], action[1]), max(action[0], action[1]) - 1
    return reversal_delta(batch, row, work.tour, begin, end)


@variant(hooks.apply, batch=TspArrays)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    begin, end = min(action[0], action[1]), max(action[0], action[1]) - 1
    turn_round(work.tour, begin, end)
    hooks.update_features(batch, policy, work, row, member, (begin, end))


@variant(hooks.store, batch=TspArrays)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for k in range(len(x)):
        x[k] = work.tour[k]


# --- features of policies --------------------------------------------------------------------------


@generic
def set_floor(policy: Any, work: Any, member: int, temperature: float) -> None:
    """Set the floor of the first choice."""


@generic
def score_second(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, first: int
) -> float:
    """Score all second cities, given the first; return an upper bound on the scores."""


@inlined
def _close(row: Any, size: int) -> None:
    """Put the last city before the first, and the first after the last."""
    row[0], row[size + 1] = row[size], row[1]


@inlined
def _sum_again(rows: Any, shifts: Any, weights: Any, slot: Any, begin: int, end: int, size: int) -> None:
    """Sum anew where a city or one beside it is of positions `begin` to `end`, round the corner too."""
    low, high, last = max(begin - 1, 0) // LANES, min(end + 1, size - 1) // LANES, (size - 1) // LANES
    for part in range(3):  # as a loop, for the code of a sum is long and takes long to compile
        first, behind = low, high + 1
        if part == 1:
            first, behind = last, last + (begin == 0 and high < last)
        elif part == 2:
            first, behind = 0, np.int64(end == size - 1 and low > 0)  # type: ignore[assignment]
        if first < behind:
            lanes.sum_features(rows, shifts, weights, slot.sums, first, behind)
            slots.mark_stale(slot, first, behind)


@variant(hooks.compute_features, batch=TspArrays, policy=Paper)
def _compute_paper(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    points, rows, size = batch.points[batch.data_row[row]], work.seen, len(work.tour)
    for k in range(size):
        rows[0, k + 1] = points[work.tour[k], 0]
        rows[1, k + 1] = points[work.tour[k], 1]
    _sum_paper(policy, work, member, np.int64(0), size - 1)


@variant(hooks.update_features, batch=TspArrays, policy=Paper)
def _update_paper(batch: Any, policy: Any, work: Any, row: int, member: int, changed: Any) -> None:
    begin, end = changed  # reversed positions
    turn_round(work.seen[0], begin + 1, end + 1)
    turn_round(work.seen[1], begin + 1, end + 1)
    _sum_paper(policy, work, member, begin, end)


@inlined
def _sum_paper(policy: Any, work: Any, member: int, begin: int, end: int) -> None:
    rows, size = work.seen, len(work.tour)
    _close(rows[0], size)
    _close(rows[1], size)
    stride = rows.shape[1]
    shifts = (0, stride, 1, stride + 1, 2, stride + 2)
    weights = policy.first.first[member, 0:6], policy.second.first[member, 6:12]
    for own, slot in ((weights[0], work.first), (weights[1], work.second)):
        _sum_again(rows, shifts, own, slot, begin, end, size)


@variant(set_floor, policy=Paper)
def _set_floor_paper(policy: Any, work: Any, member: int, temperature: float) -> None:
    first, bias, heat = policy.first.first[member], policy.first.bias[member], np.float32(temperature)
    for h in range(lanes.HIDDEN):
        work.first.floor[h] = -(bias[h] + first[6, h] * heat)


@variant(score_second, policy=Paper)
def _score_second_paper(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, first: int
) -> float:
    slot, heat, seen = work.second, np.float32(temperature), work.seen
    weights, bias = policy.second.first[member], policy.second.bias[member]
    for h in range(lanes.HIDDEN):
        common = bias[h] + weights[12, h] * heat
        for place in range(3):
            for axis in range(2):
                common += weights[2 * place + axis, h] * seen[axis, first + place]
        slot.floor[h] = -common
    second, blocks = policy.second.second[member], slot.sums.shape[0]
    return lanes.score_sums(slot.sums, slot.floor, second, slot.logits, 0, blocks)


@variant(hooks.compute_features, batch=TspArrays, policy=Relative)
def _compute_relative(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    tour, rows, plane, size = work.tour, work.seen, work.plane, len(work.tour)
    spacing, instance, root = spacing_of(batch, row, size), batch.data_row[row], np.float32(math.sqrt(size))
    for k in range(size):
        rows[1, k + 1] = batch.nearest[instance, tour[k]] / spacing
        plane[0, k + 1] = batch.points[instance, tour[k], 0] * root
        plane[1, k + 1] = batch.points[instance, tour[k], 1] * root
        rows[0, k + 1] = edge_length(batch, row, tour[k - 1 if k > 0 else size - 1], tour[k]) / spacing
    _sum_relative(policy, work, member, np.int64(0), size - 1)


@variant(hooks.update_features, batch=TspArrays, policy=Relative)
def _update_relative(batch: Any, policy: Any, work: Any, row: int, member: int, changed: Any) -> None:
    begin, end = changed
    tour, rows, plane, size = work.tour, work.seen, work.plane, len(work.tour)
    for features in (rows[1], plane[0], plane[1]):
        turn_round(features, begin + 1, end + 1)
    turn_round(rows[0], begin + 2, end + 1)  # an edge inside is now between the mirrored positions
    spacing, after = spacing_of(batch, row, size), end + 1 if end < size - 1 else 0
    for k in (begin, after):
        rows[0, k + 1] = edge_length(batch, row, tour[k - 1 if k > 0 else size - 1], tour[k]) / spacing
    _sum_relative(policy, work, member, begin, end)


@inlined
def _sum_relative(policy: Any, work: Any, member: int, begin: int, end: int) -> None:
    rows, plane, size = work.seen, work.plane, len(work.tour)
    _close(rows[0], size)
    _close(rows[1], size)
    plane[0, 0], plane[1, 0] = plane[0, size], plane[1, size]
    stride = rows.shape[1]
    shifts = (1, 2, stride + 1, stride)
    _sum_again(rows, shifts, policy.first.first[member], work.first, begin, end, size)


@inlined
def _log_heat(work: Any, temperature: float) -> np.float32:
    return np.float32(0.5 * math.log(max(temperature * math.sqrt(len(work.tour)), 1e-30)))


@variant(set_floor, policy=Relative)
def _set_floor_relative(policy: Any, work: Any, member: int, temperature: float) -> None:
    first, bias, heat = policy.first.first[member], policy.first.bias[member], _log_heat(work, temperature)
    for h in range(lanes.HIDDEN):
        work.first.floor[h] = -(bias[h] + first[4, h] * heat)


@variant(score_second, policy=Relative)
def _score_second_relative(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, first: int
) -> float:
    size, pair, slot = len(work.tour), work.pair, work.second
    old, heat = work.seen[0, first + 1], temperature * math.sqrt(size)
    if batch.plane:
        _pair_features(work.plane, work.seen, pair, first, old, np.float32(heat), size)
    else:
        spacing = spacing_of(batch, row, size)
        here, before = work.tour[first], work.tour[first - 1 if first > 0 else size - 1]
        last = work.tour[size - 1]
        for j in range(size):
            city = work.tour[j]
            new_here = edge_length(batch, row, here, city) / spacing
            new_before = edge_length(batch, row, before, last) / spacing
            gain = (work.seen[0, j + 1] + old - new_here - new_before) / heat
            pair[0, j], pair[1, j], pair[2, j] = new_here, new_before, work.seen[0, j + 1]
            pair[3, j] = gain / (1.0 + abs(gain))
            last = city
    log_heat = _log_heat(work, temperature)
    weights, bias = policy.second.first[member], policy.second.bias[member]
    for h in range(lanes.HIDDEN):
        slot.floor[h] = -(bias[h] + weights[4, h] * old + weights[5, h] * log_heat)
    second = policy.second.second[member]
    return _score_four(pair, weights, slot.floor, second, slot.logits, slot.sums.shape[0])


@inlined
def _pair_features(plane: Any, seen: Any, pair: Any, first: int, old: float, heat: float, size: int) -> None:
    """Features of second cities from distances in the plane; all float32, which the compiler vectorises."""
    x, y, x_before, y_before = plane[0, first + 1], plane[1, first + 1], plane[0, first], plane[1, first]
    one = np.float32(1.0)
    for j in range(size):
        new_here = plane_distance(plane[0, j + 1] - x, plane[1, j + 1] - y)
        new_before = plane_distance(plane[0, j] - x_before, plane[1, j] - y_before)
        edge = seen[0, j + 1]
        gain = (edge + old - new_here - new_before) / heat
        pair[0, j] = new_here
        pair[1, j] = new_before
        pair[2, j] = edge
        pair[3, j] = gain / (one + abs(gain))
