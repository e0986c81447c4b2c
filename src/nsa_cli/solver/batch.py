"""One batch: first solutions, bounds, and annealing of the instances not solved by their bounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.adaptive import AdaptiveSchedule
from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.goals import InstanceEnd
from nsa_cli.anneal.loop import End, run_chains
from nsa_cli.anneal.schedule import Schedule, TimedSchedule
from nsa_cli.anneal.stop import Deadline, Progress, StopRule, first_reason
from nsa_cli.core.bound import Bound
from nsa_cli.core.draws import draw_seed, start_draws, stream_keys
from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.core.task import Task
from nsa_cli.report.result import Result
from nsa_cli.solver.answers import result_of, solved
from nsa_cli.solver.bounds import bounds_of
from nsa_cli.solver.goals import goals_of
from nsa_cli.solver.plan import Plan, estimate_temperatures, plan
from nsa_cli.solver.search import AnnealingSearch
from nsa_cli.solver.settings import Settings

#: Share of the time for first solutions that the set-up of chains takes at least.
_SET_UP = 0.2

#: Seconds to finish an answer, an element; and the share of the time that may be set aside for that.
_FINISH, _LATEST = 5e-7, 0.1

#: Progress while there are no chains, for stop rules.
_NO_CHAINS = Progress(0, 0, 0.0, 0.0, float("inf"))


class LateError(Exception):
    """Work not done when there was a reason to stop.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Hooks(NamedTuple):
    """Hooks of a caller into a running search.

    Attributes
    ----------
    stop : tuple of StopRule
        Reasons to stop.
    on_progress : callable, optional
    looks : int, optional
        How often it is called at least in a run that is not stopped.
    """

    stop: tuple[StopRule, ...] = ()
    on_progress: Callable[[Progress], None] | None = None
    looks: int | None = None

    def reason(self) -> str | None:
        """Reason to stop while there are no chains, or None."""
        return first_reason(self.stop, _NO_CHAINS)


@dataclass
class Setup:
    """State of a batch before its chains run, filled in while the batch is solved.

    Attributes
    ----------
    bounds : list of Bound or None
    x : [B, …], optional
        First solutions.
    seconds : float
        Of an instance.
    """

    bounds: list[Bound | None]
    x: NDArray[Any] | None = None
    seconds: float = 0.0


@dataclass(eq=False)
class Batch:
    """Instances that are solved together, each with its chains in consecutive rows.

    Attributes
    ----------
    tasks : sequence of Task
    plan : Plan
    settings : Settings
        With a seed.
    deadline : float or None
        By `time.monotonic`.
    hooks : Hooks
        With the deadline among its reasons to stop.
    setup : Setup
        Filled in by `solve`.
    """

    tasks: Sequence[Task]
    plan: Plan
    settings: Settings
    deadline: float | None
    hooks: Hooks
    setup: Setup = field(init=False)

    def __post_init__(self) -> None:
        self.setup = Setup([None] * len(self.tasks))

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

    def split(self, size: int = 1) -> Iterator[Batch]:
        """Make batches of so many instances, each with its share of the time left when its turn comes."""
        waiting = len(self.tasks)
        for i in range(0, waiting, size):
            places = self.plan.places[i : i + size]
            deadline, rules = self.deadline, self.hooks.stop
            if deadline is not None:
                now = time.monotonic()
                deadline = now + (deadline - now) * len(places) / (waiting - i)
                rules = tuple(Deadline(deadline) if isinstance(r, Deadline) else r for r in rules)
            yield replace(
                self,
                tasks=self.tasks[i : i + size],
                plan=self.plan._replace(places=places),
                deadline=deadline,
                hooks=self.hooks._replace(stop=rules),
            )

    def solve(self) -> list[Result]:
        """Make first solutions and bounds, and anneal the instances not solved by their bounds.

        Raises
        ------
        LateError
            If there is a reason to stop before the chains are at their first solutions.
        """
        self._estimate()
        began, setup = time.monotonic(), self.setup
        x = setup.x = self.starts()
        took = time.monotonic() - began
        setup.seconds += took / len(self.tasks)
        if self.settings.bound:
            setup.bounds = bounds_of(self.tasks, self.deadline, lambda: self.hooks.reason() is not None)
        pairs = list(zip(self.tasks, setup.bounds, strict=True))
        left = [pair for pair in pairs if not solved(pair[1])]
        if left and (why := self.hooks.reason()) is not None:
            raise LateError(why)  # chains take longer to set up than there is time
        short = self.deadline is not None and self.deadline - time.monotonic() < _SET_UP * took
        if left and short and self.tasks[0].problem.built_in:
            raise LateError("time_limit")
        rows = np.repeat([not solved(bound) for bound in setup.bounds], self.plan.chains)
        annealed = iter(self._anneal(left, self.keys[rows], x[rows]) if left else ())
        return [self._optimum(*pair) if solved(pair[1]) else next(annealed) for pair in pairs]

    def _estimate(self) -> None:
        """Put temperatures estimated from a sample of the instance's own moves into the plan."""
        search, init = self.plan.search, self.settings.init
        if not self.plan.estimated or not isinstance(search, AnnealingSearch):
            return
        began, (task,) = time.monotonic(), self.tasks
        start = task.problem.start(None if isinstance(init, np.ndarray) else init)
        found = estimate_temperatures(replace(search, acceptance="metropolis"), task.instance, start)
        known = dict(zip(("t_start", "t_end"), found or (), strict=False))
        chosen: dict[str, Any] = {name: known[name] for name in self.plan.estimated if name in known}
        self.plan = self.plan._replace(schedule=replace(self.plan.schedule, **chosen))
        self.setup.seconds = time.monotonic() - began

    def _anneal(
        self,
        pairs: Sequence[tuple[Task, Bound | None]],
        keys: NDArray[np.int64],
        x: NDArray[Any],
    ) -> list[Result]:
        """Anneal some instances: each with its chains in consecutive rows of `keys` and `x`."""
        began, rows = time.monotonic(), self.plan.chains
        tasks, bounds = zip(*pairs, strict=True)
        instances = [task.instance for task in tasks for _ in range(rows)]
        left = None if self.deadline is None else self.deadline - began
        chains = self.plan.search.start(instances, x, keys, rows, self._steps(), left)
        ready = time.monotonic()
        end = run_chains(
            chains,
            self._course(),
            looks=self.hooks.looks,
            until=self.deadline,
            stop=self.hooks.stop,
            goals=goals_of(tasks, bounds, self.settings),
            rows=rows,
            on_progress=self._shown_with(bounds),
        )
        done = time.monotonic()
        share = 1 / len(tasks)
        seconds = {"setup": self.setup.seconds + (ready - began) * share, "solve": (done - ready) * share}
        return [
            result_of(task, self.plan, self.settings, bound, _end(chains, end, i, rows), seconds)
            for i, (task, bound) in enumerate(pairs)
        ]

    def _shown_with(self, bounds: Sequence[Bound | None]) -> Callable[[Progress], None] | None:
        """Add the bound of a single instance to its progress."""
        show, bound = self.hooks.on_progress, bounds[0]
        if show is None or bound is None or len(bounds) > 1:
            return show
        value = float(bound.value)
        return lambda progress: show(progress._replace(bound=value))

    def _course(self) -> Schedule | AdaptiveSchedule:
        """Spread the temperatures over the steps; or over the time, if that is all that is given."""
        schedule = self.plan.schedule
        if self._by_time and self.deadline is not None:
            schedule = TimedSchedule.of(schedule, time.monotonic(), self.deadline)
        return AdaptiveSchedule(schedule) if schedule.kind == "adaptive" else schedule

    def _steps(self) -> int | None:
        """Steps to share out among populations and chains: None by time, none if a schedule needs them."""
        if self.plan.schedule.kind == "adaptive":
            return 0
        return None if self._by_time else self.plan.schedule.steps

    @property
    def _by_time(self) -> bool:
        return self.deadline is not None and self.settings.steps is None

    def _optimum(self, task: Task, bound: Bound | None) -> Result:
        """Make the result of an instance whose bound's method met an optimal solution."""
        assert bound is not None
        assert bound.solution is not None
        end = InstanceEnd("optimal", 0, bound.solution[None], np.zeros(1, np.int64))
        seconds = {"setup": self.setup.seconds, "solve": 0.0}
        return result_of(task, self.plan, self.settings, bound, end, seconds)

    def starts(self, *, instant: bool = False) -> NDArray[Any]:
        """Make the first solutions, [B, …]; `instant` ones by a start that needs nothing compiled."""
        init, problem = self.settings.init, self.tasks[0].problem
        if init is None and instant:
            init = problem.instant_start
        if isinstance(init, np.ndarray):
            return np.stack([init] * len(self.keys))
        make = problem.start(init)
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


def _end(chains: Chains, end: End, i: int, rows: int) -> InstanceEnd:
    """End of an instance: at a goal of its own, or with the batch."""
    if i in end.reached:
        return end.reached[i]
    part = slice(i * rows, (i + 1) * rows)
    return InstanceEnd(end.reason, chains.step, chains.best[part], chains.accepted[part])


def _noting(key: np.int64, drawn: list[int]) -> Draws:
    """Draws of a chain for its start; notes in `drawn` that they were used."""

    def draws(count: int) -> NDArray[np.float64]:
        drawn.append(count)
        return start_draws(key, count)

    return draws


def batches(
    tasks: Sequence[Task],
    settings: Settings,
    hooks: Hooks = Hooks(),  # noqa: B008
    share: float | None = None,
) -> Iterator[Batch]:
    """Plan the batches of some instances, each with its share of the time left when its turn comes.

    Together they have `share` of what is left now; all of it by default.
    """
    settings = replace(settings, seed=draw_seed()) if settings.seed is None else settings
    waiting, end = len(tasks), _deadline(settings, share or 1.0)
    for one in plan(tasks, settings, _sharing(len(tasks), settings, share)):
        elements = sum(tasks[place].instance.size for place in one.places)
        deadline = None if end is None else _answered(_part(end, len(one.places) / waiting), elements)
        rules: tuple[StopRule, ...] = hooks.stop if deadline is None else (Deadline(deadline), *hooks.stop)
        some = [tasks[place] for place in one.places]
        yield Batch(some, one, settings, deadline, hooks._replace(stop=rules))
        waiting -= len(some)


def _deadline(settings: Settings, share: float) -> float | None:
    """Tell when a share of the time that is left is over, by `time.monotonic`; None without a limit."""
    if settings.time_limit is None:
        return None
    return _part(settings.started + settings.time_limit, share)


def _sharing(instances: int, settings: Settings, share: float | None) -> float:
    """Tell how many instances share the time limit, if all have as long as some with `share` of the rest."""
    if share is None or not settings.time_limit:
        return instances
    left = settings.started + settings.time_limit - time.monotonic()
    return instances * settings.time_limit / max(share * left, 1e-3)


def _part(end: float, share: float) -> float:
    """Tell when a share of the time until `end` is over, from now on."""
    now = time.monotonic()
    return now + share * (end - now)


def _answered(end: float, elements: int) -> float:
    """Tell when to end so that answers of so many elements are evaluated and written by `end`."""
    left = max(end - time.monotonic(), 0.0)
    return end - min(_FINISH * elements, _LATEST * left)
