"""Instances of the 0-1 knapsack: items with values and weights, and one capacity."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import Exact, ExactNumbers, exact_numbers, exact_sum, rounded
from nsa_cli.core.instance import Number, Solution, number_row, positions
from nsa_cli.problems.items import ItemInstance


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KnapsackInstance(ItemInstance):
    """Items of which a subset must respect the capacity, as valuable as possible.

    A solution is bool[N]: which items are taken.

    Attributes
    ----------
    values : int64[N] or float64[N]
        Not negative.
    """

    problem = "knapsack"
    lists = ("values", "weights")

    values: NDArray[Any]

    @functools.cached_property
    def exact_values(self) -> ExactNumbers:
        """Values as integers."""
        return exact_numbers(self.values)

    def objective(self, solution: Solution) -> Number:
        return rounded(self.exact_objective(solution))

    def exact_objective(self, solution: Solution) -> Exact:
        return self.exact_values.total(solution)

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.size,):
            return f"expected a selection over {self.size} items, got {len(solution)}"
        if not self.exact.fits(np.flatnonzero(solution).tolist()):
            return f"weight {exact_sum(self.weights[solution])} exceeds the capacity {self.capacity}"
        return None

    def to_ids(self, solution: Solution) -> list[Any]:
        return self.items.named(np.flatnonzero(solution))

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        chosen = np.zeros(self.size, dtype=bool)
        chosen[self.items.find(ids)] = True
        return chosen

    def to_array(self, solution: Solution) -> NDArray[np.int64]:
        """Positions of the chosen items."""
        return np.flatnonzero(solution)

    def from_array(self, values: ArrayLike) -> Solution:
        """Read the positions of the chosen items, or a truth value for each item."""
        row = number_row(values, "solution")
        if row.dtype == bool:
            return self.checked(row)
        chosen = np.zeros(self.size, dtype=bool)
        chosen[found := positions(row, "solution", self.size)] = True
        if chosen.sum() < len(found):
            raise DataError("solution: an item occurs twice", "solution")
        return self.checked(chosen)

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        taken = np.flatnonzero(solution)
        columns = (self.to_ids(solution), self.values[taken].tolist(), self.weights[taken].tolist())
        return ["item", "value", "weight"], [list(row) for row in zip(*columns, strict=True)]

    def details(self, solution: Solution) -> dict[str, Any]:
        return {"weight": exact_sum(self.weights[solution]), **super().details(solution)}
