"""Large steps of a user's problem: a kick of random moves, then first-improvement descent by its moves.

The hooks of `nsa_cli.core.kernel.steps` from the scalar functions of `nsa_cli.user.problem`; as in
`nsa_cli.user.kernel`, nothing is kept on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel import steps
from nsa_cli.core.kernel.draws import mix, uniform
from nsa_cli.core.kernel.jit import anew, variant
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernel import data_of, fused_of
from nsa_cli.user.problem import UserProblem

#: Elements at least.
_LEAST = 4

#: Moves of a kick: at least, and at most as a share of the elements.
_FEWEST, _SHARE = 2, 0.2

#: Passes over the first choices in a descent at most, and tries for an allowed candidate.
_PASSES, _TRIES = 8, 8

#: Rises up to this, in typical changes of a move, are rounding errors.
_ROUNDING = 1e-12

#: Indices of `MoveChain.energies`.
NOW, BEFORE = range(2)


class MoveSet(NamedTuple):
    """An instance with its rules.

    Attributes
    ----------
    data : NamedTuple
        What a user's functions get.
    rules : nsa_cli.user.kernel.Rules
    choices : int
        That make a move.
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


_propose = anew(_propose, forceinline=True)


def _descend(moves: Any, chain: Any, bits: Any) -> None:
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


_descend = anew(_descend)


@variant(steps.settle, data=MoveSet)
def _settle(data: Any, state: Any, limit: int) -> bool:
    _descend(data, state, np.uint64(0))
    return True


@variant(steps.kick, data=MoveSet)
def _kick(data: Any, state: Any, draws: np.uint64) -> bool:
    x = state.x
    for k in range(len(x)):
        state.before[k] = x[k]
    state.energies[BEFORE] = state.energies[NOW]
    wanted = _FEWEST + np.int64(uniform(draws, 1) * (data.most - _FEWEST + 1))
    made = 0
    for k in range(wanted):
        move = _propose(data, x, np.int64(-1), mix(draws + np.uint64(k + 1)))
        if move[0] >= 0:
            state.energies[NOW] += np.float64(data.rules.delta(data.data, x, move))
            data.rules.apply(data.data, x, move)
            made += 1
    return made > 0


@variant(steps.repair, data=MoveSet)
def _repair(data: Any, state: Any, draws: np.uint64) -> float:
    _descend(data, state, mix(draws))
    return state.energies[NOW] - state.energies[BEFORE]


@variant(steps.keep, data=MoveSet)
def _keep(data: Any, state: Any) -> None:
    pass


@variant(steps.undo, data=MoveSet)
def _undo(data: Any, state: Any) -> None:
    for k in range(len(state.x)):
        state.x[k] = state.before[k]
    state.energies[NOW] = state.energies[BEFORE]


@variant(steps.energy, data=MoveSet)
def _energy(data: Any, state: Any) -> float:
    return state.energies[NOW]


@variant(steps.note, data=MoveSet)
def _note(data: Any, state: Any) -> None:
    for k in range(len(state.x)):
        state.best[k] = state.x[k]


class UserLargeStep:
    """Large-step chains of a user's problem; see `nsa_cli.core.problem.LargeStep`.

    Parameters
    ----------
    owner : UserProblem
        With scalar functions.
    """

    def __init__(self, owner: UserProblem) -> None:
        self._fused = fused_of(owner)

    def fits(self, instance: UserInstance) -> bool:
        """Whether there are enough elements to kick."""
        return instance.size >= _LEAST

    def budget(self, instance: UserInstance) -> Budget:
        """Temperatures are in units of the mean change of a random move."""
        return Budget(max(min(50 * instance.size, 5_000), 1_000), 0.3, 0.03, chains=8)

    def runs(self, instances: Sequence[UserInstance], x: NDArray[Any]) -> list[LargeStepRun]:
        """Put chains at their first solutions."""
        batch = self._fused.arrays(instances, None)
        return [_run(batch, row, np.ascontiguousarray(first)) for row, first in enumerate(x)]


def _run(batch: Any, row: int, first: NDArray[Any]) -> LargeStepRun:
    data, scale = data_of(batch, row), float(batch.scale[row])
    most = max(int(_SHARE * len(first)), _FEWEST + 1)
    moves = MoveSet(data, batch.rules, batch.slots, most, scale, _ROUNDING * scale)
    energy = float(batch.rules.cost(data, first))
    chain = MoveChain(first.copy(), first.copy(), first.copy(), np.array([energy, energy]))
    return LargeStepRun(moves, chain, chain.x.copy, chain.best.copy, kept=False)
