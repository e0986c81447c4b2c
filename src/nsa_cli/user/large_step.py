"""Large steps of a user's problem: a kick of random moves, then first-improvement descent by its moves.

With a function `recombine` they begin with a population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import Draws, LargeStepRun
from nsa_cli.user.fused import arrays_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels.annealing import UserArrays
from nsa_cli.user.kernels.large_steps import FEWEST, MoveChain, MoveSet
from nsa_cli.user.model import Model

#: The fewest elements.
_LEAST = 4

#: The most moves of a kick, as a share of the elements.
_SHARE = 0.2

#: Rises up to this are rounding errors, in units of a typical change of a move.
_ROUNDING = 1e-12

#: The construction of a solution takes as long as so many kicks.
_CONSTRUCTION_KICKS = 12.0

#: The crossover of two solutions takes as long as so many kicks.
_CROSSOVER_KICKS = 8.0


class UserLargeStep:
    """Large-step chains of a user's problem; see `nsa_cli.core.problem.LargeStep`.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def fits(self, instance: UserInstance) -> bool:
        """Tell whether there are enough elements to kick."""
        return instance.size >= _LEAST

    def budget(self, instance: UserInstance) -> Budget:
        """Choose a budget whose temperatures are in units of the mean change of a random move."""
        return Budget(max(min(50 * instance.size, 5_000), 1_000), 0.3, 0.03, chains=8)

    def runs(
        self,
        instances: Sequence[UserInstance],
        x: NDArray[Any],
        kicks: float = math.inf,
        fast_setup: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first solutions."""
        batch = arrays_of(self._model, instances, None)
        firsts = np.array([m.first for m in self._model.moves], dtype=np.int64)
        runs = [_run(batch, firsts, row, np.ascontiguousarray(first)) for row, first in enumerate(x)]
        if self._model.function("recombine") is None:
            return runs
        populations = {id(i): UserPopulation(i, batch.room) for i in instances}
        return [
            run._replace(recombination=populations[id(i)]) for run, i in zip(runs, instances, strict=True)
        ]


class UserPopulation:
    """A population of solutions; see `nsa_cli.core.problem.Recombination`.

    Parameters
    ----------
    instance : UserInstance
    room : int
        The number of floats that ``data.scratch`` holds.
    """

    construction_kicks = _CONSTRUCTION_KICKS
    crossover_kicks = _CROSSOVER_KICKS

    def __init__(self, instance: UserInstance, room: int) -> None:
        self.size, self._instance, self._room = instance.size, instance, room

    def worker(self) -> MoveChain:
        return _chain_at(self._instance.typical, self._room)

    def start(self, number: int, draws: Draws) -> NDArray[Any]:
        """Make a start as annealing does."""
        return self._instance.start(draws)


def _chain_at(first: NDArray[Any], room: int) -> MoveChain:
    x, before, best, spare = (first.copy() for _ in range(4))
    weighed = np.full(2, -1, np.int64)
    return MoveChain(x, before, best, np.full(2, np.nan), spare, np.zeros(room), np.zeros(4), weighed)


def _run(batch: UserArrays, firsts: NDArray[np.int64], row: int, first: NDArray[Any]) -> LargeStepRun:
    which, scale = batch.which[row], float(batch.scale[row])
    most = max(int(_SHARE * len(first)), FEWEST + 1)
    moves = MoveSet(
        batch.data, which, batch.counts[which], firsts, batch.rules, most, scale, _ROUNDING * scale
    )
    chain = _chain_at(first, batch.room)
    return LargeStepRun(moves, chain, chain.x.copy, chain.best.copy)
