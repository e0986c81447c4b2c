"""Reasons to be content with an answer: goals, each instance of a batch on its own.

A stop rule ends a run from outside, whenever the clock or the user says so. A goal is about the answer,
so it is asked at steps that depend on nothing but their number: the same seed stops at the same step,
whatever the machine, the chunks and the batch mates.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains

#: Running sums of real energies may be off by this share.
_DRIFT = 1e-9

#: Steps between the first looks; later ones are a sixteenth of the steps so far apart. A look takes 50 us:
#: four times as many took 5 % of a fifth of a second at 500 cities, and 18 % of 20 ms at 100.
_FIRST, _SHARE = 64, 16


class Standing(NamedTuple):
    """How the instances of a batch stand.

    Attributes
    ----------
    best : float64[I]
        Lowest energy of each instance's chains, in file units.
    stale_steps : int64[I]
        Steps since `best` last changed, as far as looks tell.
    stale_seconds : float64[I]
    """

    best: NDArray[np.float64]
    stale_steps: NDArray[np.int64]
    stale_seconds: NDArray[np.float64]


class Goal(Protocol):
    """Tells which instances have reached it; holds nothing between looks."""

    @property
    def reason(self) -> str:
        """What the result calls it."""

    def __call__(self, standing: Standing) -> NDArray[np.bool_]:
        """bool[I]."""


@dataclass(frozen=True, eq=False)
class Reached:
    """An energy at which to stop.

    Attributes
    ----------
    energies : float64[I]
        In file units; minus infinity where there is none.
    reason : str
    """

    energies: NDArray[np.float64]
    reason: str

    def __call__(self, standing: Standing) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):  # minus infinity is never reached
            slack = _DRIFT * np.where(np.isfinite(self.energies), abs(self.energies), 0.0)
        return np.asarray(standing.best <= self.energies + slack)


@dataclass(frozen=True)
class NoImprovement:
    """A number of steps, or of seconds, without a better answer.

    Attributes
    ----------
    steps : int, optional
    seconds : float, optional
    """

    steps: int | None = None
    seconds: float | None = None
    reason: str = "no_improvement"

    def __call__(self, standing: Standing) -> NDArray[np.bool_]:
        stale = np.zeros(len(standing.best), dtype=bool)
        if self.steps is not None:
            stale |= standing.stale_steps >= self.steps
        if self.seconds is not None:
            stale |= standing.stale_seconds >= self.seconds
        return stale


class Settled(NamedTuple):
    """An instance that has reached a goal, as it stood then.

    Attributes
    ----------
    reason : str
    step : int
    best : [chains, …]
        Best solution of each of its chains.
    accepted : int64[chains]
    """

    reason: str
    step: int
    best: NDArray[Any]
    accepted: NDArray[np.int64]


class Watch:
    """Looks at a run's chains from time to time and keeps what the contented instances had.

    Parameters
    ----------
    goals : tuple of Goal
    chains : int
        Rows that belong to one instance.
    clock : callable
        Seconds.
    """

    def __init__(
        self, goals: tuple[Goal, ...], chains: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.settled: dict[int, Settled] = {}
        self.due = 0
        self._goals, self._chains, self._clock = goals, chains, clock
        self._best: NDArray[np.float64] | None = None
        self._step = np.zeros(0, dtype=np.int64)
        self._time = np.zeros(0)

    def look(self, chains: Chains) -> bool:
        """Note who has reached a goal; tell whether all have."""
        step = chains.step
        self.due = step + max(step // _SHARE, _FIRST)
        standing = self._standing(step, chains.best_energy.reshape(-1, self._chains).min(axis=1))
        for goal in self._goals:
            for i in np.flatnonzero(goal(standing)).tolist():
                rows = slice(i * self._chains, (i + 1) * self._chains)
                if i not in self.settled:
                    self.settled[i] = Settled(
                        goal.reason, step, chains.best[rows].copy(), chains.accepted[rows].copy()
                    )
        return len(self.settled) == len(standing.best)

    def _standing(self, step: int, best: NDArray[np.float64]) -> Standing:
        now = self._clock()
        if self._best is None:
            self._best, self._step, self._time = best, np.full(len(best), step), np.full(len(best), now)
        better = best < self._best
        self._best = np.where(better, best, self._best)
        self._step = np.where(better, step, self._step)
        self._time = np.where(better, now, self._time)
        return Standing(self._best, step - self._step, now - self._time)
