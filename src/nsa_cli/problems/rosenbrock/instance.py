"""Instances of Rosenbrock's function: two parameters, any number of dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

#: Dimensions beyond which an answer is a typing error.
_LARGEST = 1_000_000


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
        if self.x0 is not None and len(self.x0) != self.dim:
            raise DataError(f"x0: expected {self.dim} numbers, got {len(self.x0)}", "x0")
        if self.x0 is not None and self.violation(self.x0):
            raise DataError(f"x0: {self.violation(self.x0)}", "x0")

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
        point = number_array(list(ids), "solution").astype(np.float64)
        if (why := self.violation(point)) is not None:
            raise DataError(why)
        return point

    def from_array(self, values: ArrayLike) -> Solution:
        return self.checked(number_row(values, "solution").astype(np.float64))

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        return ["coordinate", "value"], [[i, x] for i, x in enumerate(solution.tolist(), start=1)]

    def details(self, _solution: Solution) -> dict[str, Any]:
        return {"a": self.a, "b": self.b}
