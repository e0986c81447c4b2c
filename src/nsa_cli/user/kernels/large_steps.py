"""Large steps of own problems: a kick of random moves, then first-improvement descent by the moves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import steps
from nsa_cli.kernels.draws import mix, uniform
from nsa_cli.kernels.jit import inlined, uncached, variant
from nsa_cli.user.kernels.rules import KNOWN, NOW, THEN, Rules, kind_of_move

#: The fewest moves of a kick.
FEWEST = 2

#: The most passes over the first choices in a local search.
_PASSES = 8

#: Indices of `MoveChain.energies`.
CURRENT, BEFORE = range(2)


class MoveSet(NamedTuple):
    """Instance as the chains on it read it, with its moves.

    Attributes
    ----------
    batch : NamedTuple
        The data of all instances, see `nsa_cli.user.kernels.annealing.UserArrays`.
    which : int64
        The number of the instance among them.
    counts : int64[C]
        The number of candidates of each choice.
    firsts : int64[K]
        For each type of moves, the place in `counts` of its first choice.
    rules : nsa_cli.user.kernels.rules.Rules
        The user's functions, compiled.
    known : float
        1 if an energy says all that there is to know of a solution, 0 if there are violations.
    most : int
        The most moves of a kick.
    scale, tolerance : float
        See `nsa_cli.kernels.steps`.
    """

    batch: Any
    which: np.int64
    counts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    rules: Rules
    known: float
    most: int
    scale: float
    tolerance: float


class MoveChain(NamedTuple):
    """State of a chain.

    Attributes
    ----------
    x, before, best : array [N]
        The current solution, the one before the kick, the best one.
    energies : float64[2]
        The energies of the first two.
    spare, scratch, numbers, weighed : array, tuple of array
        Scratch space, see `nsa_cli.user.kernels.annealing.Work`.
    """

    x: NDArray[Any]
    before: NDArray[Any]
    best: NDArray[Any]
    spare: NDArray[Any]
    energies: NDArray[np.float64]
    scratch: tuple[NDArray[Any], ...]
    numbers: NDArray[np.float64]
    weighed: NDArray[np.int64]


@inlined
def data_of(moves: MoveSet, chain: MoveChain) -> Any:
    """Give the data as a user's functions get them."""
    return moves.rules.row(moves.batch, moves.which, chain.scratch)


@uncached
def _weigh(moves: MoveSet, chain: MoveChain, kind: int, code: Any) -> float:
    """Compute what a move adds to the cost."""
    chain.numbers[NOW], chain.numbers[KNOWN] = chain.energies[CURRENT], moves.known
    return moves.rules.delta(kind, data_of(moves, chain), chain.x, code, chain)


@uncached
def _make(moves: MoveSet, chain: MoveChain, kind: int, code: Any, change: float) -> None:
    """Make a move that was just weighed."""
    whole = chain.weighed[0] == code and chain.weighed[1] == kind
    chain.weighed[0] = -1
    moves.rules.apply(kind, data_of(moves, chain), chain.x, code)
    chain.energies[CURRENT] = chain.numbers[THEN] if whole else chain.energies[CURRENT] + change


@uncached
def _begin(moves: MoveSet, chain: MoveChain) -> None:
    """Compute the first solution's cost, unless that is known."""
    if np.isnan(chain.energies[CURRENT]):
        chain.energies[CURRENT] = moves.rules.cost(data_of(moves, chain), chain.x)


@uncached
def _improve(moves: MoveSet, chain: MoveChain, bits: Any) -> None:
    """Make improving moves, each first choice of each type in turn with others at random.

    The search ends after some passes, or after one that found no improvement.
    """
    kinds = len(moves.firsts)
    for turn in range(_PASSES):
        improved = False
        for kind in range(kinds):
            count = moves.counts[moves.firsts[kind]]
            begin = np.int64(uniform(bits, kind) * count)
            for k in range(count):
                first = begin + k
                first -= count if first >= count else 0
                at = mix(bits + np.uint64((turn * kinds + kind) * count + k + 1))
                data = data_of(moves, chain)
                code = moves.rules.propose(kind, data, chain.x, moves.counts, first, at)
                if code < 0:
                    continue
                change = _weigh(moves, chain, kind, code)
                if change < -moves.tolerance:
                    _make(moves, chain, kind, code, change)
                    improved = True
        if not improved:
            break


@variant(steps.descend, data=MoveSet)
def _descend(data: MoveSet, state: MoveChain, limit: int) -> bool:
    _begin(data, state)
    _improve(data, state, np.uint64(0))
    return True


@variant(steps.kick, data=MoveSet)
def _kick(data: MoveSet, state: MoveChain, draws: np.uint64) -> bool:
    for k in range(len(state.x)):
        state.before[k] = state.x[k]
    state.energies[BEFORE] = state.energies[CURRENT]
    wanted = FEWEST + np.int64(uniform(draws, 1) * (data.most - FEWEST + 1))
    made = 0
    for k in range(wanted):
        at = mix(draws + np.uint64(k + 1))
        kind = kind_of_move(len(data.firsts), at)
        code = data.rules.propose(kind, data_of(data, state), state.x, data.counts, np.int64(-1), at)
        if code >= 0:
            _make(data, state, kind, code, _weigh(data, state, kind, code))
            made += 1
    return made > 0


@variant(steps.local_search, data=MoveSet)
def _local_search(data: MoveSet, state: MoveChain, draws: np.uint64) -> float:
    _improve(data, state, mix(draws))
    return np.float64(state.energies[CURRENT] - state.energies[BEFORE])


@variant(steps.accept, data=MoveSet)
def _accept(data: MoveSet, state: MoveChain) -> None:
    pass


@variant(steps.reject, data=MoveSet)
def _reject(data: MoveSet, state: MoveChain) -> None:
    for k in range(len(state.x)):
        state.x[k] = state.before[k]
    state.energies[CURRENT] = state.energies[BEFORE]


@variant(steps.energy, data=MoveSet)
def _energy(data: MoveSet, state: MoveChain) -> float:
    _begin(data, state)
    return np.float64(state.energies[CURRENT])


@variant(steps.save_best, data=MoveSet)
def _save_best(data: MoveSet, state: MoveChain) -> None:
    for k in range(len(state.x)):
        state.best[k] = state.x[k]
