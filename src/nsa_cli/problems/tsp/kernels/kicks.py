"""The hooks of `nsa_cli.kernels.steps` for tours: double-bridge kicks, local search, and crossover.

A double bridge (Martin, Otto and Felten 1991) reverses the order of three adjacent segments, without
reversing any. Local search has no such move: it undoes half of the double bridges, but nine tenths of its own
moves, such as the swap of two segments. Cuts favour edges that are bad by alpha-nearness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nsa_cli.kernels import steps
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.jit import inlined, variant
from nsa_cli.problems.tsp.kernels import local_search
from nsa_cli.problems.tsp.kernels.edge_assembly import Assembly, assemble, new_assembly
from nsa_cli.problems.tsp.kernels.links import CHANGED, Changes, copy_changes, new_changes, note_change
from nsa_cli.problems.tsp.kernels.local_search import QUEUED, SEGMENTS, Chain, Cities
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, Words, tour_length

#: Places in `Kicked.costs`: length of the current tour; what the step has added to it.
CURRENT, RISE = range(2)

#: For each cut a kick draws so many edges, and cuts the worst of them. Measured at 500 cities: 9 +- 6 % of
#: the gap in 50 ms, nothing in .2 s, where 6 do no better than 1.
_TRIES = 3

#: Chains that do not recombine share this empty one.
_NO_ASSEMBLY = new_assembly(0)


class Tours(NamedTuple):
    """An instance made ready, shared by its chains; see `nsa_cli.kernels.steps`.

    Attributes
    ----------
    cities : Cities
    scale : float
        Mean distance of a city to its nearest neighbour.
    tolerance : float
        The tolerance of `cities`.
    depth : int
        The most open moves in a Lin-Kernighan chain.
    longest : int
        A kick's segments have 1 to this many cities; at most (N - 1) / 3.
    """

    cities: Cities
    scale: float
    tolerance: float
    depth: int
    longest: int


class Kicked(NamedTuple):
    """A chain's state; its arrays are changed in place.

    Attributes
    ----------
    chain : Chain
        The current tour.
    best : uint32[N]
        The best tour seen.
    costs : float64[2]
        The lengths at `CURRENT` and `RISE`.
    changes : Changes
        Since the best tour.
    assembly : Assembly
        Scratch space for `recombine`.
    """

    chain: Chain
    best: Words
    costs: Floats
    changes: Changes
    assembly: Assembly


def fitting(longest: int, size: int) -> int:
    """Shorten the segments of kicks so that three of them fit into a tour of so many cities."""
    return max(min(longest, (size - 1) // 3), 1)


def start_at(tours: Tours, order: Ints, assembly: Assembly = _NO_ASSEMBLY) -> Kicked:
    """Put a chain at a tour int64[N]."""
    chain = local_search.new_chain(order)
    return Kicked(
        chain,
        chain.order.copy(),
        np.array([tour_length(tours.cities.metric, chain.order), 0.0]),
        new_changes(),
        assembly,
    )


@variant(steps.set_solution, data=Tours)
def _set_solution(data: Tours, state: Kicked, solution: Words, is_optimum: bool) -> None:
    local_search.restart(state.chain, solution)
    if not is_optimum:
        local_search.push_all(state.chain)
    state.costs[CURRENT] = tour_length(data.cities.metric, state.chain.order)
    state.changes.counts[CHANGED] = len(state.best)


@variant(steps.recombine, data=Tours)
def _recombine(data: Tours, state: Kicked, other: Words, draws: np.uint64) -> None:
    state.costs[CURRENT] -= assemble(data.cities, state.chain, state.assembly, other, draws)
    state.costs[CURRENT] -= local_search.descend(data.cities, state.chain, data.depth, len(state.best))
    state.changes.counts[CHANGED] = len(state.best)


@variant(steps.descend, data=Tours)
def _descend(data: Tours, state: Kicked, limit: int) -> bool:
    state.costs[CURRENT] -= local_search.descend(data.cities, state.chain, data.depth, limit)
    state.changes.counts[CHANGED] = len(state.best)
    return state.chain.counts[QUEUED] == 0


@variant(steps.kick, data=Tours)
def _kick(data: Tours, state: Kicked, draws: np.uint64) -> bool:
    chain = state.chain
    start = _place(data.cities, chain, draws, 0, 0, len(chain.order))
    first = 1 + _place(data.cities, chain, draws, 1, start + 1, data.longest)
    second = 1 + _place(data.cities, chain, draws, 2, start + first + 1, data.longest)
    third = 1 + _place(data.cities, chain, draws, 3, start + first + second + 1, data.longest)
    if _is_at_border(data.cities, chain, start, (0, first, second, third)):
        return False
    before = chain.order[start]
    local_search.swap_segments(chain, start, first, second)
    state.costs[RISE] = _make_move(data.cities, chain)
    local_search.swap_segments(chain, np.int64(chain.position[before]), first + second, third)
    state.costs[RISE] += _make_move(data.cities, chain)
    return True


@inlined
def _place(cities: Cities, chain: Chain, draws: np.uint64, cut: int, begin: int, count: int) -> np.int64:
    """Choose where to cut, among `count` edges from `begin` on: of some at random the worst by alpha."""
    worst, chosen = -np.inf, np.int64(0)
    for k in range(_TRIES):
        some = np.int64(uniform(draws, 1 + _TRIES * cut + k) * count)
        alpha = _alpha(cities, chain, begin + some)
        if alpha > worst:
            worst, chosen = alpha, some
    return chosen


@inlined
def _alpha(cities: Cities, chain: Chain, place: int) -> float:
    """Alpha-nearness of the edge after a place, which may count on beyond the end; infinite if unknown."""
    order, size, width = chain.order, len(chain.order), cities.width
    a = np.int64(order[place if place < size else place - size])
    b = np.int64(order[place + 1 if place + 1 < size else place + 1 - size])
    for y in range(width):
        if cities.neighbours[a * width + y] == b:
            return cities.alpha[a * width + y]
        if cities.neighbours[b * width + y] == a:
            return cities.alpha[b * width + y]
    return np.inf


@inlined
def _is_at_border(cities: Cities, chain: Chain, start: int, lengths: tuple[int, int, int, int]) -> bool:
    """Tell whether a city at one of the cuts has candidates outside of this part of the tour."""
    order, size, place = chain.order, len(chain.order), start
    for length in lengths:
        place += length
        for end in range(place, place + 2):
            city = np.int64(order[end if end < size else end - size])
            if local_search.has_lost_candidates(cities, city):
                return True
    return False


@inlined
def _make_move(cities: Cities, chain: Chain) -> float:
    """Make the move that was written down; return what it adds to the length."""
    rise = local_search.move_cost(cities.metric, chain.move)
    local_search.apply_move(chain, chain.move)
    local_search.push_ends(chain, chain.move)
    return rise


@variant(steps.local_search, data=Tours)
def _local_search(data: Tours, state: Kicked, draws: np.uint64) -> float:
    state.costs[RISE] -= local_search.descend_logged(data.cities, state.chain, data.depth)
    return state.costs[RISE]


@variant(steps.accept, data=Tours)
def _accept(data: Tours, state: Kicked) -> None:
    state.costs[CURRENT] += state.costs[RISE]
    segments = state.chain.segments
    for k in range(state.chain.counts[SEGMENTS]):
        note_change(state.changes, segments[2 * k], segments[2 * k + 1], len(state.best))
    local_search.forget(state.chain)


@variant(steps.reject, data=Tours)
def _reject(data: Tours, state: Kicked) -> None:
    local_search.roll_back(state.chain, 0)


@variant(steps.energy, data=Tours)
def _energy(data: Tours, state: Kicked) -> float:
    return state.costs[CURRENT]


@variant(steps.save_best, data=Tours)
def _save_best(data: Tours, state: Kicked) -> None:
    copy_changes(state.changes, state.chain.order, state.best)
