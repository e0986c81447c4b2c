"""Large step of a user's problem: the kick makes random moves, the repair descends by improving moves.

The hooks of `nsa_cli.core.kernel.steps` from the scalar functions of `nsa_cli.user.problem`; as in
`nsa_cli.user.kernel`, nothing is kept on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel import steps
from nsa_cli.core.kernel.draws import mix, uniform
from nsa_cli.core.kernel.jit import uncached, variant

#: Moves of a kick at least.
FEWEST = 2

#: Passes over the first choices in a descent at most, and tries for an allowed candidate.
_PASSES, _TRIES = 8, 8

#: Indices of `MoveChain.energies`.
NOW, BEFORE = range(2)


class MoveSet(NamedTuple):
    """Instance as the chains on it read it, with its moves.

    Attributes
    ----------
    data : NamedTuple
        First argument of a user's functions.
    rules : nsa_cli.user.kernel.Rules
    choices : int
        Of a move.
    most : int
        Moves of a kick at most.
    scale, tolerance : float
        See `nsa_cli.core.kernel.steps`.
    """

    data: Any
    rules: Any
    choices: int
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
        Of the first two.
    """

    x: NDArray[Any]
    before: NDArray[Any]
    best: NDArray[Any]
    energies: NDArray[np.float64]


@partial(uncached, inline=True)
def _propose(moves: Any, x: Any, first: Any, bits: Any) -> Any:
    """Draw a move, with a first candidate unless that is negative; -1 where no candidate is allowed."""
    size = len(x)
    none = np.int64(-1)
    a = np.int64(first)
    if a >= 0:
        if not moves.rules.allowed(moves.data, x, (none, none), a):
            return (none, none)
    else:
        for attempt in range(_TRIES):
            c = np.int64(uniform(bits, attempt) * size)
            if moves.rules.allowed(moves.data, x, (none, none), c):
                a = c
                break
        if a < 0:
            return (none, none)
    if moves.choices == 1:
        return (a, none)
    for attempt in range(_TRIES):
        c = np.int64(uniform(bits, _TRIES + attempt) * size)
        if moves.rules.allowed(moves.data, x, (a, none), c):
            return (a, c)
    return (none, none)


@uncached
def _descend(moves: MoveSet, chain: MoveChain, bits: Any) -> None:
    """Descend by improving moves, each first choice in turn, to a local optimum."""
    x, energies = chain.x, chain.energies
    size = len(x)
    begin = np.int64(uniform(bits, 0) * size)
    for turn in range(_PASSES):
        idle = True
        for k in range(size):
            a = begin + k
            a -= size if a >= size else 0
            move = _propose(moves, x, a, mix(bits + np.uint64(turn * size + k + 1)))
            if move[0] < 0:
                continue
            change = np.float64(moves.rules.delta(moves.data, x, move))
            if change < -moves.tolerance:
                moves.rules.apply(moves.data, x, move)
                energies[NOW] += change
                idle = False
        if idle:
            break


@variant(steps.settle, data=MoveSet)
def _settle(data: MoveSet, state: MoveChain, limit: int) -> bool:
    _descend(data, state, np.uint64(0))
    return True


@variant(steps.kick, data=MoveSet)
def _kick(data: MoveSet, state: MoveChain, draws: np.uint64) -> bool:
    x = state.x
    for k in range(len(x)):
        state.before[k] = x[k]
    state.energies[BEFORE] = state.energies[NOW]
    wanted = FEWEST + np.int64(uniform(draws, 1) * (data.most - FEWEST + 1))
    made = 0
    for k in range(wanted):
        move = _propose(data, x, np.int64(-1), mix(draws + np.uint64(k + 1)))
        if move[0] >= 0:
            state.energies[NOW] += np.float64(data.rules.delta(data.data, x, move))
            data.rules.apply(data.data, x, move)
            made += 1
    return made > 0


@variant(steps.repair, data=MoveSet)
def _repair(data: MoveSet, state: MoveChain, draws: np.uint64) -> float:
    _descend(data, state, mix(draws))
    return np.float64(state.energies[NOW] - state.energies[BEFORE])


@variant(steps.keep, data=MoveSet)
def _keep(data: MoveSet, state: MoveChain) -> None:
    pass


@variant(steps.undo, data=MoveSet)
def _undo(data: MoveSet, state: MoveChain) -> None:
    for k in range(len(state.x)):
        state.x[k] = state.before[k]
    state.energies[NOW] = state.energies[BEFORE]


@variant(steps.energy, data=MoveSet)
def _energy(data: MoveSet, state: MoveChain) -> float:
    return np.float64(state.energies[NOW])


@variant(steps.note, data=MoveSet)
def _note(data: MoveSet, state: MoveChain) -> None:
    for k in range(len(state.x)):
        state.best[k] = state.x[k]
