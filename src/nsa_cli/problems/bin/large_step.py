"""Repack walks as large-step chains: a step unpacks a few bins and packs their items again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.problem import Budget
from nsa_cli.problems.bin import bounds
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.repack import ACCEPTED, BINS, advance, bins_of, pack_at, scratch_for

#: Fewer items than this are in one bin, or in one each.
_LEAST = 3

#: Up to this many items, four chains beat one of four times their length.
_FOUR_UP_TO = 200


class BinLargeStep:
    """What `nsa_cli.backends` asks of a problem that has large-step chains."""

    def fits(self, instance: BinInstance) -> bool:
        """Tell whether there are enough items for bins to have a choice."""
        return instance.size >= _LEAST

    def budget(self, instance: BinInstance) -> Budget:
        """Some seconds at most, and far less for few items.

        Temperatures are in squared fills, of which a full bin has 1. Measured on uniform items and on
        triplets that fill their bins exactly: few items want warm chains, many want cold ones.
        """
        steps = int(np.clip(2_000 * instance.size, 100_000, 2_000_000))
        chains = 4 if instance.size <= _FOUR_UP_TO else 2
        return Budget(steps, 0.3 / instance.size, 0.003 / instance.size, chains)

    def start(
        self, instances: Sequence[BinInstance], x: NDArray[Any], keys: NDArray[np.int64], threads: int
    ) -> RepackChains:
        """Put chains at their first packings."""
        return RepackChains(instances, x, keys, threads)


class RepackChains:
    """Chains between two chunks; see `nsa_cli.anneal.loop.Chains`.

    The number of bins of a chain never rises, so that its packing is always one of its best.

    Parameters
    ----------
    instances : sequence of BinInstance
        One a chain.
    x : int64[B, N]
        First packings.
    keys : int64[B]
        Random streams.
    threads : int
    """

    #: Temperatures of a chunk are an array: it may have some, but not too many.
    most = 1 << 16

    def __init__(
        self, instances: Sequence[BinInstance], x: NDArray[Any], keys: NDArray[np.int64], threads: int
    ) -> None:
        self.step = 0
        self._keys = keys
        self._capacities = [instance.exact.capacity for instance in instances]
        # With so few bins, a bound that takes no time, a chain rests, though others of its batch go on.
        least = {id(i): int(bounds.bound(i, lambda: True).value) for i in instances}
        self._least = [least[id(i)] for i in instances]
        self._packings = [
            pack_at(instance.exact.units, instance.exact.capacity, packing)
            for instance, packing in zip(instances, x, strict=True)
        ]
        self._scratch = [scratch_for(packing) for packing in self._packings]
        self._threads = min(threads, len(keys))

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Take all chains through so many steps."""
        rows = range(len(self._keys))
        if self._threads == 1:
            for row in rows:
                self._walk(row, temperatures)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(lambda row: self._walk(row, temperatures), rows))
        self.step += len(temperatures)

    def _walk(self, row: int, temperatures: NDArray[np.float64]) -> None:
        advance(
            self._packings[row],
            self._scratch[row],
            self._capacities[row],
            self._least[row],
            self._keys[row],
            temperatures,
        )

    @property
    def x(self) -> NDArray[Any]:
        rows = np.empty((len(self._packings), len(self._packings[0].units)), dtype=np.int64)
        for row, packing in zip(rows, self._packings, strict=True):
            bins_of(packing, row)
        return rows

    best = x

    @property
    def energy(self) -> NDArray[np.float64]:
        return np.array([packing.counts[BINS] for packing in self._packings], dtype=np.float64)

    best_energy = energy

    @property
    def accepted(self) -> NDArray[np.int64]:
        return np.array([packing.counts[ACCEPTED] for packing in self._packings])
