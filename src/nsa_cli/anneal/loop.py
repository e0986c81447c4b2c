"""The loop between chunks, for every backend: stop rules, goals, progress, and how long a chunk is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.goals import Goal, Settled, Watch
from nsa_cli.anneal.schedule import Schedule, TimedSchedule
from nsa_cli.anneal.stop import Progress, StopRule, first_reason

#: A chunk is to take about this long, in seconds: short to a user, long to an interpreter.
_CHUNK_SECONDS = 0.1


class Chains(Protocol):
    """Chains between two chunks, of either backend; arrays are what they are now and may change."""

    @property
    def step(self) -> int:
        """Steps done."""

    @property
    def most(self) -> int:
        """Steps that one chunk may have at most."""

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units."""

    @property
    def x(self) -> NDArray[Any]:
        """Current solutions, [B, …]."""

    @property
    def best(self) -> NDArray[Any]:
        """Best solutions, [B, …]."""

    @property
    def energy(self) -> NDArray[np.float64]:
        """Of `x`, float64[B], in file units: objectives, without what a walk adds to them."""

    @property
    def best_energy(self) -> NDArray[np.float64]:
        """Of `best`."""

    @property
    def accepted(self) -> NDArray[np.int64]:
        """Moves made, int64[B]."""


class End(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    reason : str
        ``steps``, or what a stop rule or the last goal said.
    settled : mapping
        Instances that reached a goal, by their number in the batch, as they stood then.
    """

    reason: str
    settled: Mapping[int, Settled]


def run_chains(
    chains: Chains,
    schedule: Schedule | TimedSchedule,
    *,
    chunk: int | None = None,
    looks: int | None = None,
    stop: tuple[StopRule, ...] = (),
    goals: tuple[Goal, ...] = (),
    rows: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> End:
    """Take chains through a whole schedule, or until a rule or their goals stop them.

    Parameters
    ----------
    chains : Chains
    schedule : Schedule or TimedSchedule
    chunk : int, optional
        Steps between two looks at the rules; by default what takes a tenth of a second. It changes
        nothing in the result of a run that is not stopped.
    looks : int, optional
        Chunks that the schedule is cut into at least, for those who want a curve.
    stop : tuple of StopRule
    goals : tuple of Goal
        Asked at steps that depend on nothing but their number; the run ends when every instance has
        reached one.
    rows : int
        Consecutive chains that belong to one instance, for `goals`.
    on_progress : callable, optional
        Called before the first chunk and after each.
    """
    most = min(-(-schedule.steps // looks) if looks else schedule.steps, chains.most)
    chunks = _fixed_chunks(chunk) if chunk else _timed_chunks(max(most, 1))
    progress, watch = _progress(chains, schedule), Watch(goals, rows)
    if on_progress is not None:
        on_progress(progress)
    while chains.step < schedule.steps:
        if goals and chains.step == watch.due and watch.look(chains):
            return End(list(watch.settled.values())[-1].reason, watch.settled)
        if (reason := first_reason(stop, progress)) is not None:
            return End(reason, watch.settled)
        last = min(chains.step + next(chunks), schedule.steps, watch.due if goals else schedule.steps)
        chains.advance(schedule.temperatures(chains.step, last))
        progress = _progress(chains, schedule)
        if on_progress is not None:
            on_progress(progress)
    return End("steps", watch.settled)


def _fixed_chunks(chunk: int) -> Iterator[int]:
    while True:
        yield chunk


def _timed_chunks(most: int) -> Iterator[int]:
    """Double or halve the chunk until it takes its time."""
    chunk = 8
    while True:
        begin = time.monotonic()
        yield min(chunk, most)
        seconds = time.monotonic() - begin
        if seconds < _CHUNK_SECONDS / 2:
            chunk = min(2 * chunk, most)
        elif seconds > 2 * _CHUNK_SECONDS:
            chunk = max(chunk // 2, 1)


def _progress(chains: Chains, schedule: Schedule | TimedSchedule) -> Progress:
    done = max(chains.step - 1, 0)
    temperature = schedule.temperatures(done, done + 1)[0] if schedule.steps else schedule.t_start
    energy = chains.energy
    return Progress(
        chains.step,
        None if isinstance(schedule, TimedSchedule) else schedule.steps,
        float(temperature),
        float(chains.accepted.mean()) / max(chains.step, 1),
        float(chains.best_energy.min()),
        mean=float(energy.mean()),
        lowest=float(energy.min()),
        chains=chains,
    )
