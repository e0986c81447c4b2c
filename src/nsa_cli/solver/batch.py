"""Batches: instances that are solved together, with their chains, random streams and first solutions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.schedule import AdaptiveSchedule, Schedule, TimedSchedule
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import draw_seed, start_draws, stream_keys
from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.core.task import Task
from nsa_cli.solver.plan import Plan, estimate_temperatures, plan
from nsa_cli.solver.search import AnnealingSearch
from nsa_cli.solver.settings import Settings

#: Seconds to finish an answer, an element; and the share of the time that may be set aside for that.
_FINISH, _LATEST = 5e-7, 0.1


@dataclass(frozen=True, eq=False)
class Batch:
    """Instances that are solved together, each with its chains in consecutive rows.

    Attributes
    ----------
    tasks : sequence of Task
    plan : Plan
    settings : Settings
        With a seed.
    clock : Clock
    """

    tasks: Sequence[Task]
    plan: Plan
    settings: Settings
    clock: Clock

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Random streams, int64[B].

        They count the chains of an instance, not the rows of a batch: batch mates change nothing.
        """
        chains = range(self.plan.chains)
        streams = [(task.stream << 32) + chain for task in self.tasks for chain in chains]
        return stream_keys(self.settings.seed or 0, np.array(streams))

    @property
    def elements(self) -> int:
        """Elements of all chains."""
        return len(self.tasks) * self.plan.chains * self.tasks[0].instance.size

    @property
    def by_time(self) -> bool:
        """Whether the time decides how many steps there are."""
        return self.clock.is_limited and self.settings.steps is None

    @property
    def steps(self) -> int | None:
        """Steps to share out among populations and chains: None by time, none if a schedule needs them."""
        if self.plan.schedule.kind == "adaptive":
            return 0
        return None if self.by_time else self.plan.schedule.steps

    def schedule(self) -> Schedule | AdaptiveSchedule:
        """Spread the temperatures over the steps; or over the time, if that is all that is given."""
        schedule = self.plan.schedule
        if self.by_time:
            schedule = TimedSchedule.of(schedule, time.monotonic(), self.clock.end)
        return AdaptiveSchedule(schedule) if schedule.kind == "adaptive" else schedule

    def split(self, size: int = 1) -> Iterator[Batch]:
        """Make batches of so many instances, each with its share of the time left when its turn comes."""
        for i in range(0, len(self.tasks), size):
            places = self.plan.places[i : i + size]
            yield replace(
                self,
                tasks=self.tasks[i : i + size],
                plan=self.plan._replace(places=places),
                clock=self.clock.part(len(places) / (len(self.tasks) - i)),
            )

    def with_temperatures(self) -> Batch:
        """Put temperatures estimated from a sample of the instance's own moves into the plan."""
        search, init = self.plan.search, self.settings.init
        if not self.plan.estimated or not isinstance(search, AnnealingSearch):
            return self
        (task,) = self.tasks
        start = task.problem.start(None if isinstance(init, np.ndarray) else init)
        found = estimate_temperatures(search, task.instance, start)
        known = dict(zip(("t_start", "t_end"), found or (), strict=False))
        chosen = {name: known[name] for name in self.plan.estimated if name in known}
        schedule = replace(self.plan.schedule, **chosen)  # type: ignore[arg-type]  # temperatures only
        return replace(self, plan=self.plan._replace(schedule=schedule))

    def starts(self, init: str | None = None) -> NDArray[np.generic]:
        """Make the first solutions, [B, …]: by the start that is asked for, else by `init`."""
        problem, asked = self.tasks[0].problem, self.settings.init
        if isinstance(asked, np.ndarray):
            return np.stack([asked] * len(self.keys))
        make = problem.start(init if asked is None else asked)
        rows: list[Solution] = []
        by_chance = True
        for row, key in enumerate(self.keys):
            first = row - row % self.plan.chains
            drawn: list[int] = []
            if row == first or by_chance:
                rows.append(make(self.tasks[row // self.plan.chains].instance, _noting(key, drawn)))
                by_chance = bool(drawn)
            else:
                rows.append(rows[first])  # nothing was drawn: all chains of an instance start alike
        return np.stack(rows)


def _noting(key: np.int64, drawn: list[int]) -> Draws:
    """Draws of a chain for its start; notes in `drawn` that they were used."""

    def draws(count: int) -> NDArray[np.float64]:
        drawn.append(count)
        return start_draws(key, count)

    return draws


def batches(tasks: Sequence[Task], settings: Settings, clock: Clock, share: float = 1.0) -> Iterator[Batch]:
    """Plan the batches of some instances, each with its share of the time left when its turn comes.

    Together they have `share` of what is left now.
    """
    settings = replace(settings, seed=draw_seed()) if settings.seed is None else settings
    waiting, clock, limit = len(tasks), clock.part(share), settings.time_limit or 0.0
    alike = len(tasks) * limit / max(clock.left, 1e-3) if share < 1.0 and limit else len(tasks)
    for one in plan(tasks, settings, alike):
        some = [tasks[place] for place in one.places]
        part = clock.part(len(some) / waiting)
        # Answers of so many elements are evaluated and written before the end.
        finish = min(_FINISH * sum(task.instance.size for task in some), _LATEST * part.left)
        yield Batch(some, one, settings, replace(part, end=part.end - finish))
        waiting -= len(some)
