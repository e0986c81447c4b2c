"""Large-step chains of a user's problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.user.checks import checked
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernel import data_of, fused_of
from nsa_cli.user.large_step.steps import FEWEST, MoveChain, MoveSet
from nsa_cli.user.problem import UserProblem

#: Elements at least.
_LEAST = 4

#: Moves of a kick at most, as a share of the elements.
_SHARE = 0.2

#: Rises up to this, in typical changes of a move, are rounding errors.
_ROUNDING = 1e-12


class UserLargeStep:
    """Large-step chains of a user's problem; see `nsa_cli.core.problem.LargeStep`.

    Parameters
    ----------
    owner : UserProblem
        With scalar functions.
    """

    def __init__(self, owner: UserProblem) -> None:
        self._fused = checked(owner, fused_of(owner))

    def fits(self, instance: UserInstance) -> bool:
        """Whether there are enough elements to kick."""
        return instance.size >= _LEAST

    def budget(self, instance: UserInstance) -> Budget:
        """Temperatures are in units of the mean change of a random move."""
        return Budget(max(min(50 * instance.size, 5_000), 1_000), 0.3, 0.03, chains=8)

    def runs(
        self,
        instances: Sequence[UserInstance],
        x: NDArray[Any],
        kicks: float = math.inf,
        hurried: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first solutions."""
        batch = self._fused.arrays(instances, None)
        return [_run(batch, row, np.ascontiguousarray(first)) for row, first in enumerate(x)]


def _run(batch: Any, row: int, first: NDArray[Any]) -> LargeStepRun:
    data, scale = data_of(batch, row), float(batch.scale[row])
    most = max(int(_SHARE * len(first)), FEWEST + 1)
    moves = MoveSet(data, batch.rules, batch.slots, most, scale, _ROUNDING * scale)
    energy = float(batch.rules.cost(data, first))
    chain = MoveChain(first.copy(), first.copy(), first.copy(), np.array([energy, energy]))
    return LargeStepRun(moves, chain, chain.x.copy, chain.best.copy, kept=False)
