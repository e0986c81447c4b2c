"""A problem of your own in one class: what to write, and how it becomes a `Problem`.

`examples/maxcut.py` is a whole one. Only six methods are required; everything else, from files to exact
evaluation, follows from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Instance, Number, Solution, number_of, text_of
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Draws, LargeStep, Problem

if TYPE_CHECKING:
    from torch import Tensor

    from nsa_cli.core.kernel.hooks import Fused
    from nsa_cli.core.operations import Action, Operations


#: Functions for one chain that a compiled loop needs, and may have, in the order of the kernel's `Rules`.
REQUIRED_SCALARS = ("scalar_cost", "scalar_delta", "scalar_apply", "scalar_allowed")
SCALARS = (*REQUIRED_SCALARS, "scalar_features", "scalar_reverse")


class UserProblem(ABC):
    """Base of a problem written in one file and solved by ``--problem FILE.py:CLASS``.

    Shapes: B chains, N candidates of a choice. `data` has the keys of an instance as attributes: NumPy
    arrays where one instance is meant, torch tensors ``[B, …]`` where a batch is (float64 or int64).

    Attributes
    ----------
    name, summary : str
    sense : {'min', 'max'}
        With ``max`` the reported objective is the cost with its sign turned.
    keys : tuple of str
        Keys of an instance's data in JSON: numbers, or lists of them nested to any depth.
    slots : dict
        The choices that make a move, with the number of features of a candidate:
        ``{"vertex": 3}``.
    scalar_cost, scalar_delta, scalar_apply, scalar_allowed : static methods, optional
        The first four of what follows, for one chain: Numba compiles them, and chains on a CPU run in one
        compiled loop. They say the same as the methods above them, in loops over numbers, and make no
        arrays; solutions have one axis and each element is a candidate. `data` has one instance's arrays
        (and plain numbers) as attributes, and `scale`; `x` is the solution; `action` and `chosen` are two
        int64, -1 where nothing is chosen (yet). ``scalar_cost(data, x) -> float``,
        ``scalar_delta(data, x, action) -> float``, ``scalar_apply(data, x, action)``, which changes `x`, and
        ``scalar_allowed(data, x, chosen, candidate) -> bool``.
    scalar_features : static method, optional
        ``scalar_features(data, x, chosen, candidate, temperature, out)`` writes the candidate's features to
        `out`, float32[F]. Learnt policies run in the reference engine without it.
    scalar_reverse : static method
        ``scalar_reverse(data, x, action) -> action``; needed where `reverse` is overridden.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    sense: ClassVar[Literal["min", "max"]] = "min"
    keys: ClassVar[tuple[str, ...]]
    slots: ClassVar[Mapping[str, int]]
    scalar_cost: ClassVar[Callable[..., Any] | None] = None
    scalar_delta: ClassVar[Callable[..., Any] | None] = None
    scalar_apply: ClassVar[Callable[..., Any] | None] = None
    scalar_allowed: ClassVar[Callable[..., Any] | None] = None
    scalar_features: ClassVar[Callable[..., Any] | None] = None
    scalar_reverse: ClassVar[Callable[..., Any] | None] = None

    @abstractmethod
    def generate(self, size: int, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw the data of a random instance."""

    @abstractmethod
    def initial(self, data: Any, draws: Draws) -> Solution:
        """Make a start; ``draws(n)`` gives n uniform numbers of this chain's own."""

    @abstractmethod
    def cost(self, data: Any, x: Tensor) -> Tensor:
        """What is minimised, float64[B]."""

    @abstractmethod
    def allowed(self, data: Any, x: Tensor, chosen: Action) -> Tensor:
        """Candidates of choice ``len(chosen)`` that lead to feasible moves, bool[B, N]."""

    @abstractmethod
    def features(self, data: Any, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        """What a policy sees of each candidate, float32[B, N, F]; `temperature` is float64[B, 1]."""

    @abstractmethod
    def apply(self, data: Any, x: Tensor, action: Action) -> Tensor:
        """Make the moved solutions, `action` holding one int64[B] a choice; leave `x` alone."""

    def delta(self, data: Any, x: Tensor, action: Action) -> Tensor:
        """Cost of the moved solutions less that of `x`; worth overriding where it can be had cheaper."""
        return self.cost(data, self.apply(data, x, action)) - self.cost(data, x)

    def reverse(self, data: Any, x: Tensor, action: Action) -> Action:
        """Give the action that undoes one; by default itself, as for flips and swaps."""
        return action

    def size(self, data: Any) -> int:
        """N of an instance; by default the length of its first array."""
        return len(next(a for a in vars(data).values() if np.ndim(a)))

    def bound(self, data: Any) -> Number | None:
        """Give a number that no objective beats (with ``max``: none exceeds), if one is known."""
        return None

    def check(self, data: Any, x: Solution) -> str | None:
        """Say what makes a solution infeasible; by default all of the start's shape are feasible."""
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class UserInstance(Instance):
    """An instance of a user's problem: named arrays.

    Attributes
    ----------
    owner : UserProblem
    data : SimpleNamespace
        int64 or float64 arrays under the owner's keys.
    """

    owner: UserProblem
    data: SimpleNamespace

    @property
    def size(self) -> int:
        return self.owner.size(self.data)

    def objective(self, solution: Solution) -> Number:
        from nsa_cli.core.user_operations import UserOperations

        cost = UserOperations(self.owner).exact_cost(self, solution)
        value = cost if self.owner.sense == "min" else -cost
        whole = all(a.dtype == np.int64 for a in vars(self.data).values()) and value == int(value)
        return int(value) if whole else value

    def violation(self, solution: Solution) -> str | None:
        shape = np.shape(self.owner.initial(self.data, lambda n: np.full(n, 0.5)))
        if np.shape(solution) != shape:
            return f"the solution has the shape {np.shape(solution)}, expected {shape}"
        return self.owner.check(self.data, solution)

    def record(self) -> dict[str, Any]:
        lists = {key: array.tolist() for key, array in vars(self.data).items()}
        return {"problem": self.owner.name, **self.head(), **lists}

    def to_ids(self, solution: Solution) -> list[Any]:
        return [int(x) if isinstance(x, bool) else x for x in solution.tolist()]

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        like = self.owner.initial(self.data, lambda n: np.full(n, 0.5))
        try:
            solution = np.array(ids).astype(like.dtype)
        except (ValueError, TypeError):
            raise DataError(
                f"expected a solution like {shown(self.to_ids(like))}, got {shown(ids)}"
            ) from None
        if (why := self.violation(solution)) is not None:
            raise DataError(why)
        return solution

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        return ["element", "value"], [[i, x] for i, x in enumerate(self.to_ids(solution), start=1)]


class UserNeighbourhood(Neighbourhood[UserInstance]):
    """The moves and the cost of a user's problem.

    Parameters
    ----------
    owner : UserProblem
    """

    def __init__(self, owner: UserProblem) -> None:
        self.owner = owner

    def operations(self) -> Operations[UserInstance, Any]:
        from nsa_cli.core.user_operations import UserOperations

        return UserOperations(self.owner)

    def kernel(self) -> Fused | None:
        if all(getattr(self.owner, name) is None for name in SCALARS):
            return None
        from nsa_cli.core.kernel.user import fused_of

        return fused_of(self.owner)

    def budget(self, instance: UserInstance, trained: Trained | None = None) -> Budget:
        """Temperatures are in units of the mean change of a random move, and from a sample of such moves."""
        steps = max(min(500 * instance.size, 100_000), 10_000)
        if trained is not None:
            return Budget(steps // 10, trained.t_start, trained.t_end, chains=8)
        return Budget(steps, 1.0, 0.01, chains=16, auto=True)


class AdaptedProblem(Problem[UserInstance]):
    """A user's problem under the full contract.

    Parameters
    ----------
    owner : UserProblem
    """

    prefers_large_steps = False
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
        return np.asarray(self.owner.initial(instance.data, draws))

    def from_record(self, data: Mapping[str, Any]) -> UserInstance:
        missing = [key for key in self.owner.keys if data.get(key) is None]
        if missing:
            raise DataError(f"{missing[0]} is missing, which {self.name} needs")
        arrays = {key: _array(data[key], key) for key in self.owner.keys}
        return UserInstance(
            name=text_of(data, "name"),
            best_known=number_of(data, "best_known"),
            owner=self.owner,
            data=SimpleNamespace(**arrays),
        )

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> UserInstance:
        return self.from_record({"name": name, **self.owner.generate(size, rng)})

    def group(self, instance: UserInstance) -> Hashable:
        return tuple(array.shape for array in vars(instance.data).values())

    def bound(
        self,
        instance: UserInstance,
        *,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> Bound | None:
        value = self.owner.bound(instance.data)
        if value is None:
            return None
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, int | float) or not math.isfinite(number):
            raise DataError(f"{self.name}: bound must give a finite number or None, got {shown(value)}")
        return Bound(value=number, method=f"{self.name}.bound")

    def large_step(self) -> LargeStep | None:
        """Kicks and descents by the problem's own moves, where its functions can be compiled."""
        if all(getattr(self.owner, name) is None for name in SCALARS):
            return None
        from nsa_cli.core.kernel.user_steps import UserLargeStep

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
