"""Stopping criteria on the answer: a target energy, stagnation; each instance of a batch on its own.

A stop rule ends a run from outside, whenever the clock or the user says so. A goal is about the answer,
so it is checked at steps that depend on nothing but their number: the same seed stops at the same step,
whatever the machine, the chunks and the batch mates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.core.instance import Solution

#: Running sums of real energies may be off by this share; what seems to be reached is evaluated exactly.
_DRIFT = 1e-9

#: Steps between the first checks; later ones are a sixteenth of the steps so far apart. A check takes 50 us:
#: four times as many took 5 % of a fifth of a second at 500 cities, and 18 % of 20 ms at 100.
_FIRST, _SHARE = 64, 16


class Stagnation(NamedTuple):
    """Best energies of the instances of a batch, and for how long they have not improved.

    Attributes
    ----------
    best : float64[I]
        Lowest energy of each instance's chains, in file units.
    stale_steps : int64[I]
        Steps since `best` last improved, as far as checks tell.
    stale_seconds : float64[I]
    """

    best: NDArray[np.float64]
    stale_steps: NDArray[np.int64]
    stale_seconds: NDArray[np.float64]


class Goal(Protocol):
    """A stopping criterion of each instance; holds nothing between checks."""

    @property
    def reason(self) -> str:
        """Its name in the result."""

    def __call__(self, state: Stagnation) -> NDArray[np.bool_]:
        """Tell which instances seem to have reached it, bool[I]."""

    def confirms(self, instance: int, best: NDArray[Any]) -> bool:
        """Tell whether one of them has, by the best solutions of its chains [chains, …]."""


@dataclass(frozen=True, eq=False)
class TargetEnergy:
    """Stop at an energy: the target, the bound, or near the bound.

    Attributes
    ----------
    energies : float64[I]
        In file units; minus infinity where there is none.
    reason : str
    reached : callable
        ``reached(instance, solution)`` tells it exactly.
    """

    energies: NDArray[np.float64]
    reason: str
    reached: Callable[[int, Solution], bool]

    def __call__(self, state: Stagnation) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):  # minus infinity is never reached
            slack = _DRIFT * np.where(np.isfinite(self.energies), abs(self.energies), 0.0)
        return np.asarray(state.best <= self.energies + slack)

    def confirms(self, instance: int, best: NDArray[Any]) -> bool:
        return any(self.reached(instance, solution) for solution in best)


@dataclass(frozen=True)
class NoImprovement:
    """Stop after a number of steps, or of seconds, without improvement.

    Attributes
    ----------
    steps, seconds : float
        Infinite where there is no such limit.
    """

    steps: float = math.inf
    seconds: float = math.inf
    reason: str = "no_improvement"

    def __call__(self, state: Stagnation) -> NDArray[np.bool_]:
        return (state.stale_steps >= self.steps) | (state.stale_seconds >= self.seconds)

    def confirms(self, instance: int, best: NDArray[Any]) -> bool:
        return True


class InstanceEnd(NamedTuple):
    """The answer of one instance of a batch, and why and when its search ended.

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


class GoalWatch:
    """Checks goals as a run goes on, and keeps the answers of instances that have reached one.

    Parameters
    ----------
    goals : tuple of Goal
    chains : int
        Rows that belong to one instance.
    """

    def __init__(self, goals: tuple[Goal, ...], chains: int) -> None:
        self.reached: dict[int, InstanceEnd] = {}
        self.due = 0
        self._goals, self._chains = goals, chains
        self._best: NDArray[np.float64] | None = None
        self._step = np.zeros(0, dtype=np.int64)
        self._time = np.zeros(0)

    def look(self, chains: Chains) -> bool:
        """Check the goals of all instances; tell whether each has reached one."""
        step = chains.step
        self.due = step + max(step // _SHARE, _FIRST)
        state = self._update(step, chains.best_energy.reshape(-1, self._chains).min(axis=1))
        for goal in self._goals:
            for i in np.flatnonzero(goal(state)).tolist():
                rows = slice(i * self._chains, (i + 1) * self._chains)
                if i not in self.reached and goal.confirms(i, best := chains.best[rows].copy()):
                    self.reached[i] = InstanceEnd(goal.reason, step, best, chains.accepted[rows].copy())
        return len(self.reached) == len(state.best)

    def _update(self, step: int, best: NDArray[np.float64]) -> Stagnation:
        now = time.monotonic()
        if self._best is None:
            self._best, self._step, self._time = best, np.full(len(best), step), np.full(len(best), now)
        better = best < self._best
        self._best = np.where(better, best, self._best)
        self._step = np.where(better, step, self._step)
        self._time = np.where(better, now, self._time)
        return Stagnation(self._best, step - self._step, now - self._time)
