"""The fused backend: chains that kernels advance, in as many threads as there are cores.

It means what the reference engine means: the same moves from the same random numbers. Networks are summed in
another order and in float32 throughout, so two chains part where a draw falls within rounding of the border
between two candidates, and differ no more than two chains with other seeds from there on.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.held import Held
from nsa_cli.anneal.kernel import (
    Chains,
    Moves,
    advance,
    advance_anew,
    begin_chains,
    begin_chains_anew,
)
from nsa_cli.core.kernel.parts import Fused, Uniform

#: A thread takes this share of the rows that are left, divided by the threads, but at least all rows by the
#: second number. Large parts first, for each costs a call; small ones last, that all threads end at once.
_SHARE, _SMALLEST = 1 / 2, 32


#: Steps of a chunk: temperatures and loop counters take no memory worth a bound.
_MOST = 1 << 40


class FusedChains:
    """Chains of a kernel between two chunks; see `nsa_cli.anneal.loop.Chains`.

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
    hastings : bool
    threads : int
    temperature_steps : int
        Steps for which the policy sees one temperature, see `nsa_cli.anneal.held`.
    """

    def __init__(
        self,
        fused: Fused,
        batch: Any,
        policy: Any,
        x: NDArray[Any],
        keys: NDArray[np.int64],
        *,
        members: int = 1,
        hastings: bool = False,
        threads: int = 1,
        temperature_steps: int = 1,
    ) -> None:
        rows = len(keys)
        self.step, self.most = 0, _MOST
        self._held = Held(temperature_steps)
        first = np.array(x, order="C")
        energies = (np.zeros(rows), np.zeros(rows))
        self.state = Chains(first, first.copy(), *energies, np.zeros(rows, np.int64), keys)
        self._batch, self._policy = batch, _weighed(policy) if hastings else policy
        self._draws = first.shape[1] if fused.draws is None else fused.draws
        self._members, self._hastings, self._objectives = members, hastings, fused.objectives
        self._threads = max(min(threads, rows), 1)
        self._parts = list(_parts(rows, self._threads))
        self._spaces = [fused.workspace(first[0]) for _ in range(self._threads)]
        # Kept between chunks: to start threads takes longer than a short chunk. The caller is one more.
        self._pool = ThreadPoolExecutor(self._threads - 1) if self._threads > 1 else None
        # Features do not matter to an energy: as for uniform proposals, none are computed.
        begin = begin_chains if fused.kept else begin_chains_anew
        self._advance = advance if fused.kept else advance_anew
        begin(batch, Uniform(False), self._spaces[0], self.state)

    @property
    def x(self) -> NDArray[Any]:
        return self.state.x  # type: ignore[no-any-return]

    @property
    def best(self) -> NDArray[Any]:
        return self.state.best  # type: ignore[no-any-return]

    @property
    def energy(self) -> NDArray[np.float64]:
        return self._objectives(self.state.energy)  # type: ignore[no-any-return]

    @property
    def walk_energy(self) -> NDArray[np.float64]:
        return self.state.energy  # type: ignore[no-any-return]

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return self._objectives(self.state.best_energy)  # type: ignore[no-any-return]

    @property
    def accepted(self) -> NDArray[np.int64]:
        return self.state.accepted  # type: ignore[no-any-return]

    @property
    def scale(self) -> NDArray[np.float64]:
        """Energy in file units of a normalised unit, float64[B]."""
        scale: NDArray[np.float64] = self._batch.scale
        return scale

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units."""
        self._run(temperatures, _moves(0, 0))

    def record(self, temperatures: NDArray[np.float64]) -> Moves:
        """Do as `advance` and say what was proposed; for discrete problems, whose moves are indices."""
        self._policy = _weighed(self._policy)
        moves = _moves(len(temperatures), len(self.state.energy))
        self._run(temperatures, moves)
        return moves

    @property
    def choices(self) -> int:
        """How many choices make a move, as far as random numbers tell."""
        return self._draws

    def changes(self, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do as `advance` and give what the proposals would add, float64[K, B]; see `nsa_cli.anneal.auto`."""
        changes: NDArray[np.float64] = self.record(temperatures).change
        return changes

    def _run(self, temperatures: NDArray[np.float64], moves: Moves) -> None:
        shown, waiting = self._held.of(self.step, temperatures), self._parts[::-1]

        def work(space: Any) -> None:
            while waiting:
                try:
                    part = waiting.pop()
                except IndexError:  # another thread was faster
                    return
                self._advance(
                    self._batch,
                    self._policy,
                    space,
                    self.state,
                    temperatures,
                    shown,
                    self.step,
                    self._draws,
                    self._members,
                    self._hastings,
                    moves,
                    *part,
                )

        others = [self._pool.submit(work, space) for space in self._spaces[1:]] if self._pool else []
        try:
            work(self._spaces[0])
        finally:  # interrupted, too: nobody is to look at chains that still move
            wait(others)
        for other in others:
            other.result()
        self.step += len(temperatures)


def _parts(rows: int, threads: int) -> Iterator[tuple[int, int]]:
    """Cut rows into parts for threads to take as they come."""
    begin = 0
    while begin < rows:
        share = math.ceil((rows - begin) * _SHARE / threads) if threads > 1 else rows
        end = min(begin + max(share, rows // _SMALLEST), rows)
        yield begin, end
        begin = end


def _weighed(policy: Any) -> Any:
    """Ask a policy for probabilities, too."""
    return policy._replace(mode=policy.mode._replace(weighed=True)) if hasattr(policy, "mode") else policy


def _moves(steps: int, rows: int) -> Moves:
    return Moves(
        rows > 0,
        np.zeros((steps, rows, 2), np.int64),
        np.full((steps, rows), -np.inf),
        np.zeros((steps, rows)),
        np.zeros((steps, rows), np.bool_),
    )


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
