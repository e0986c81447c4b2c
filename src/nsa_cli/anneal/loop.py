"""The loop over chunks of steps, for every engine: its clock, goals, progress, and the length of a chunk.

A stop rule ends a run from outside, whenever the clock or the user says so. A goal is about the answer, a
target energy or stagnation, of each instance of a batch on its own. It is checked at steps that depend on
nothing but their number: the same seed stops at the same step, whatever the machine, the chunks and the
batch mates.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains, Progress
from nsa_cli.anneal.pilot import Pilot
from nsa_cli.anneal.schedule import NEVER, Schedule
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import NsaError
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
        """Tell which instances seem to have reached it, bool[I]."""
        with np.errstate(invalid="ignore"):  # minus infinity is never reached
            slack = _DRIFT * np.where(np.isfinite(self.energies), abs(self.energies), 0.0)
        return np.asarray(state.best <= self.energies + slack)

    def confirms(self, instance: int, best: NDArray[Any]) -> bool:
        """Tell whether one of them has, by the best solutions of its chains [chains, …]."""
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


#: A stopping criterion of each instance; holds nothing between checks.
Goal: TypeAlias = TargetEnergy | NoImprovement


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
                    accepted = chains.accepted[rows].copy()
                    self.reached[i] = InstanceEnd(goal.reason, chains.counted, best, accepted)
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


#: A chunk is to take about this long, in seconds: short to a user, long to an interpreter.
_CHUNK_SECONDS = 0.1

#: Before a deadline it is to take at most this share of the whole time, for its temperatures are those of the
#: pace so far, and this share of what is left, for paces change; but at least so many seconds, for a look
#: round takes some 50 us.
_CHUNK_SHARE, _CHUNK_OF_LEFT, _CHUNK_LEAST = 1 / 6, 1 / 3, 0.0005

#: Steps of the first chunk: of a million dimensions each takes long. And how much longer the next one may be.
_FIRST_CHUNK, _GROWTH = 1, 8.0


class End(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    reason : str
        ``steps``, or what the clock or the last goal said.
    reached : mapping
        Instances that reached a goal, by their number in the batch.
    """

    reason: str
    reached: Mapping[int, InstanceEnd]


def run_chains(
    chains: Any,
    schedule: Schedule | Pilot,
    clock: Clock | None = None,
    *,
    chunk: int | None = None,
    looks: int | None = None,
    goals: tuple[Goal, ...] = (),
    rows: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> End:
    """Take chains through a whole schedule, or until the clock or their goals stop them.

    Parameters
    ----------
    chains : Chains
        That count proposals, for a pilot.
    schedule : Schedule or Pilot
    clock : Clock, optional
        Chunks get short enough for its end.
    chunk : int, optional
        Steps between two looks at the clock; by default what takes a tenth of a second. It changes
        nothing in the result of a run that is not stopped.
    looks : int, optional
        Least number of chunks, for a curve of the run.
    goals : tuple of Goal
        Checked at steps that depend on nothing but their number; the run ends when every instance has
        reached one.
    rows : int
        Consecutive chains that belong to one instance, for `goals`.
    on_progress : callable, optional
        Called before the first chunk and after each.
    """
    clock = clock or Clock()
    most = min(-(-schedule.steps // looks) if looks else schedule.steps, chains.most)
    chunks = repeat(chunk) if chunk else _timed_chunks(chains, max(most, 1), clock)
    watch, before = GoalWatch(goals, rows), -1
    if on_progress is not None:
        on_progress(_progress(chains, schedule, schedule.t_start))
    while chains.step < schedule.steps:
        # A chunk may have taken no steps: it went on with what comes before them.
        if goals and chains.step in (watch.due, before) and watch.look(chains):
            return End(list(watch.reached.values())[-1].reason, watch.reached)
        if (reason := clock.reason()) is not None:
            return End(reason, watch.reached)
        last = min(chains.step + next(chunks), schedule.steps, watch.due if goals else schedule.steps)
        before = chains.step
        try:
            temperature = schedule.take(chains, last)
        except NsaError:
            if clock.asked():  # the signal went to the user's simulator, too
                return End("interrupted", watch.reached)
            raise
        if on_progress is not None:
            on_progress(_progress(chains, schedule, temperature))
    return End("steps", watch.reached)


def _timed_chunks(chains: Chains, most: int, clock: Clock) -> Iterator[int]:
    """Chunks of equal time, by the pace of the last one; they grow step by step."""
    chunk, now = _FIRST_CHUNK, time.monotonic()
    span = clock.left
    while True:
        begin, before = now, chains.step
        yield min(chunk, most)
        now = time.monotonic()
        done, seconds = chains.step - before, max(now - begin, 1e-9)
        if done:  # a chunk without steps says nothing of their pace
            left = clock.left
            wanted = max(min(span * _CHUNK_SHARE, left * _CHUNK_OF_LEFT), _CHUNK_LEAST)
            pace = done / seconds
            chunk = max(int(min(pace * min(wanted, _CHUNK_SECONDS, left), _GROWTH * chunk, most)), 1)


def _progress(chains: Chains, schedule: Schedule | Pilot, temperature: float) -> Progress:
    """Progress of the chains."""
    accepted, energy = chains.accepted, chains.energy
    return Progress(
        chains.step,
        None if schedule.steps == NEVER else schedule.steps,
        temperature,
        float(accepted.sum()) / len(accepted) / max(chains.step, 1),
        float(chains.best_energy.min()),
        float(energy.mean()),
        float(energy.min()),
        phase=chains.phase,
        doing=chains.doing,
        chains=chains,
    )
