"""Instances of a user's problem: named arrays."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.user.problem import UserProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class UserInstance(Instance):
    """Named arrays of a user's problem.

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

    @functools.cached_property
    def typical(self) -> Solution:
        """A start, for the shape and the type that solutions have."""
        return np.asarray(self.owner.initial(self.data, lambda n: np.full(n, 0.5)))

    def objective(self, solution: Solution) -> Number:
        import torch

        from nsa_cli.user.batch import batch_of

        cost = float(self.owner.cost(batch_of([self.data]), torch.from_numpy(solution)[None])[0].double())
        value = cost if self.owner.sense == "min" else -cost
        whole = all(a.dtype == np.int64 for a in vars(self.data).values()) and value == int(value)
        return int(value) if whole else value

    def violation(self, solution: Solution) -> str | None:
        if np.shape(solution) != self.typical.shape:
            return f"expected a solution of the shape {self.typical.shape}, got {np.shape(solution)}"
        return self.owner.check(self.data, solution)

    def record(self) -> dict[str, Any]:
        lists = {key: array.tolist() for key, array in vars(self.data).items()}
        return {"problem": self.owner.name, **self.head(), **lists}

    def to_ids(self, solution: Solution) -> list[Any]:
        return [int(x) if isinstance(x, bool) else x for x in solution.tolist()]

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        try:
            solution = np.array(ids).astype(self.typical.dtype)
        except (ValueError, TypeError):
            like = shown(self.to_ids(self.typical))
            raise DataError(f"expected a solution like {like}, got {shown(ids)}") from None
        if (why := self.violation(solution)) is not None:
            raise DataError(why)
        return solution

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        return ["element", "value"], [[i, x] for i, x in enumerate(self.to_ids(solution), start=1)]
