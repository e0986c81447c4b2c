"""Rosenbrock's function (section 4.1 of the paper): two parameters, any number of dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError
from nsa_cli.core.instance import (
    LARGEST,
    Instance,
    Number,
    Solution,
    list_of,
    number_array,
    number_of,
    number_row,
)
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Draws, Problem

#: Dimensions beyond which an answer is a typing error.
_LARGEST = 1_000_000

#: Starts of training seldom are further out, along an axis.
_SPREAD = 4.0

#: Coordinates of all chains together, unless a number of chains is given: memory for them is a small matter.
_COORDINATES = 1_000_000


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RosenbrockInstance(Instance):
    """Minimise the sum over i of ``(a - x[i])^2 + b (x[i+1] - x[i]^2)^2`` (section 4.1 for two dimensions).

    A solution is the point, float64[dim].

    Attributes
    ----------
    a, b : float
        `b` is not negative, or there would be no minimum.
    dim : int
        At least 2.
    x0 : float64[dim], or None
        Where to start.
    """

    a: float = 1.0
    b: float = 100.0
    dim: int = 2
    x0: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.dim <= _LARGEST:
            raise DataError(f"dim: expected 2 to {_LARGEST}, got {self.dim}", "dim")
        if self.x0 is not None and (why := self.violation(self.x0)):
            raise DataError(f"x0: {why}", "x0")

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> RosenbrockInstance:
        """Build from the JSON form: ``a``, ``b``; optional ``dim``, ``x0``.

        Raises
        ------
        DataError
            If a number is missing, not finite or out of range.
        """
        x0 = list_of(data, "x0")
        point = None if x0 is None else number_array(x0, "x0").astype(np.float64)
        dim = number_of(data, "dim")
        if dim is None:
            dim = 2 if point is None else len(point)
        if not isinstance(dim, int):
            raise DataError(f"dim: expected an integer, got {dim}", "dim")
        a, b = number_of(data, "a", largest=LARGEST), number_of(data, "b", minimum=0, largest=LARGEST)
        return cls(
            **cls.read_head(data),
            a=1.0 if a is None else float(a),
            b=100.0 if b is None else float(b),
            dim=dim,
            x0=point,
        )

    def record(self) -> dict[str, Any]:
        numbers = {"a": self.a, "b": self.b, "dim": self.dim}
        data: dict[str, Any] = {"problem": "rosenbrock", **self.head(), **numbers}
        return data if self.x0 is None else data | {"x0": self.x0.tolist()}

    @property
    def size(self) -> int:
        return self.dim

    def objective(self, solution: Solution) -> Number:
        with np.errstate(over="ignore", invalid="ignore"):
            left, right = solution[:-1], solution[1:]
            terms = (self.a - left) ** 2 + self.b * (right - left**2) ** 2
        return math.fsum(terms.tolist()) if np.isfinite(terms).all() else math.inf

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.dim,):
            return f"expected a point of {self.dim} coordinates, got {len(solution)}"
        if not math.isfinite(self.objective(solution)):
            return "the function is not finite at this point"
        return None

    def to_ids(self, solution: Solution) -> list[Any]:
        return list(solution.tolist())

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        return self.checked(number_array(list(ids), "solution").astype(np.float64))

    def from_array(self, values: ArrayLike) -> Solution:
        return self.checked(number_row(values, "solution").astype(np.float64))

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        return ["coordinate", "value"], [[i, x] for i, x in enumerate(solution.tolist(), start=1)]

    def facts(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b}


def given_or_normal(instance: RosenbrockInstance, draws: Draws) -> Solution:
    """Start where the file says, else at a standard normal point."""
    return normal(instance, draws) if instance.x0 is None else instance.x0.copy()


def normal(instance: RosenbrockInstance, draws: Draws) -> Solution:
    """Start at a standard normal point."""
    from statistics import NormalDist

    quantile = NormalDist().inv_cdf
    return np.array([quantile(u) for u in draws(instance.dim).tolist()])


class GaussianStep(Neighbourhood[RosenbrockInstance]):
    """Gaussian steps in all coordinates (section 4.1)."""

    def default_policy(self, instance: RosenbrockInstance) -> str:
        """Learnt sigma on functions like those of training, elsewhere a constant one.

        Within 5,000 steps of 64 chains it gets five times as low (100 functions, median).
        """
        near = instance.x0 is None or bool(np.abs(instance.x0).max() <= _SPREAD)
        known = instance.dim == 2 and near and 0 <= instance.a <= 1 and 0 < instance.b <= 100
        return "rosenbrock-es-best" if known else "uniform"

    def budget(self, instance: RosenbrockInstance, trained: Trained | None = None) -> Budget:
        """A second of the reference engine, down to where a step of sigma seldom improves."""
        return Budget(5_000, 1.0, 1e-4, chains=min(max(_COORDINATES // instance.dim, 1), 64))


class Rosenbrock(Problem[RosenbrockInstance]):
    """Minimum of Rosenbrock's function, any a and b."""

    name = "rosenbrock"
    summary = "Rosenbrock's function: the lowest point of a curved valley"
    record_keys = (("a",), ("b",))
    words = {"dim": ("dimension", "dimensions", "n")}
    starts = {"given": given_or_normal, "random": normal, "paper": normal}
    answer_columns = ("coordinate", "value")
    neighbourhoods = (GaussianStep(),)
    settings = ("a", "b", "dim", "x0", *Problem.settings)

    def from_record(self, data: Mapping[str, Any]) -> RosenbrockInstance:
        return RosenbrockInstance.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> RosenbrockInstance:
        """``a`` uniform in (0, 1), ``b`` in (0, 100), a standard normal start; `size` dimensions."""
        a, b = rng.random(), 100 * rng.random()
        return RosenbrockInstance(name=name, a=a, b=b, dim=size, x0=rng.standard_normal(size))

    def samples(self, rng: np.random.Generator) -> Sequence[RosenbrockInstance]:
        """In the plane, for which the policies were trained."""
        return [self.generate(2, rng)]

    def bound(self, instance: RosenbrockInstance, clock: Clock | None = None) -> Bound:
        """A sum of squares with factors that are not negative is not negative, in any dimension."""
        return Bound(value=0.0, method="sum of squares", witness={})

    def recompute_bound(self, instance: RosenbrockInstance, witness: Mapping[str, Any]) -> Number:
        return 0.0


problem = Rosenbrock()
