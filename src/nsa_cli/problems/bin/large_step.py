"""Large-step chains of bin packing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.clock import Clock
from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.problems.bin.dual_functions import bound
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels.large_step import MOST, Bins, Packing, bins_of

#: The fewest items: fewer are in one bin, or in one each.
_LEAST = 3

#: Up to this many items, four chains beat one of four times their length.
_FOUR_UP_TO = 200

#: A step may unpack so many items in any case.
_ITEMS = 40

#: It may unpack as many as so many bins have, where that is more.
_ROOM_FOR = 3

#: It never unpacks more than so many.
_TOO_MANY = 200


class BinLargeStep:
    """Large-step chains of bin packing; see `nsa_cli.core.problem.LargeStep`."""

    def fits(self, instance: BinInstance) -> bool:
        """Tell whether there are enough items for a choice between bins."""
        return instance.size >= _LEAST

    def budget(self, instance: BinInstance) -> Budget:
        """Choose some seconds at most, and far less for few items.

        Temperatures are in squared loads, of which a full bin has 1. Measured on uniform items and on
        triplets that fill their bins exactly: few items want warm chains, many want cold ones.
        """
        steps = int(np.clip(2_000 * instance.size, 100_000, 2_000_000))
        chains = 4 if instance.size <= _FOUR_UP_TO else 2
        return Budget(steps, 0.3 / instance.size, 0.003 / instance.size, chains)

    def runs(
        self,
        instances: Sequence[BinInstance],
        x: NDArray[Any],
        kicks: float = math.inf,
        fast_setup: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first packings."""
        # A chain that reaches this bound, which takes no time, rests while others of its batch go on.
        least = {id(i): int(bound(i, Clock.of(0.0)).value) for i in instances}
        return [run_of(i, least[id(i)], packing) for i, packing in zip(instances, x, strict=True)]


def run_of(instance: BinInstance, least: int, first: NDArray[Any]) -> LargeStepRun:
    """Put a chain at a packing, which rests where it has as few bins as a bound says.

    Parameters
    ----------
    instance : BinInstance
    least : int
    first : int64[N]
        The bin of each item.
    """
    exact = instance.exact
    state = pack_at(exact.units, exact.capacity, first)

    def read() -> Solution:
        row = np.empty(instance.size, dtype=np.int64)
        bins_of(state, row)
        return row

    return LargeStepRun(Bins(exact.units, exact.capacity, least), state, read, read)


def pack_at(units: NDArray[np.int64], capacity: int, bin_of: NDArray[np.int64]) -> Packing:
    """Put a chain at a packing; there is more room for its steps where bins have many items.

    Parameters
    ----------
    units : int64[N]
    capacity : int
    bin_of : int64[N]
        The bin of each item; any numbers.
    """
    size = len(units)
    used, bins = np.unique(bin_of, return_inverse=True)
    order = np.argsort(bins, kind="stable")
    last = np.append(np.diff(bins[order]) != 0, True)
    first, after, load, count, loose = np.zeros((5, size), dtype=np.int64)
    place = np.full(size, -1, dtype=np.int64)
    after[order] = np.where(last, -1, np.roll(order, -1))
    first[: len(used)] = order[np.roll(last, 1)]
    np.add.at(load, bins, units)
    count[: len(used)] = np.bincount(bins)
    open_ = np.flatnonzero(load[: len(used)] < capacity)
    loose[: len(open_)] = open_
    place[open_] = np.arange(len(open_))
    counts = np.array([len(used), len(open_), 0, 0, 0], dtype=np.int64)
    items = int(np.clip(_ROOM_FOR * size // len(used), _ITEMS, _TOO_MANY))
    of_bins, of_items = np.zeros((3, MOST), dtype=np.int64), np.zeros((6, items + 1), dtype=np.int64)
    lists = first, after, load, count, loose, place, counts
    return Packing._make((*lists, *of_bins, *of_items, np.zeros(items + 1)))


large_step = BinLargeStep()
