"""Large steps of a user's problem: a kick of random moves, then first-improvement descent by its moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.user.fused import arrays_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels.large_steps import FEWEST, MoveChain, MoveSet
from nsa_cli.user.model import Model

#: The fewest elements.
_LEAST = 4

#: The most moves of a kick, as a share of the elements.
_SHARE = 0.2

#: Rises up to this are rounding errors, in units of a typical change of a move.
_ROUNDING = 1e-12


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
        most = max(int(_SHARE * x.shape[1]), FEWEST + 1)
        runs = []
        for which, scale, first in zip(batch.which, batch.scale.tolist(), x, strict=True):
            tolerance, counts = _ROUNDING * scale, batch.counts[which]
            known = float(self._model.function("violation") is None)
            moves = MoveSet(batch.data, which, counts, firsts, batch.rules, known, most, scale, tolerance)
            solution, before, best, spare = (np.array(first, order="C") for _ in range(4))
            scratch, numbers, weighed = self._model.work(batch.room), np.zeros(5), np.full(2, -1, np.int64)
            energies = np.full(2, np.nan)
            chain = MoveChain(solution, before, best, spare, energies, scratch, numbers, weighed)
            runs.append(LargeStepRun(moves, chain, chain.x.copy, chain.best.copy))
        return runs
