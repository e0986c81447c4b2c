"""Adapter of a user's problem to the contract of built-in problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Draws, Problem
from nsa_cli.user.calls import MistakeError, call, mistake
from nsa_cli.user.instance import UserInstance, start_of
from nsa_cli.user.problem import REQUIRED_SCALARS, UserProblem

if TYPE_CHECKING:
    from nsa_cli.core.kernel.hooks import Fused
    from nsa_cli.user.large_step.chains import UserLargeStep
    from nsa_cli.user.operations import UserOperations


class UserNeighbourhood(Neighbourhood[UserInstance]):
    """Moves and cost of a user's problem.

    Parameters
    ----------
    owner : UserProblem
    """

    def __init__(self, owner: UserProblem) -> None:
        self.owner = owner

    def operations(self) -> UserOperations:
        from nsa_cli.user.operations import UserOperations

        return UserOperations(self.owner)

    def kernel(self) -> Fused | None:
        if not self.owner.has_scalars():
            return None
        from nsa_cli.user.checks import checked
        from nsa_cli.user.kernel import fused_of

        return checked(self.owner, fused_of(self.owner))

    def budget(self, instance: UserInstance, trained: Trained | None = None) -> Budget:
        """Temperatures in units of the mean change of a random move; a sample of moves gives better ones."""
        steps = max(min(500 * instance.size, 100_000), 10_000)
        if trained is not None:
            return Budget(steps // 10, trained.t_start, trained.t_end, chains=8)
        return Budget(steps, 1.0, 0.01, chains=16, auto=True)


class AdaptedProblem(Problem[UserInstance]):
    """A user's problem as a `Problem`.

    Parameters
    ----------
    owner : UserProblem
    """

    prefers_large_steps = built_in = False
    without_large_steps = (
        f"large steps need its {', '.join(REQUIRED_SCALARS[:-1])} and {REQUIRED_SCALARS[-1]}"
    )

    def __init__(self, owner: UserProblem) -> None:
        self.owner = owner
        self.name, self.summary, self.sense = owner.name, owner.summary or owner.name, owner.sense  # type: ignore[misc]
        self.record_keys = tuple((key,) for key in owner.keys)  # type: ignore[misc]
        self.starts = {"initial": self._initial, "paper": self._initial}  # type: ignore[misc]
        self.neighbourhoods = (UserNeighbourhood(owner),)  # type: ignore[misc]
        self.settings = (*owner.keys, *Problem.settings)  # type: ignore[misc]

    def _initial(self, instance: UserInstance, draws: Draws) -> Solution:
        return start_of(self.owner, instance.data, draws)

    def from_record(self, data: Mapping[str, Any]) -> UserInstance:
        for key in self.owner.keys:
            if data.get(key) is None:
                raise DataError(f"{key} is missing; {self.name} needs it")
        arrays = {key: _array(data[key], key) for key in self.owner.keys}
        return UserInstance(
            **UserInstance.read_head(data),
            owner=self.owner,
            data=SimpleNamespace(**arrays),
        )

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> UserInstance:
        data = call(self.owner, "generate", size, rng)
        if not isinstance(data, Mapping) or not set(self.owner.keys) <= set(data):
            keys = ", ".join(self.owner.keys)
            got = f"the keys {', '.join(map(str, data))}" if isinstance(data, Mapping) else data
            raise mistake(self.owner, "generate", f"a mapping with the keys {keys}", got)
        return self.from_record({"name": name, **data})

    def group(self, instance: UserInstance) -> Hashable:
        return tuple(array.shape for array in vars(instance.data).values())

    def bound(
        self,
        instance: UserInstance,
        *,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> Bound | None:
        value = call(self.owner, "bound", instance.data)
        if value is None:
            return None
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise mistake(self.owner, "bound", "a finite number or None", value)
        return Bound(value=number, method=f"{self.name}.bound")

    def broken(self, why: str, **hints: Any) -> Exception:
        return MistakeError(f"{self.name}: its methods do not go together: {why}", **hints)

    def large_step(self) -> UserLargeStep | None:
        """Kicks and descents by the problem's own moves, where it has scalar functions."""
        if not self.owner.has_scalars():
            return None
        from nsa_cli.user.large_step.chains import UserLargeStep

        return UserLargeStep(self.owner)


def _array(value: Any, key: str) -> NDArray[Any]:
    """Make an array of nested lists of finite numbers."""
    try:
        array = np.array(value)
    except ValueError:
        raise DataError(f"{key}: expected lists of equal lengths", key) from None
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise DataError(f"{key}: expected finite numbers, got {shown(value)}", key)
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
