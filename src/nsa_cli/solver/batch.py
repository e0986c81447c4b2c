"""Batches: instances that are solved together, with their search, schedule, chains and first solutions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.schedule import Schedule, TimedSchedule
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import draw_seed, start_draws, start_solutions, stream_keys
from nsa_cli.core.instance import Solution
from nsa_cli.core.machine import check_memory
from nsa_cli.core.problem import Draws, Start, Task
from nsa_cli.solver.search import Beginning, Search, choose_policy, choose_search
from nsa_cli.solver.settings import Settings

#: Seconds to finish an answer, an element; and the share of the time that may be set aside for that.
_FINISH, _LATEST = 5e-7, 0.1

#: The most elements (chains times size) that a batch of several instances has.
_BATCH_ELEMENTS = 4_000_000

#: What a chain takes at least, and each of its elements: where it is and the best it met.
_CHAIN_BYTES, _ELEMENT_BYTES = 500, 16

#: In Python the sample takes this part of the steps.
_SAMPLING_SHARE = 10

#: Chains that sample an instance's moves, and their steps at most in the reference engine.
_SAMPLING_CHAINS, _SLOW_STEPS = 8, 1_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """Instances that are solved together, each with its chains in consecutive rows.

    Attributes
    ----------
    tasks : sequence of Task
    places : sequence of int
        Which of all tasks these are.
    settings : Settings
        With a seed.
    search : Search
    planned : Schedule
        With the number of steps that is used where time does not decide.
    chains : int
        Of each instance.
    first : [I, …], optional
        A solution of each instance to begin with.
    estimated : tuple of str
        Temperatures of `planned` to be estimated from a sample of the instance's moves: ``t_start``,
        ``t_end``. Such an instance has a batch of its own.
    clock : Clock
    """

    tasks: Sequence[Task]
    places: Sequence[int]
    settings: Settings
    search: Search
    planned: Schedule
    chains: int
    first: NDArray[Any] | None = None
    estimated: tuple[str, ...] = ()
    clock: Clock = field(default_factory=Clock)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Random streams, int64[B].

        They count the chains of an instance, not the rows of a batch: batch mates change nothing.
        """
        chains = range(self.chains)
        streams = [(task.stream << 32) + chain for task in self.tasks for chain in chains]
        return stream_keys(self.settings.seed or 0, np.array(streams))

    @property
    def elements(self) -> int:
        """Elements of all chains."""
        return len(self.tasks) * self.chains * self.tasks[0].instance.size

    @property
    def by_time(self) -> bool:
        """Whether the time decides how many steps there are."""
        return self.clock.is_limited and self.settings.steps is None

    @property
    def proves(self) -> bool:
        """Whether proofs are tried: of large steps without a number of steps, or where asked for."""
        settings, large = self.settings, self.search.method == "large-step"
        return settings.bound and (settings.prove or (settings.steps is None and large))

    @property
    def steps(self) -> int | None:
        """Steps to share out among populations and chains; None by time."""
        return None if self.by_time else self.planned.steps

    def schedule(self) -> Schedule:
        """Spread the temperatures over the steps; or over the time, if that is all that is given."""
        return (
            TimedSchedule.of(self.planned, time.monotonic(), self.clock.end) if self.by_time else self.planned
        )

    def split(self, size: int = 1) -> Iterator[Batch]:
        """Make batches of so many instances, each with its share of the time left when its turn comes."""
        for i in range(0, len(self.tasks), size):
            tasks = self.tasks[i : i + size]
            clock = self.clock.part(len(tasks) / (len(self.tasks) - i))
            yield replace(self, tasks=tasks, places=self.places[i : i + size], clock=clock)

    def with_temperatures(self) -> Batch:
        """Put temperatures estimated from a sample of the instance's own moves into the schedule."""
        if not self.estimated:
            return self
        (task,), init = self.tasks, self.settings.init
        start = task.problem.start(None if isinstance(init, np.ndarray) else init)
        found = dict(zip(("t_start", "t_end"), self._sampled(task, start) or (), strict=False))
        known = {name: found[name] for name in self.estimated if name in found}
        return replace(self, planned=replace(self.planned, **known))  # type: ignore[arg-type]  # no other

    def _sampled(self, task: Task, start: Start) -> tuple[float, float] | None:
        """First and last temperature by `nsa_cli.anneal.auto`; the same each time, whatever the seed."""
        from nsa_cli.anneal.auto import sampled_temperatures

        search, few = self.search, {}
        if search.backend == "torch":
            few = {"most": _SLOW_STEPS}
        elif search.backend == "python":
            few = {"most": max(self.planned.steps // _SAMPLING_SHARE, 2)}
        keys = stream_keys(0, np.arange(1 if search.backend == "python" else _SAMPLING_CHAINS))
        instances = [task.instance] * len(keys)
        chains: Any = search.start(Beginning(instances, start_solutions(start, instances, keys), keys))
        if search.backend == "python" and self.by_time:
            chains.seconds = self.clock.left / _SAMPLING_SHARE / 2  # it takes steps twice
        assert search.moves is not None
        listed = search.moves.uses_candidate_lists
        return sampled_temperatures(
            chains, task.instance.size, choices=search.moves.choices, candidate_lists=listed, **few
        )

    def starts(self) -> NDArray[np.generic]:
        """Make the first solutions, [B, …]."""
        problem, asked = self.tasks[0].problem, self.settings.init
        if self.first is not None:
            return np.repeat(self.first, self.chains, axis=0)
        if isinstance(asked, np.ndarray):
            return np.stack([asked] * len(self.keys))
        make = problem.start(asked)
        rows: list[Solution] = []
        by_chance = True
        for row, key in enumerate(self.keys):
            first = row - row % self.chains
            drawn: list[int] = []
            if row == first or by_chance:
                rows.append(make(self.tasks[row // self.chains].instance, _noting(key, drawn)))
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
        part = clock.part(len(one.tasks) / waiting)
        # Answers of so many elements are evaluated and written before the end.
        finish = min(_FINISH * sum(task.instance.size for task in one.tasks), _LATEST * part.left)
        yield replace(one, clock=replace(part, end=part.end - finish))
        waiting -= len(one.tasks)


def plan(tasks: Sequence[Task], settings: Settings, sharing: float | None = None) -> list[Batch]:
    """Plan batches of instances with the same search, schedule and chains, as large as fits into memory.

    The division into batches changes no answer. `sharing` instances like these share the time limit; these
    alone by default.
    """
    timed = settings.time_limit is not None and settings.steps is None
    seconds = (settings.time_limit or 0.0) / (sharing or len(tasks)) if timed else None
    searches: dict[Any, Search] = {}
    groups: dict[Any, list[Batch]] = {}
    for place, task in enumerate(tasks):
        policy, group = choose_policy(task, settings), task.problem.group(task.instance)
        key = (id(task.problem), policy, group)
        if key not in searches:  # each policy is read once
            searches[key] = choose_search(task, policy, settings)
        one = _planned(task, place, searches[key], settings, seconds)
        alone = place if one.estimated else None
        groups.setdefault((key, one.planned, one.chains, alone), []).append(one)
    return [batch for alike in groups.values() for batch in _together(alike)]


def _planned(task: Task, place: int, search: Search, settings: Settings, seconds: float | None) -> Batch:
    """Choose steps, temperatures and chains: the given ones, else those of the search's budget."""
    budget = search.budget(task.instance, seconds)
    steps = budget.steps if settings.steps is None else settings.steps.of(task.instance.size)
    chains = settings.chains or budget.chains
    check_memory(chains * (_CHAIN_BYTES + _ELEMENT_BYTES * task.instance.size))
    given = {"t_start": settings.t_start, "t_end": settings.t_end}
    estimated = tuple(name for name, g in given.items() if g == "auto" or (g is None and budget.auto))
    first, last = (g if isinstance(g, float) else float(getattr(budget, name)) for name, g in given.items())
    return Batch(
        tasks=[task],
        places=[place],
        settings=settings,
        search=search,
        planned=Schedule(steps, first, last, settings.schedule),
        chains=chains,
        estimated=estimated if search.method == "anneal" else (),
    )


def _together(alike: Sequence[Batch]) -> Iterator[Batch]:
    """Put instances that are planned alike together, as many as fit into memory."""
    first = alike[0]
    tasks = [task for one in alike for task in one.tasks]
    places = [place for one in alike for place in one.places]
    width = len(tasks)
    if width > 1:
        width = max(_BATCH_ELEMENTS // (tasks[0].instance.size * first.chains), 1)
    for i in range(0, len(tasks), width):
        yield replace(first, tasks=tasks[i : i + width], places=places[i : i + width])
