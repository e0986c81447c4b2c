"""A large-step chain: kick the tour, repair it by local search, accept by Metropolis or undo.

Large-step Markov chains are Martin, Otto and Felten's (1991). The kick swaps two adjacent segments, which
no move of the local search undoes in one step when the segments are long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.draws import at_step, uniform
from nsa_cli.core.kernel.jit import inlined, kernel
from nsa_cli.problems.tsp.local_search import (
    PIECES,
    QUEUED,
    Chain,
    Cities,
    apply_move,
    descend,
    forget,
    move_cost,
    new_chain,
    push_ends,
    repair,
    roll_back,
    swap_segments,
)
from nsa_cli.problems.tsp.measure import tour_length

#: Places in `LargeStepState.costs`.
CURRENT, BEST = range(2)

#: Places in `LargeStepState.counts`.
KICKS, ACCEPTED, CHANGES, CHANGED = range(4)

#: Changed pieces that are remembered; with more, the whole best tour is copied.
_CHANGES = 1 << 12


class LargeStepState(NamedTuple):
    """A chain between two kicks; its arrays are changed in place.

    Attributes
    ----------
    chain : Chain
        The current tour.
    best : uint32[N]
        The best tour seen.
    costs : float64[2]
        Lengths of the current and the best tour.
    counts : int64[4]
        Kicks done and accepted; pieces in `changes`; cities in them.
    changes : int64[2 * C]
        Where the current tour may differ from the best: first position and size of pieces.
    """

    chain: Chain
    best: NDArray[np.uint32]
    costs: NDArray[np.float64]
    counts: NDArray[np.int64]
    changes: NDArray[np.int64]


def start_at(cities: Cities, order: NDArray[np.int64]) -> LargeStepState:
    """Put a chain at a tour, which is still to be brought down by `settle`.

    Parameters
    ----------
    cities : Cities
    order : int64[N]
    """
    chain = new_chain(order)
    cost = tour_length(cities.measure, chain.order)
    return LargeStepState(
        chain,
        chain.order.copy(),
        np.array([cost, cost]),
        np.zeros(4, dtype=np.int64),
        np.empty(2 * _CHANGES, dtype=np.int64),
    )


def settled_as(other: LargeStepState) -> LargeStepState:
    """Put a chain where another one is that has just settled and kicked nothing yet."""
    chain = new_chain(other.chain.order.astype(np.int64))
    chain.waiting[:] = 0
    chain.counts[QUEUED] = 0
    return LargeStepState(
        chain,
        other.best.copy(),
        other.costs.copy(),
        np.zeros(4, dtype=np.int64),
        np.empty(2 * _CHANGES, dtype=np.int64),
    )


@kernel
def settle(cities: Cities, state: LargeStepState, depth: int, limit: int) -> None:
    """Go on with the first local search, `limit` queued cities at most; its tour is the best so far."""
    descend(cities, state.chain, depth, limit)
    state.costs[CURRENT] = tour_length(cities.measure, state.chain.order)
    state.counts[CHANGED] = len(state.best)
    _keep_best(state)


@kernel
def advance(
    cities: Cities,
    state: LargeStepState,
    key: int,
    temperatures: NDArray[np.float64],
    depth: int,
    longest: int,
) -> None:
    """Take a chain through ``len(temperatures)`` kicks.

    Parameters
    ----------
    cities : Cities
    state : LargeStepState
        Changed in place. Its number of kicks is the step of the random stream: chunks change nothing.
    key : int
        The stream, see `nsa_cli.core.draws`.
    temperatures : float64[K]
        In units of length.
    depth : int
        Open moves in a Lin-Kernighan chain.
    longest : int
        Segments that a kick swaps have 1 to this many cities; at most (N - 1) / 2.
    """
    chain, costs, counts = state.chain, state.costs, state.counts
    size = len(chain.order)
    for temperature in temperatures:
        draws = at_step(key, counts[KICKS])
        counts[KICKS] += 1
        start = np.int64(uniform(draws, 0) * size)
        first = 1 + np.int64(uniform(draws, 1) * longest)
        second = 1 + np.int64(uniform(draws, 2) * longest)
        swap_segments(chain, start, first, second)
        cost = costs[CURRENT] + move_cost(cities.measure, chain.move)
        apply_move(chain, chain.move)
        push_ends(chain, chain.move)
        cost -= repair(cities, chain, depth)
        rise = cost - costs[CURRENT]
        if rise <= cities.tolerance or rise < -temperature * math.log(uniform(draws, 3)):
            counts[ACCEPTED] += 1
            costs[CURRENT] = cost
            _remember_changes(state)
            forget(chain)
            if cost < costs[BEST] - cities.tolerance:
                _keep_best(state)
        else:
            roll_back(chain, 0)


@inlined
def _remember_changes(state: LargeStepState) -> None:
    """Add what the log says was overwritten to the changes since the best tour."""
    counts, pieces, changes = state.counts, state.chain.pieces, state.changes
    for k in range(state.chain.counts[PIECES]):
        counts[CHANGED] += pieces[2 * k + 1]
        if 2 * counts[CHANGES] < len(changes):
            changes[2 * counts[CHANGES]] = pieces[2 * k]
            changes[2 * counts[CHANGES] + 1] = pieces[2 * k + 1]
            counts[CHANGES] += 1
        else:
            counts[CHANGED] = len(state.best)  # too many to remember: copy all


@inlined
def _keep_best(state: LargeStepState) -> None:
    """Copy the current tour to the best, or what has changed where that is less."""
    best, order, counts, size = state.best, state.chain.order, state.counts, len(state.best)
    if counts[CHANGED] >= size:
        for place in range(size):
            best[place] = order[place]
    else:
        for k in range(counts[CHANGES]):
            begin, count = state.changes[2 * k], state.changes[2 * k + 1]
            for place in range(begin, min(begin + count, size)):
                best[place] = order[place]
            for place in range(begin + count - size):
                best[place] = order[place]
    counts[CHANGES] = 0
    counts[CHANGED] = 0
    state.costs[BEST] = state.costs[CURRENT]
