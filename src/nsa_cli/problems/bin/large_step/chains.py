"""Large-step chains of bin packing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import LargeStepRun
from nsa_cli.problems.bin.bound import bound
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.large_step.steps import Bins, Repacking, bins_of, pack_at, scratch_for

#: Items at least: fewer are in one bin, or in one each.
_LEAST = 3

#: Up to this many items, four chains beat one of four times their length.
_FOUR_UP_TO = 200


class BinLargeStep:
    """Large-step chains of bin packing; see `nsa_cli.core.problem.LargeStep`."""

    def fits(self, instance: BinInstance) -> bool:
        """Whether there are enough items for a choice between bins."""
        return instance.size >= _LEAST

    def budget(self, instance: BinInstance) -> Budget:
        """Some seconds at most, and far less for few items.

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
        hurried: bool = False,
    ) -> list[LargeStepRun]:
        """Put chains at their first packings."""
        # A chain that reaches this bound, which takes no time, rests while others of its batch go on.
        least = {id(i): int(bound(i, 0.0).value) for i in instances}
        return [_run(i, least[id(i)], packing) for i, packing in zip(instances, x, strict=True)]


def _run(instance: BinInstance, least: int, first: NDArray[Any]) -> LargeStepRun:
    exact = instance.exact
    packing = pack_at(exact.units, exact.capacity, first)

    def read() -> Solution:
        row = np.empty(instance.size, dtype=np.int64)
        bins_of(packing, row)
        return row

    return LargeStepRun(Bins(exact.capacity, least), Repacking(packing, scratch_for(packing)), read, read)
