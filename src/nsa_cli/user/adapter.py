"""Adapter of a user's problem to the contract of built-in problems."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, UsageError, shown
from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget, Interpreted, Neighbourhood, Trained
from nsa_cli.core.problem import Problem
from nsa_cli.user.calls import Data, MistakeError
from nsa_cli.user.effort import nanoseconds
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels.rules import CHOICE_BITS
from nsa_cli.user.model import Model

if TYPE_CHECKING:
    from nsa_cli.kernels.hooks import Fused
    from nsa_cli.user.operations import UserOperations

#: Nanoseconds of all steps of a default run, and its chains.
_NANOSECONDS, _CHAINS = 2e9, 16


class UserNeighbourhood(Neighbourhood[UserInstance]):
    """Moves and cost of a user's problem.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def operations(self) -> UserOperations:
        from nsa_cli.user.operations import UserOperations

        return UserOperations(self.model)

    def kernel(self) -> Fused:
        from nsa_cli.user.fused import fused_of

        return fused_of(self.model)

    def interpreted(self) -> Interpreted:
        from nsa_cli.user.scalar import PlainChains, budget_in_python

        return Interpreted(PlainChains, budget_in_python)

    def why_uncompiled(self) -> str | None:
        from nsa_cli.user.compile import uncompiled

        return uncompiled(self.model)

    def budget(self, instance: UserInstance, trained: Trained | None = None) -> Budget:
        """Temperatures in units of the mean change of a random move; the run itself finds better ones."""
        steps = int(float(f"{_NANOSECONDS / (_CHAINS * nanoseconds(instance)):.2g}"))
        if trained is not None:
            return Budget(max(steps // 20, 1_000), trained.t_start, trained.t_end, chains=8)
        return Budget(steps, 1.0, 0.01, chains=_CHAINS, auto=True)


class AdaptedProblem(Problem[UserInstance]):
    """A user's problem as a `Problem`.

    Parameters
    ----------
    model : Model
    """

    built_in = False

    def __init__(self, model: Model) -> None:
        self.model, cls = model, model.cls
        self.name, self.sense = model.name, cls.sense  # type: ignore[misc]
        self.summary = cls.summary or model.name  # type: ignore[misc]
        self.record_keys = tuple((key,) for key in model.keys)  # type: ignore[misc]
        self.starts = dict.fromkeys(("initial", "paper"), UserInstance.start)  # type: ignore[misc]
        self.neighbourhoods = (UserNeighbourhood(model),)  # type: ignore[misc]
        self.settings = (*model.keys, *Problem.settings)  # type: ignore[misc]

    def __reduce__(self) -> Any:
        if self.model.home is None:
            raise TypeError(f"{self.model.spec}: is no file that another process could read")
        return self.model.home

    def from_record(self, data: Mapping[str, Any]) -> UserInstance:
        for key in self.model.keys:
            if data.get(key) is None:
                raise DataError(f"{key} is missing; {self.name} needs it")
        arrays = {key: _array(data[key], key) for key in self.model.keys}
        named = Data(**arrays, scale=1.0)
        head = UserInstance.read_head(data)
        instance = UserInstance(**head, model=self.model, data=named, compiled=_compiled_cost)
        if (got := instance.counts.max()) > (most := 1 << CHOICE_BITS):
            raise DataError(f"expected at most {most} candidates of a choice, got {got}")
        if (why := instance.misfit()) is not None:
            raise DataError(why)
        kind = self.model.kind
        vars(named).update(zip(kind.added, kind.to_add(instance.size, named), strict=True))
        return instance

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> UserInstance:
        function = self.model.function("generate")
        if not self.model.keys:
            return self.from_record({"name": name})
        if function is None:
            raise UsageError(f"{self.model.spec}: has no generate(size, rng), which draws random instances")
        data = self.model.call(function, size, rng)
        if not isinstance(data, Mapping) or not set(self.model.keys) <= set(data):
            keys = ", ".join(self.model.keys)
            got = f"the keys {', '.join(map(str, data))}" if isinstance(data, Mapping) else data
            raise self.model.mistake(function, f"a dict with the keys {keys}", got)
        try:
            return self.from_record({"name": name, **data})
        except DataError as error:
            raise self.model.mistake(function, "data of the problem", f"an error: {error.message}") from None

    def group(self, instance: UserInstance) -> Hashable:
        shapes = (np.shape(getattr(instance.data, key)) for key in self.model.keys)
        return tuple(shapes), instance.size

    def bound(self, instance: UserInstance, clock: Clock | None = None) -> Bound | None:
        value = instance.bound()
        return None if value is None else Bound(value=value, method=f"{self.name}.bound")

    def try_out(self, instance: UserInstance, seconds: float) -> None:
        from nsa_cli.user.check import look_around

        look_around(instance, seconds, turns=1)

    def try_again(self, instance: UserInstance, solution: Solution, energy: float) -> None:
        from nsa_cli.user.check import check_sum

        if self.model.function("violation") is None:  # else chains rank by more than the cost
            check_sum(instance, solution, energy, instance.cost(solution), instance.cost(instance.typical))

    def broken(self, why: str, **hints: Any) -> Exception:
        return MistakeError(f"{self.name}: its functions do not go together: {why}", **hints)


def _compiled_cost(instance: UserInstance, solution: Solution) -> float | None:
    from nsa_cli.user.fused import compiled_costs, is_compiled

    return float(compiled_costs(instance, [solution])[0]) if is_compiled(instance) else None


def _array(value: Any, key: str) -> NDArray[Any]:
    """Make an array of nested lists of finite numbers, not to be written to."""
    try:
        array = np.array(value)
    except ValueError:
        raise DataError(f"{key}: expected lists of equal lengths", key) from None
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise DataError(f"{key}: expected finite numbers, got {shown(value)}", key)
    if array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63:
        raise DataError(f"{key}: expected whole numbers of at most 64 bits", key)
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    if array.ndim == 0:
        return array[()]  # a plain number
    array.setflags(write=False)
    return array
