"""A bin packing instance: items with weights, and bins of one capacity."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.exact import ExactWeights, exact_sum, exact_weights
from nsa_cli.core.instance import (
    Copies,
    IdSet,
    Instance,
    Number,
    Solution,
    check_number,
    list_of,
    number_array,
    number_of,
    text_of,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class BinInstance(Instance):
    """Items that must all be packed into as few bins as possible; a bin may be filled exactly.

    A solution is int64[N]: the bin of each item, 0 <= bin < N.

    Attributes
    ----------
    weights : int64[N] or float64[N]
        Not negative, none above the capacity.
    capacity : int or float
    names : tuple of int or str, or None
        The file's own names of the items.
    """

    weights: NDArray[Any]
    capacity: Number = 1
    names: tuple[int | str, ...] | None = None

    def __post_init__(self) -> None:
        if self.size == 0:
            raise DataError("expected at least one item, got none", "weights")
        check_number(self.capacity, "capacity", minimum=0)
        # Python compares integers with decimals exactly, NumPy rounds them first.
        if (
            i := next((i for i, w in enumerate(self.weights.tolist()) if w > self.capacity), None)
        ) is not None:
            raise DataError(
                f"item {shown(self.items.ids[i])} does not fit any bin: weight {self.weights[i]} > capacity "
                f"{self.capacity}; give another capacity in the file or with --capacity",
                "weights",
                i,
            )
        _ = self.items

    @classmethod
    def from_record(cls, data: Mapping[str, Any]) -> BinInstance:
        """Build from the JSON form; ``sizes`` are ``weights``, ``copies`` say how often; see the contract.

        Raises
        ------
        DataError
            If the weights are missing, or a number is negative, not finite or above the capacity.
        """
        key = "weights" if data.get("weights") is not None else "sizes"
        if data.get(key) is None:
            raise DataError("weights are missing; expected a list of numbers")
        capacity = number_of(data, "capacity", minimum=0)
        names = list_of(data, "names")
        weights = number_array(list_of(data, key), key, minimum=0)
        copies = Copies(data, len(weights))
        try:
            return cls(
                name=text_of(data, "name"),
                best_known=number_of(data, "best_known"),
                weights=copies.repeat(weights),
                capacity=1 if capacity is None else capacity,
                names=copies.repeat_list(names),
            )
        except DataError as error:  # the data may call the field by its other name, and have fewer rows
            field = key if error.field == "weights" else error.field
            raise DataError(error.message, field, copies.row(error.index), **error.hints) from None

    def record(self) -> dict[str, Any]:
        data: dict[str, Any] = {"problem": "bin", **self.head(), "capacity": self.capacity}
        data["weights"] = self.weights.tolist()
        return data if self.names is None else data | {"names": list(self.names)}

    @property
    def size(self) -> int:
        return len(self.weights)

    @functools.cached_property
    def items(self) -> IdSet:
        """The items' ids."""
        return IdSet(self.names, self.size, "names", "item", repeats=True)

    @functools.cached_property
    def exact(self) -> ExactWeights:
        """Weights and capacity as integers."""
        return exact_weights(self.weights, self.capacity)

    def objective(self, solution: Solution) -> Number:
        return len(np.unique(solution))

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.size,):
            return f"the packing is of {len(solution)} items, expected {self.size}"
        for number, members in enumerate(self.bins(solution), start=1):
            if not self.exact.fits(members):
                items = ", ".join(str(self.items.ids[i]) for i in members)
                load = exact_sum(self.weights[members])
                return f"bin {number} ({shown(items)}) holds {load}, more than the capacity {self.capacity}"
        return None

    def to_ids(self, solution: Solution) -> list[Any]:
        return [[self.items.ids[i] for i in members] for members in self.bins(solution)]

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        for i, members in enumerate(ids, start=1):
            if not isinstance(members, list | tuple):
                raise DataError(f"bin {i}: expected a list of items, got {shown(members)}")
        order = self.items.find([item for members in ids for item in members])
        if len(order) < self.size:
            missing = min(set(range(self.size)) - set(order))
            raise DataError(f"item {shown(self.items.ids[missing])} is in no bin")
        packing = np.empty(self.size, dtype=np.int64)
        packing[order] = np.repeat(np.arange(len(ids)), [len(members) for members in ids])
        return np.unique(packing, return_inverse=True)[1].astype(np.int64)  # empty bins close up

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        rows = [
            [number, self.items.ids[i], self.weights[i].item()]
            for number, members in enumerate(self.bins(solution), start=1)
            for i in members
        ]
        return ["bin", "item", "weight"], rows

    def details(self, _solution: Solution) -> dict[str, Any]:
        return {"capacity": self.capacity}

    def bins(self, solution: Solution) -> list[list[int]]:
        """Members of each bin that is in use, bins in the order of their first items."""
        bins: dict[int, list[int]] = {}
        for item, b in enumerate(solution.tolist()):
            bins.setdefault(b, []).append(item)
        return list(bins.values())
