"""Chains that fused kernels advance, in as many threads as there are cores.

They mean what the reference engine means: the same moves from the same random numbers. Networks are summed in
another order and in float32 throughout, so two chains part where a draw falls within rounding of the border
between two candidates, and differ no more than two chains with other seeds from there on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.schedule import TemperatureHold
from nsa_cli.kernels.annealing import ChainArrays, Proposals, advance, begin_chains
from nsa_cli.kernels.hooks import Fused, Uniform

#: A thread takes this share of the rows that are left, divided by the threads, but at least all rows by the
#: second number. Long ranges first, for each costs a call; short ones last, that all threads end at once.
_SHARE, _SMALLEST = 1 / 2, 32

#: Steps of a chunk: temperatures and loop counters take no memory worth a bound.
_MOST = 1 << 40


class FusedChains:
    """Chains of a kernel between two chunks; see `nsa_cli.anneal.chains.Chains`.

    Parameters
    ----------
    fused : Fused
        The problem's kernel.
    batch : NamedTuple of arrays
        As ``fused.arrays`` makes it.
    policy : NamedTuple
        See `nsa_cli.policy.fused`.
    x : [B, …]
        First solutions.
    keys : int64[B]
        Random streams.
    members : int
        Policies that share the batch, each an equal part of its rows.
    threads : int
    temperature_steps : int
        Steps for which the policy sees one temperature, see `nsa_cli.anneal.schedule`.
    """

    phase = doing = ""

    def __init__(
        self,
        fused: Fused,
        batch: Any,
        policy: Any,
        x: NDArray[Any],
        keys: NDArray[np.int64],
        *,
        members: int = 1,
        threads: int = 1,
        temperature_steps: int = 1,
    ) -> None:
        rows = len(keys)
        self.step, self.most = 0, _MOST
        self._hold = TemperatureHold(temperature_steps)
        first = np.array(x, order="C")
        energies, surplus = (np.zeros(rows), np.zeros(rows)), getattr(batch, "surplus", np.zeros((rows, 2)))
        self.state = ChainArrays(first, first.copy(), *energies, np.zeros(rows, np.int64), keys, surplus)
        self.x, self.best, self.accepted = self.state.x, self.state.best, self.state.accepted
        self.scale: NDArray[np.float64] = batch.scale  # energy in file units of a normalised unit, float64[B]
        #: Random numbers of a proposal.
        self.choices: int = first.shape[1] if fused.draws is None else fused.draws
        self._objectives = fused.objectives
        self._threads = max(min(threads, rows), 1)
        self._row_ranges = list(_row_ranges(rows, self._threads))
        self._spaces = [fused.workspace(first[0]) for _ in range(self._threads)]
        # Kept between chunks: to start threads takes longer than a short chunk. The caller is one more.
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        # Features do not matter to an energy: as for uniform proposals, none are computed.
        begin_chains(batch, Uniform(False), self._spaces[0], self.state)
        self._unrecorded = _proposals(0, 0)
        self._advance = partial(advance, batch, self.state, self.choices, members, policy)

    @property
    def counted(self) -> int:
        return self.step

    @property
    def energy(self) -> NDArray[np.float64]:
        return self._objectives(self.state.energy)

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return self._objectives(self.state.best_energy)

    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units."""
        self._run(temperatures, self._unrecorded)

    def record(self, temperatures: NDArray[np.float64]) -> Proposals:
        """Advance, and give the proposals; for discrete problems, whose moves are indices."""
        proposals = _proposals(len(temperatures), len(self.state.energy))
        self._run(temperatures, proposals)
        return proposals

    def counting(self, on: bool = True) -> NDArray[np.float64]:
        """Count proposals from now on, or no longer; see `nsa_cli.anneal.chains.Counted`."""
        tally = np.zeros((len(self.state.energy) if on else 0, 8))
        self._unrecorded = _proposals(0, 0)._replace(tally=tally, origin=self.state.energy.copy())
        return tally

    def _run(self, temperatures: NDArray[np.float64], proposals: Proposals) -> None:
        shown, waiting = self._hold.shown(self.step, temperatures), iter(self._row_ranges)

        def work(space: Any) -> None:
            for begin, end in waiting:  # of all threads
                self._advance(temperatures, shown, self.step, proposals, space, begin, end)

        others = [self._pool.submit(work, space) for space in self._spaces[1:]] if self._pool else []
        try:
            work(self._spaces[0])
        finally:  # interrupted, too: other threads still write to the chains
            wait(others)
        for other in others:
            other.result()
        self.step += len(temperatures)


def _row_ranges(rows: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut rows into ranges for threads to take as they come."""
    begin = 0
    while begin < rows:
        share = math.ceil((rows - begin) * _SHARE / threads) if threads > 1 else rows
        end = min(begin + max(share, rows // _SMALLEST), rows)
        yield begin, end
        begin = end


def _proposals(steps: int, rows: int) -> Proposals:
    return Proposals(
        rows > 0,
        np.zeros((steps, rows, 2), np.int64),
        np.zeros((steps, rows), np.bool_),
        np.zeros((steps, rows)),
        np.zeros((steps, rows), np.bool_),
        np.zeros((0, 8)),
        np.zeros(0),
    )
