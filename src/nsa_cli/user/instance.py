"""Instances of a user's problem: named arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from types import SimpleNamespace
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.extras import need
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.core.problem import Draws
from nsa_cli.user.calls import call, mistake
from nsa_cli.user.problem import UserProblem


def start_of(owner: UserProblem, data: SimpleNamespace, draws: Draws) -> Solution:
    """Make a start by a user's method.

    Raises
    ------
    MistakeError
        If it is no array of numbers or truth values.
    """
    found = call(owner, "initial", data, draws)
    try:
        start = np.asarray(found)
    except ValueError:  # lists of unequal lengths
        start = np.empty((), dtype=object)
    if start.dtype.kind not in "biuf" or start.ndim == 0:
        raise mistake(owner, "initial", "an array of numbers or truth values", found)
    return start


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
        size = call(self.owner, "size", self.data)
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise mistake(self.owner, "size", "a number of elements from 1 on", size)
        return int(size)

    @functools.cached_property
    def typical(self) -> Solution:
        """A start, for the shape and the type that solutions have."""
        return start_of(self.owner, self.data, lambda n: np.full(n, 0.5))

    def objective(self, solution: Solution) -> Number:
        need("torch", f"{self.owner.name}, whose methods take tensors,")
        import torch

        from nsa_cli.user.batch import batch_of

        found = call(self.owner, "cost", batch_of([self.data]), torch.from_numpy(solution)[None])
        if not isinstance(found, torch.Tensor) or found.shape != (1,):
            raise mistake(self.owner, "cost", "a tensor of one number for one chain", found)
        cost = float(found[0].double())
        if not math.isfinite(cost):
            raise mistake(self.owner, "cost", "finite numbers", f"{cost}")
        value = cost if self.owner.sense == "min" else -cost
        whole = all(a.dtype == np.int64 for a in vars(self.data).values()) and value == int(value)
        return int(value) if whole else value

    def violation(self, solution: Solution) -> str | None:
        if np.shape(solution) != self.typical.shape:
            return f"expected a solution of the shape {self.typical.shape}, got {np.shape(solution)}"
        why = call(self.owner, "check", self.data, solution)
        if why is not None and not isinstance(why, str):
            raise mistake(self.owner, "check", "None, or a text that says why not", why)
        return why

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
