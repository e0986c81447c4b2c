"""2-opt with neighbour lists (Bentley 1992; Johnson, McGeoch 1997).

An action is (window, offset, candidate). A window is a sample of cities from all over the file; one of N is
drawn uniformly, and the policy chooses one of its cities as the first city, a. The candidates are the k
nearest cities c of a, twice: 2-opt adds the edges (a, c) and (before a, before c), or (a, c) and (after a,
after c). Candidate m is city ``m % k`` of the list, by the first variant for m < k. So a policy sees a number
of cities that does not depend on N, and a step costs the same at any size.

Of the two segments between the removed edges the shorter one is reversed. Policies see no direction: a
reversed tour has the same candidates, in another order.

Lists are not symmetric, so a move may have no reverse: an edge of a that is removed must be in the list of a.
So nothing is claimed of the distribution at one temperature.

Kernels know a move as (first city, candidate): the window follows from the random numbers. The cost of a
step does not grow with N, but for the segment that an accepted move reverses.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks
from nsa_cli.kernels.draws import LANES, uniform
from nsa_cli.kernels.hooks import Uniform
from nsa_cli.kernels.jit import inlined, variant
from nsa_cli.kernels.lanes import HIDDEN, score_features
from nsa_cli.kernels.slots import Mode, Network, Slots, aligned, blocks_of, choose, forbid_from, slot_space
from nsa_cli.problems.tsp.kernels import links, two_opt
from nsa_cli.problems.tsp.kernels.metric import Floats
from nsa_cli.problems.tsp.kernels.two_opt import TspArrays

_score_first, _score_candidates = score_features(4), score_features(5)

#: Cities of a window, at most: the lanes of a kernel's vectors.
WINDOW = 16


def stride_of(size: int) -> int:
    """Give the step from a city of a window to the next, cyclically in the file's order.

    Coprime to N, so that a window has no city twice; near the golden section of N, so that windows are spread
    over the file, whose neighbours are often neighbours in the plane.
    """
    stride = max(round(size * (math.sqrt(5.0) - 1.0) / 2.0), 1)
    while math.gcd(stride, size) > 1:
        stride += 1
    return stride % size if size > 1 else 0


class CandidateArrays(NamedTuple):
    """A batch for kernels.

    Attributes
    ----------
    tours : TspArrays
        The tours of I different instances.
    candidates : int32[I, N, k]
    stride : int
        The step from a city of a window to the next, see `stride_of`.
    plane : float32[I, N, 2]
        Cities in units of the spacing of N cities.
    nearest_edges : float32[I, N, 2]
        Lengths of the edges to the two nearest cities, in the same units.
    scale : float64[B]
    """

    tours: TspArrays
    candidates: NDArray[np.int32]
    stride: int
    plane: NDArray[np.float32]
    nearest_edges: NDArray[np.float32]
    scale: Floats


class NearestPolicy(NamedTuple):
    """A policy for the first city, and for the candidate.

    The weights of a candidate's features are in this order: added edges, (a, c) and the other one, removed
    edges of c and of a, squashed gain; and in common, log T.
    """

    first: Network
    candidate: Network
    mode: Mode


class CandidateWork(NamedTuple):
    """One chain's state.

    Attributes
    ----------
    tour, place : int32[N]
        Cities in the tour's order, and where in it each one is.
    seen : float32[4, 16]
        Features of the cities of a window.
    pair : float32[5, 16 blocks]
        Features of the candidates.
    ends : float32[6, 16 blocks]
        Scratch: where the ends of these edges lie.
    changes : Changes
        Reversals since the best tour was stored.
    first, second : Slots
    """

    tour: NDArray[np.int32]
    place: NDArray[np.int32]
    seen: NDArray[np.float32]
    pair: NDArray[np.float32]
    ends: NDArray[np.float32]
    changes: links.Changes
    first: Slots
    second: Slots


def workspace(count: int, x: Any) -> CandidateWork:
    """Allocate a thread's scratch space, for one chain at a time with lists of `count` candidates."""
    size, candidates = len(x), 2 * min(count, len(x) - 1)
    return CandidateWork(
        aligned((size,), np.int32),
        aligned((size,), np.int32),
        aligned((4, LANES)),
        aligned((5, blocks_of(candidates) * LANES)),
        aligned((6, max(blocks_of(candidates), 1) * LANES)),
        links.new_changes(),
        slot_space(WINDOW),
        slot_space(candidates),
    )


@inlined
def _wrapped(place: Any, size: int) -> Any:
    """Bring a place that is at most one round too far back into the tour."""
    if place < 0:
        return place + size
    return place - size if place >= size else place


@inlined
def _candidate(batch: Any, work: Any, row: int, action: Any) -> Any:
    """Give a move's candidate city, and 0 for the first variant or 1 for the second."""
    near = batch.candidates[batch.tours.data_row[row], action[0]]
    width = len(near)
    after = np.int64(action[1] >= width)
    return np.int64(near[action[1] - after * width]), after


@inlined
def _ends(batch: Any, work: Any, row: int, action: Any) -> Any:
    """First and last place of the segment between the two edges that a move removes."""
    size = len(work.tour)
    city, after = _candidate(batch, work, row, action)
    i = _wrapped(np.int64(work.place[action[0]]) + after, size)
    j = _wrapped(np.int64(work.place[city]) + after, size)
    return min(i, j), max(i, j) - 1


@inlined
def _beside(work: Any, city: int) -> Any:
    """Give a city's predecessor and successor."""
    place, size = np.int64(work.place[city]), len(work.tour)
    return work.tour[_wrapped(place - 1, size)], work.tour[_wrapped(place + 1, size)]


@variant(hooks.load, batch=CandidateArrays)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for k in range(len(x)):
        work.tour[k] = x[k]
        work.place[x[k]] = k
    work.changes.counts[links.SEGMENTS], work.changes.counts[links.CHANGED] = 0, len(x)


@variant(hooks.propose, batch=CandidateArrays, policy=Uniform)
def _propose_uniformly(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any
) -> Any:
    size = len(work.tour)
    window, offset = np.int64(uniform(at, 0) * size), np.int64(uniform(at, 1) * min(WINDOW, size))
    city = (window + offset * batch.stride) % size
    near = batch.candidates[batch.tours.data_row[row], city]
    width = len(near)
    before, after = _beside(work, city)
    free = 0
    for k in range(width):
        free += near[k] != before and near[k] != after
    if size < 4 or free == 0:
        return (city, np.int64(-1)), False
    rank, m = np.int64(uniform(at, 2) * (2 * free)), np.int64(0)
    if rank >= free:
        rank -= free
        m += width
    for k in range(width):
        if near[k] != before and near[k] != after:
            if rank == 0:
                m += k
                break
            rank -= 1
    return (city, m), True


@variant(hooks.propose, batch=CandidateArrays, policy=NearestPolicy)
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    size, width = len(work.tour), batch.candidates.shape[2]
    if size < 4:
        return (np.int64(0), np.int64(-1)), False
    log_heat = np.float32(0.5 * math.log(max(temperature * math.sqrt(size), 1e-30)))
    city = _choose_city(batch, policy, work, row, member, log_heat, at)
    _candidate_features(batch, work, row, city, temperature * math.sqrt(size))
    slot, weights, bias = work.second, policy.candidate.first[member], policy.candidate.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + weights[5, h] * log_heat)
    second, blocks = policy.candidate.second[member], slot.sums.shape[0]
    largest = _score_candidates(work.pair, weights, slot.floor, second, slot.logits, blocks)
    near = batch.candidates[batch.tours.data_row[row], city]
    before, after = _beside(work, city)
    for k in range(width):
        if near[k] == before or near[k] == after:
            slot.logits[k] = slot.logits[width + k] = -np.inf
    forbid_from(slot.logits, 2 * width)
    m = choose(slot, largest, uniform(at, 2), policy.mode)
    return (city, m), m >= 0


@inlined
def _choose_city(
    batch: Any, policy: Any, work: Any, row: int, member: int, log_heat: float, at: Any
) -> np.int64:
    """Choose a city of a window, which is drawn first."""
    size, slot = len(work.tour), work.first
    count, window = min(WINDOW, size), np.int64(uniform(at, 0) * size)
    _window_features(batch, work, row, window, count)
    weights, bias = policy.first.first[member], policy.first.bias[member]
    for h in range(HIDDEN):
        slot.floor[h] = -(bias[h] + weights[4, h] * log_heat)
    largest = _score_first(work.seen, weights, slot.floor, policy.first.second[member], slot.logits, 1)
    forbid_from(slot.logits, count)
    return (window + choose(slot, largest, uniform(at, 1), policy.mode) * batch.stride) % size


@inlined
def _window_features(batch: Any, work: Any, row: int, window: int, count: int) -> None:
    """Compute the features of the first `count` cities of a window."""
    size, seen, ends, instance = len(work.tour), work.seen, work.ends, batch.tours.data_row[row]
    plane, nearest = batch.plane[instance], batch.nearest_edges[instance]
    city, spacing = np.int64(window), two_opt.spacing_of(batch, row, size)
    for o in range(count):
        before, after = _beside(work, city)
        seen[2, o], seen[3, o] = nearest[city, 0], nearest[city, 1]
        if batch.tours.plane:
            ends[0, o], ends[1, o] = plane[city, 0], plane[city, 1]
            ends[2, o], ends[3, o] = plane[before, 0], plane[before, 1]
            ends[4, o], ends[5, o] = plane[after, 0], plane[after, 1]
        else:
            seen[0, o] = two_opt.edge_length(batch.tours, row, city, before) / spacing
            seen[1, o] = two_opt.edge_length(batch.tours, row, city, after) / spacing
        city = _wrapped(city + batch.stride, size)
    if batch.tours.plane:
        for o in range(WINDOW):
            seen[0, o] = two_opt.plane_distance(ends[0, o] - ends[2, o], ends[1, o] - ends[3, o])
            seen[1, o] = two_opt.plane_distance(ends[0, o] - ends[4, o], ends[1, o] - ends[5, o])


@inlined
def _candidate_features(batch: Any, work: Any, row: int, city: int, heat: float) -> None:
    """Compute the features of the candidates of a city; `heat` is in units of the spacing."""
    tour, pair, ends = work.tour, work.pair, work.ends
    size, instance = len(tour), batch.tours.data_row[row]
    place, near, plane = np.int64(work.place[city]), batch.candidates[instance, city], batch.plane[instance]
    width, spacing = len(near), two_opt.spacing_of(batch, row, size)
    for after in range(2):
        step = 2 * after - 1
        left = tour[_wrapped(place + step, size)]
        if batch.tours.plane:
            x, y = plane[left, 0], plane[left, 1]
            for k in range(width):
                c, m = near[k], after * width + k
                beyond = tour[_wrapped(np.int64(work.place[c]) + step, size)]
                ends[0, m], ends[1, m], ends[4, m], ends[5, m] = plane[c, 0], plane[c, 1], x, y
                ends[2, m], ends[3, m] = plane[beyond, 0], plane[beyond, 1]
        else:
            old = two_opt.edge_length(batch.tours, row, city, left) / spacing
            for k in range(width):
                c, m = near[k], after * width + k
                beyond = tour[_wrapped(np.int64(work.place[c]) + step, size)]
                pair[0, m] = two_opt.edge_length(batch.tours, row, city, c) / spacing
                pair[1, m] = two_opt.edge_length(batch.tours, row, left, beyond) / spacing
                pair[2, m] = two_opt.edge_length(batch.tours, row, c, beyond) / spacing
                pair[3, m] = old
    if batch.tours.plane:
        _plane_features(ends, pair, plane[city, 0], plane[city, 1])
    for m in range(pair.shape[1]):
        gain = (pair[2, m] + pair[3, m] - pair[0, m] - pair[1, m]) / np.float32(heat)
        pair[4, m] = gain / (np.float32(1.0) + abs(gain))


@inlined
def _plane_features(ends: Any, pair: Any, x: float, y: float) -> None:
    """Lengths in the plane, of all lanes: all float32, which the compiler vectorises."""
    for m in range(pair.shape[1]):
        pair[0, m] = two_opt.plane_distance(ends[0, m] - x, ends[1, m] - y)
        pair[1, m] = two_opt.plane_distance(ends[2, m] - ends[4, m], ends[3, m] - ends[5, m])
        pair[2, m] = two_opt.plane_distance(ends[0, m] - ends[2, m], ends[1, m] - ends[3, m])
        pair[3, m] = two_opt.plane_distance(ends[4, m] - x, ends[5, m] - y)


@variant(hooks.energy, batch=CandidateArrays)
def _energy(batch: Any, work: Any, row: int) -> float:
    return two_opt.tour_energy(batch.tours, row, work.tour)


@variant(hooks.delta, batch=CandidateArrays)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    begin, end = _ends(batch, work, row, action)
    return two_opt.reversal_delta(batch.tours, row, work.tour, begin, end)


@variant(hooks.apply, batch=CandidateArrays)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    tour, place, size = work.tour, work.place, len(work.tour)
    low, high = _ends(batch, work, row, action)
    count = high - low + 1
    if 2 * count > size:  # the other segment, across the array's end
        low, high, count = _wrapped(high + 1, size), _wrapped(low - 1, size), size - count
    links.note_change(work.changes, low, count, size)
    for _ in range(count >> 1):
        a, b = tour[high], tour[low]
        tour[low], tour[high] = a, b
        place[a], place[b] = low, high
        low, high = _wrapped(low + 1, size), _wrapped(high - 1, size)


@variant(hooks.store, batch=CandidateArrays)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    if best:
        links.copy_changes(work.changes, work.tour, x)
    else:
        for k in range(len(x)):
            x[k] = work.tour[k]
