"""Instances of bin packing: items with weights, and bins of one capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.exact import exact_sum
from nsa_cli.core.instance import Number, Solution, check_number, number_row
from nsa_cli.problems.items import ItemInstance


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BinInstance(ItemInstance):
    """Items that must all be packed into as few bins as possible, none heavier than the capacity.

    A solution is int64[N]: the bin of each item, 0 <= bin < N.
    """

    problem = "bin"
    lists = ("weights",)
    default_capacity = 1

    capacity: Number = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self.capacity, "capacity", minimum=0)
        # Python compares integers with decimals exactly, NumPy rounds them first.
        for i, weight in enumerate(self.weights.tolist()):
            if weight > self.capacity:
                item = shown(self.items.ids[i])
                message = f"item {item} does not fit any bin: weight {weight} > capacity {self.capacity}"
                raise DataError(message, "weights", i, use={"capacity": None})

    def objective(self, solution: Solution) -> Number:
        return int(np.count_nonzero(np.bincount(solution)))

    def violation(self, solution: Solution) -> str | None:
        if solution.shape != (self.size,):
            return f"expected a packing of {self.size} items, got {len(solution)}"
        loads = np.zeros(int(solution.max()) + 1, dtype=np.int64)
        np.add.at(loads, solution, self.exact.units)
        if (loads <= self.exact.capacity).all():
            return None  # in exact units, or rounded from the safe side
        for number, members in enumerate(self.bins(solution), start=1):
            if not self.exact.fits(members):
                items = ", ".join(str(self.items.ids[i]) for i in members)
                load = exact_sum(self.weights[members])
                return f"bin {number} ({shown(items)}) holds {load}, more than the capacity {self.capacity}"
        return None

    def to_ids(self, solution: Solution) -> list[Any]:
        order, ends = self._in_bins(solution)
        ids = self.items.named(order)
        return [ids[begin:end] for begin, end in pairwise(ends)]

    def from_ids(self, ids: Sequence[Any]) -> Solution:
        for i, members in enumerate(ids, start=1):
            if not isinstance(members, list | tuple):
                raise DataError(f"bin {i}: expected a list of items, got {shown(members)}")
        order = self.items.find_all([item for members in ids for item in members], "is in no bin")
        packing = np.empty(self.size, dtype=np.int64)
        packing[order] = np.repeat(np.arange(len(ids)), [len(members) for members in ids])
        return np.unique(packing, return_inverse=True)[1].astype(np.int64)  # empty bins close up

    def to_array(self, solution: Solution) -> NDArray[np.int64]:
        """Give the bin of each item, bins counted from 0 in the order of their first items."""
        _, first, bins = np.unique(solution, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[bins])

    def from_array(self, values: ArrayLike) -> Solution:
        """Read the bin of each item; bins may have any numbers."""
        row = number_row(values, "solution")
        if row.shape != (self.size,) or row.dtype.kind not in "iu":
            raise DataError(f"solution: expected the bin of each of {self.size} items, got {shown(values)}")
        return self.checked(np.unique(row, return_inverse=True)[1].astype(np.int64))

    def table(self, solution: Solution) -> tuple[list[str], list[list[Any]]]:
        rows = [
            [number, self.items.ids[i], self.weights[i].item()]
            for number, members in enumerate(self.bins(solution), start=1)
            for i in members
        ]
        return ["bin", "item", "weight"], rows

    def bins(self, solution: Solution) -> list[list[int]]:
        """Members of each bin that is in use, bins in the order of their first items."""
        order, ends = self._in_bins(solution)
        items = order.tolist()
        return [items[begin:end] for begin, end in pairwise(ends)]

    def _in_bins(self, solution: Solution) -> tuple[NDArray[np.int64], list[int]]:
        """Items int64[N], bin by bin; and where each bin begins among them, and the last one ends."""
        bins = self.to_array(solution)
        return np.argsort(bins, kind="stable"), [0, *np.cumsum(np.bincount(bins)).tolist()]
