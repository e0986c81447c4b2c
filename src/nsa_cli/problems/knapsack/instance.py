"""A 0-1 knapsack instance: items with values and weights, one capacity."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import ExactWeights, exact_sum, exact_weights
from nsa_cli.core.instance import (
    Copies,
    IdSet,
    Instance,
    Number,
    Solution,
    list_of,
    number_array,
    number_of,
    text_of,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class KnapsackInstance(Instance):
    """Items of which a subset must respect the capacity; filling it exactly is allowed.

    A solution is bool[N]: which items are taken.

    Attributes
    ----------
    values : int64[N] or float64[N]
        Not negative.
    weights : int64[N] or float64[N]
        Not negative.
    capacity : int or float
        Not negative.
    names : tuple of int or str, or None
        The file's own names of the items.
    """

    values: NDArray[Any]
    weights: NDArray[Any]
    capacity: Number
    names: tuple[int | str, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.values) != len(self.weights):
            raise DataError(
                f"weights: expected {len(self.values)} as there are values, got {len(self.weights)}",
                "weights",
            )
        if self.size == 0:
            raise DataError("expected at least one item, got none", "values")
        _ = self.items

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> KnapsackInstance:
        """Build from the JSON form; see the contract.

        Raises
        ------
        DataError
            If a list is missing, the lists differ in length, or a number is negative or not finite.
        """
        for key in ("values", "weights"):
            if data.get(key) is None:
                raise DataError(f"{key} are missing; expected a list of numbers")
        capacity = number_of(data, "capacity", minimum=0)
        if capacity is None:
            raise DataError("capacity is missing; give it in the file or with --capacity")
        names = list_of(data, "names")
        values = number_array(list_of(data, "values"), "values", minimum=0)
        weights = number_array(list_of(data, "weights"), "weights", minimum=0)
        copies = Copies(data, len(values))
        if copies.counts is not None and len(weights) == len(values):
            values, weights = copies.repeat(values), copies.repeat(weights)
        try:
            return cls(
                name=text_of(data, "name"),
                best_known=number_of(data, "best_known"),
                values=values,
                weights=weights,
                capacity=capacity,
                names=copies.repeat_list(names),
            )
        except DataError as error:
            raise DataError(error.message, error.field, copies.row(error.index), **error.hints) from None

    def record(self) -> dict[str, Any]:
        data: dict[str, Any] = {"problem": "knapsack", **self.head(), "capacity": self.capacity}
        data |= {"values": self.values.tolist(), "weights": self.weights.tolist()}
        return data if self.names is None else data | {"names": list(self.names)}

    @property
    def size(self) -> int:
        return len(self.values)

    @functools.cached_property
    def items(self) -> IdSet:
        """The items' ids."""
        return IdSet(self.names, self.size, "names", "item", repeats=True)

    @functools.cached_property
    def exact(self) -> ExactWeights:
        """Weights and capacity as integers."""
        return exact_weights(self.weights, self.capacity)

    def objective(self, solution: Solution) -> Number:
        return exact_sum(self.values[solution])

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.size,):
            return f"the selection is over {len(solution)} items, expected {self.size}"
        if not self.exact.fits(np.flatnonzero(solution).tolist()):
            return f"weight {exact_sum(self.weights[solution])} exceeds the capacity {self.capacity}"
        return None

    def to_ids(self, solution: Solution) -> list[Any]:
        return [self.items.ids[i] for i in np.flatnonzero(solution)]

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        chosen = np.zeros(self.size, dtype=bool)
        chosen[self.items.find(ids)] = True
        return chosen

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        taken = np.flatnonzero(solution)
        columns = (self.to_ids(solution), self.values[taken].tolist(), self.weights[taken].tolist())
        return ["item", "value", "weight"], [list(row) for row in zip(*columns, strict=True)]

    def details(self, solution: Solution) -> dict[str, Any]:
        return {"weight": exact_sum(self.weights[solution]), "capacity": self.capacity}
