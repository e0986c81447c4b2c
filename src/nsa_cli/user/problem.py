"""Base class of a problem written by a user.

`examples/maxcut.py` is a complete one. Six methods are required; everything else, from files to exact
evaluation, follows from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from nsa_cli.core.instance import Number, Solution
    from nsa_cli.core.operations import Action
    from nsa_cli.core.problem import Draws

#: Static methods for one chain that a compiled loop needs, and may have; the order of the kernel's `Rules`.
REQUIRED_SCALARS = ("scalar_cost", "scalar_delta", "scalar_apply", "scalar_allowed")
SCALARS = (*REQUIRED_SCALARS, "scalar_features", "scalar_reverse")


class UserProblem(ABC):
    """Base class of a problem in a file, which is named as ``FILE.py:CLASS``.

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
        Choices of a move, each with the number of features of a candidate: ``{"vertex": 3}``.
    scalar_cost, scalar_delta, scalar_apply, scalar_allowed : static methods, optional
        The methods of these names for one chain: Numba compiles them, and chains on a CPU run in one
        compiled loop. They are loops over numbers and make no arrays; solutions have one axis and each
        element is a candidate. `data` has one instance's arrays (and plain numbers) as attributes, and
        `scale`; `x` is the solution; `action` and `chosen` are two int64, -1 where nothing is chosen (yet).
        ``scalar_cost(data, x) -> float``, ``scalar_delta(data, x, action) -> float``,
        ``scalar_apply(data, x, action)``, which changes `x`, and
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
        """Energies to minimise, float64[B]."""

    @abstractmethod
    def allowed(self, data: Any, x: Tensor, chosen: Action) -> Tensor:
        """Candidates of choice ``len(chosen)`` that lead to feasible moves, bool[B, N]."""

    @abstractmethod
    def features(self, data: Any, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        """Features of each candidate, float32[B, N, F]; `temperature` is float64[B, 1]."""

    @abstractmethod
    def apply(self, data: Any, x: Tensor, action: Action) -> Tensor:
        """Make the moved solutions, `action` holding one int64[B] a choice; leave `x` alone."""

    def delta(self, data: Any, x: Tensor, action: Action) -> Tensor:
        """Cost of the moved solutions less that of `x`; worth overriding where it can be had cheaper."""
        return self.cost(data, self.apply(data, x, action)) - self.cost(data, x)

    def reverse(self, data: Any, x: Tensor, action: Action) -> Action:
        """Give the action that undoes one; by default itself, as for flips and swaps."""
        return action

    def has_scalars(self) -> bool:
        """Whether there are any scalar functions."""
        return any(getattr(self, name) is not None for name in SCALARS)

    def size(self, data: Any) -> int:
        """N of an instance; by default the length of its first array."""
        return len(next(a for a in vars(data).values() if np.ndim(a)))

    def bound(self, data: Any) -> Number | None:
        """Bound of the objective, from below (with ``max``: from above), if one is known."""
        return None

    def check(self, data: Any, x: Solution) -> str | None:
        """Reason why a solution is infeasible; by default all of the start's shape are feasible."""
        return None
