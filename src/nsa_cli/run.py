"""From instances to results: group, pack, start, anneal, decode, evaluate exactly.

The one place where problem, policy and engine meet.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nsa_cli import __version__
from nsa_cli.anneal.acceptance import RULES
from nsa_cli.anneal.adaptive import AdaptiveSchedule
from nsa_cli.anneal.goals import Settled
from nsa_cli.anneal.loop import Chains, End, run_chains
from nsa_cli.anneal.schedule import Schedule, TimedSchedule, parse_count, parse_steps, parse_temperature
from nsa_cli.anneal.stop import Deadline, Progress, StopRule, first_reason
from nsa_cli.api import Settings, Task, check_seed, draw_seed
from nsa_cli.backends import (
    Backend,
    check_choices,
    choose_backend,
    choose_device,
    large_step_backend,
    temperatures_of,
)
from nsa_cli.core.bound import Bound
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.errors import NoMemoryError, NsaError, UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.core.kernel import on_first_compilation
from nsa_cli.core.manifest import manifest
from nsa_cli.core.memory import check_memory
from nsa_cli.core.neighbourhood import Budget, Neighbourhood
from nsa_cli.core.problem import Draws, Problem
from nsa_cli.core.result import Result
from nsa_cli.in_time import Errand, LateError, in_time
from nsa_cli.limits import bounds_of, check_goals, goals_of
from nsa_cli.stand_in import StandIn

#: Elements (chains times size) that one batch may have.
_BATCH_ELEMENTS = 4_000_000
#: What a chain takes at least, and each of its elements: where it is and the best it met.
_CHAIN_BYTES, _ELEMENT_BYTES = 500, 16

#: Statuses that a reason to stop leads to; any other is an ordinary end.
_STATUS = {"time_limit": "time_limit", "interrupted": "interrupted"}

#: What stop rules are shown while there are no chains.
_NOTHING_YET = Progress(0, 0, 0.0, 0.0, float("inf"))


class _Plan(NamedTuple):
    """What instances must share to share a batch."""

    problem: Problem[Any]
    backend: Backend
    group: Hashable
    schedule: Schedule
    chains: int
    #: An instance with temperatures of its own, and which of them its moves are to say before chains run.
    own: tuple[Task, tuple[str, ...]] | None = None


def solve_all(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
    looks: int | None = None,
) -> list[Result]:
    """Solve instances, batching those that can share a batch.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    stop : tuple of StopRule
        Beside the time limit.
    on_progress : callable, optional
    looks : int, optional
        How often it is called at least in a run that is not stopped.

    Returns
    -------
    list of Result
        In the order of `tasks`.
    """
    results: dict[int, Result] = {}
    for i, result in solve_each(tasks, settings, stop=stop, on_progress=on_progress, looks=looks):
        if isinstance(result, NsaError):
            raise result
        results[i] = result
    return [results[i] for i in range(len(tasks))]


def solve_each(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
    looks: int | None = None,
) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve instances as `solve_all` does, and give each result, with its place in `tasks`, once it is ready.

    An error that the instances of a batch meet stands in place of their results and does not stop the rest.
    A time limit is for all: each batch has its share of what is left, or the first would take it all.
    """
    check_goals(settings)
    check_choices(settings.backend, settings.method, settings.threads)
    if settings.acceptance not in RULES:
        raise UsageError(f"acceptance: expected one of {', '.join(RULES)}, got {settings.acceptance!r}")
    seed = draw_seed() if settings.seed is None else check_seed(settings.seed)
    device = choose_device(settings.device)
    if settings.time_limit is not None and not 0 <= settings.time_limit < math.inf:
        raise UsageError(f"--time-limit: expected seconds >= 0, got {settings.time_limit}")
    waiting = len(tasks)
    for plan, places in _grouped(tasks, settings, device).items():
        for some in _batches(places, plan, tasks):
            deadline = _deadline(settings, len(some) / waiting)
            rules = (*(() if deadline is None else (Deadline(deadline),)), *stop)
            run = _Run(plan, settings, seed, deadline, rules, on_progress, looks)
            yield from _attempt(run, tasks, some)
            waiting -= len(some)


def _attempt(run: _Run, tasks: Sequence[Task], some: list[int]) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve a batch; if that fails and it has several instances, each by itself, to find the one at fault."""
    try:
        yield from zip(some, run.solve([tasks[i] for i in some]), strict=True)
    except (NsaError, MemoryError) as error:
        if len(some) > 1:
            for i in some:
                yield from _attempt(run, tasks, [i])
        elif isinstance(error, NsaError):
            yield some[0], error
        else:
            yield some[0], NoMemoryError()


def _deadline(settings: Settings, share: float) -> float | None:
    """Tell when a batch has had its share of the time that is left, by `time.monotonic`."""
    if settings.time_limit is None:
        return None
    now = time.monotonic()
    return now + share * (settings.started + settings.time_limit - now)


def _grouped(tasks: Sequence[Task], settings: Settings, device: str) -> dict[_Plan, list[int]]:
    """Sort instances by what they can share; each policy is read once."""
    groups: dict[_Plan, list[int]] = {}
    backends: dict[tuple[Any, ...], Backend] = {}
    for place, task in enumerate(tasks):
        name = settings.policy or _neighbourhood(task.problem, settings).default_policy(task.instance)
        group = task.problem.group(task.instance)
        key = (id(task.problem), name, group)
        if key not in backends:
            backends[key] = _backend(task, name, settings, device, len(tasks))
        plan = _plan(task, backends[key], settings)
        groups.setdefault(plan, []).append(place)
    return groups


def _neighbourhood(problem: Problem[Any], settings: Settings) -> Neighbourhood[Any]:
    """Choose the neighbourhood where no policy does: the default one, unless it has no Hastings ratio."""
    asked = problem.requested_neighbourhood(settings.neighbourhood, settings.candidates)
    if asked is not None:
        return asked
    best = problem.neighbourhood()
    unfit = settings.acceptance == "hastings" and not best.reversible
    return problem.neighbourhoods[0] if unfit else best


def _backend(task: Task, policy: str, settings: Settings, device: str, count: int) -> Backend:
    """Choose what runs instances like this one, of so many that share the time."""
    timed = settings.time_limit is not None and settings.steps is None
    asked = task.problem.requested_neighbourhood(settings.neighbourhood, settings.candidates)
    moves = (settings.policy, asked, settings.unit)
    course = (settings.steps, settings.t_start, settings.t_end) if settings.method == "auto" else ()
    plain = all(x is None for x in (*moves, *course))
    plain = plain and not settings.greedy and settings.acceptance == "metropolis"
    plain = plain and device == "cpu" and settings.backend != "torch"
    large = large_step_backend(
        task.problem,
        task.instance,
        settings.method,
        plain=plain,
        threads=settings.threads,
        seconds=settings.time_limit / count if timed and settings.time_limit else None,
    )
    return large or choose_backend(
        task.problem,
        policy,
        task.instance.size,
        backend=settings.backend,
        device=device,
        greedy=settings.greedy,
        threads=settings.threads,
        neighbourhood=None if asked is None else asked.name,
        rule=settings.acceptance,
    )


def _plan(task: Task, backend: Backend, settings: Settings) -> _Plan:
    """Choose steps, temperatures and chains: what the user says, else the problem's budget."""
    budget = backend.budget(task.instance)
    steps = budget.steps if settings.steps is None else parse_steps(settings.steps, task.instance.size)
    chains = parse_count("--chains", settings.chains) or budget.chains
    check_memory(chains * (_CHAIN_BYTES + _ELEMENT_BYTES * task.instance.size))
    first, last, wanted = _temperatures(budget, settings)
    kind: Any = settings.schedule  # checked by Schedule
    schedule = Schedule(steps, first, last, kind, settings.reheat)
    wanted = wanted if backend.method == "anneal" else ()
    own = (task, wanted) if wanted or kind == "adaptive" else None
    return _Plan(task.problem, backend, task.problem.group(task.instance), schedule, chains, own)


def _temperatures(budget: Budget, settings: Settings) -> tuple[float, float, tuple[str, ...]]:
    """Take the first and last temperature from the user or the budget; tell which a sample is to replace."""
    given = {
        "t_start": parse_temperature("--t-start", settings.t_start),
        "t_end": parse_temperature("--t-end", settings.t_end),
    }
    wanted = tuple(name for name, g in given.items() if g == "auto" or (g is None and budget.auto))
    first, last = (g if isinstance(g, float) else getattr(budget, name) for name, g in given.items())
    return first, last, wanted


def _batches(places: list[int], plan: _Plan, tasks: Sequence[Task]) -> list[list[int]]:
    """Cut a group into batches that fit into memory; the cut changes no answer."""
    elements = tasks[places[0]].instance.size * plan.chains
    width = max(_BATCH_ELEMENTS // elements, 1)
    return [places[i : i + width] for i in range(0, len(places), width)]


@dataclass
class _Ready:
    """What a batch has before its chains run: bounds, first solutions, and seconds that these took."""

    bounds: list[Bound | None]
    x: np.ndarray | None = None
    seconds: float = 0.0


class _Run(NamedTuple):
    """Everything that the batches of one group share."""

    plan: _Plan
    settings: Settings
    seed: int
    deadline: float | None
    stop: tuple[StopRule, ...]
    on_progress: Callable[[Progress], None] | None
    looks: int | None

    def solve(self, tasks: Sequence[Task]) -> list[Result]:
        """Solve one batch; starts come first, and are the answer if there is no time for more."""
        began, chains = time.monotonic(), self.plan.chains
        # Streams count the chains of an instance, not the rows of a batch: batch mates change nothing.
        streams = [(task.stream << 32) + chain for task in tasks for chain in range(chains)]
        keys = stream_keys(self.seed, np.array(streams))
        ready = _Ready([None] * len(tasks))
        settings = replace(
            self.settings, seed=self.seed, chains=parse_count("--chains", self.settings.chains)
        )
        stand_in = StandIn(tasks, settings, self.deadline)
        try:
            with on_first_compilation(stand_in.begin):
                return in_time(
                    lambda errand: self._watched(errand)._sampled(ready)._search(tasks, keys, ready),
                    lambda: first_reason(self.stop, _NOTHING_YET),
                )
        except LateError as late:
            x = self._starts(tasks, keys, instant=True) if ready.x is None else ready.x
            ends = _found(stand_in, late.reason) or [
                Settled(late.reason, 0, start, np.zeros(chains, np.int64))
                for start in np.split(x, len(tasks))
            ]
            solve = (time.monotonic() - began) / len(tasks) - ready.seconds
            seconds = {"setup": ready.seconds, "solve": solve}
            return [
                self._result(task, bound, end, seconds, "annealing, uncompiled" if end.step else "start")
                for task, bound, end in zip(tasks, ready.bounds, ends, strict=True)
            ]
        finally:
            stand_in.dismiss()

    def _watched(self, errand: Errand) -> _Run:
        """Make a run that ends when nobody waits for it, and shows nothing from then on."""

        def note(progress: Progress) -> str | None:
            # From its first step on the chains' loop sees reasons itself, as it does where it is ending now.
            ends = progress.chains is not None and first_reason(self.stop, progress) is not None
            if progress.step or ends:
                errand.seen.set()
            return "interrupted" if errand.left.is_set() else None

        def show(progress: Progress) -> None:
            if self.on_progress is not None and not errand.left.is_set():
                self.on_progress(progress)

        shown = None if self.on_progress is None else show  # who looks on makes each chunk a little longer
        return self._replace(stop=(note, *self.stop), on_progress=shown)

    def _sampled(self, ready: _Ready) -> _Run:
        """Take temperatures from a sample of the instance's own moves, where some are to come from there."""
        began, (task, wanted) = time.monotonic(), self.plan.own or (None, ())
        if task is None or not wanted:
            return self
        init = self.settings.init
        make = partial(task.problem.start(None if isinstance(init, np.ndarray) else init), task.instance)
        found = temperatures_of(self.plan.backend, task.instance, make, self.settings.unit)
        known = dict(zip(("t_start", "t_end"), found or (), strict=False))
        chosen: dict[str, Any] = {name: known[name] for name in wanted if name in known}
        schedule = replace(self.plan.schedule, **chosen)
        ready.seconds = time.monotonic() - began
        return self._replace(plan=self.plan._replace(schedule=schedule))

    def _search(self, tasks: Sequence[Task], keys: np.ndarray, ready: _Ready) -> list[Result]:
        """Fill in what is `ready`, and anneal what a bound's method has not solved on its way."""
        began, chains = time.monotonic(), self.plan.chains
        x = ready.x = self._starts(tasks, keys)
        setup = ready.seconds = ready.seconds + (time.monotonic() - began) / len(tasks)
        if self.settings.bound:
            ready.bounds = bounds_of(
                tasks, self.deadline, lambda: first_reason(self.stop, _NOTHING_YET) is not None
            )
        pairs = list(zip(tasks, ready.bounds, strict=True))
        left = [pair for pair in pairs if not _solved(pair[1])]
        rows = np.repeat([not _solved(bound) for bound in ready.bounds], chains)
        annealed = iter(self._anneal(left, keys[rows], x[rows], setup) if left else ())
        return [self._proved(*pair, setup) if _solved(pair[1]) else next(annealed) for pair in pairs]

    def _anneal(
        self, pairs: Sequence[tuple[Task, Bound | None]], keys: np.ndarray, x: np.ndarray, setup: float
    ) -> list[Result]:
        """Anneal one batch: each instance with its chains in consecutive rows of `keys` and `x`."""
        began, chains = time.monotonic(), self.plan.chains
        tasks, bounds = zip(*pairs, strict=True)
        rows = [task.instance for task in tasks for _ in range(chains)]
        running = self.plan.backend.start(rows, x, keys, self.settings.unit, self.settings.acceptance)
        ready = time.monotonic()
        end = run_chains(
            running,
            self._schedule(),
            looks=self.looks,
            until=self.deadline,
            stop=self.stop,
            goals=goals_of(tasks, bounds, self.settings),
            rows=chains,
            on_progress=self._shown_with(bounds),
        )
        done = time.monotonic()
        share = 1 / len(tasks)
        seconds = {"setup": setup + (ready - began) * share, "solve": (done - ready) * share}
        ends = [_end(running, end, i, chains) for i in range(len(tasks))]
        return [
            self._result(task, bound, end, seconds) for (task, bound), end in zip(pairs, ends, strict=True)
        ]

    def _shown_with(self, bounds: Sequence[Bound | None]) -> Callable[[Progress], None] | None:
        """Give whoever looks at a run of one instance its bound, too."""
        show, bound = self.on_progress, bounds[0]
        if show is None or bound is None or len(bounds) > 1:
            return show
        value = float(bound.value)
        return lambda progress: show(progress._replace(bound=value))

    def _schedule(self) -> Schedule | TimedSchedule | AdaptiveSchedule:
        """Spread the temperatures over the steps; or over the time, if that is all that is given."""
        course: Schedule | TimedSchedule = self.plan.schedule
        if self.deadline is not None and self.settings.steps is None:
            course = TimedSchedule(self.plan.schedule, time.monotonic(), self.deadline)
        return AdaptiveSchedule(course) if self.plan.schedule.kind == "adaptive" else course

    def _proved(self, task: Task, bound: Bound | None, setup: float) -> Result:
        """Report the optimum that the bound's method has met."""
        assert bound is not None
        assert bound.solution is not None
        end = Settled("optimal", 0, bound.solution[None], np.zeros(1, np.int64))
        return self._result(task, bound, end, {"setup": setup, "solve": 0.0})

    def _starts(self, tasks: Sequence[Task], keys: np.ndarray, *, instant: bool = False) -> np.ndarray:
        """Make the first solutions, [B, …]; by default the best start, or one that is there at once."""
        init = self.settings.init
        if init is None and instant:
            init = self.plan.problem.instant_start
        if isinstance(init, np.ndarray):
            return np.stack([init] * len(keys))
        make = self.plan.problem.start(init)
        rows: list[Solution] = []
        by_chance = True
        for row, key in enumerate(keys):
            first = row - row % self.plan.chains
            drawn: list[int] = []
            if row == first or by_chance:
                rows.append(make(tasks[row // self.plan.chains].instance, _noting(key, drawn)))
                by_chance = bool(drawn)
            else:
                rows.append(rows[first])  # nothing was drawn: all chains of an instance start alike
        return np.stack(rows)

    def _result(
        self,
        task: Task,
        bound: Bound | None,
        end: Settled,
        seconds: dict[str, float],
        found_by: str = "annealing",
    ) -> Result:
        """Choose among the chains, and what the bound met, by exact evaluation; check what is handed out."""
        instance, problem = task.instance, self.plan.problem
        solutions = list(end.best)
        objectives = [instance.objective(solution) for solution in solutions]
        if bound is not None and bound.solution is not None:
            solutions.append(bound.solution)
            objectives.append(instance.objective(bound.solution))
        winner = objectives.index(min(objectives) if problem.sense == "min" else max(objectives))
        if bound is not None and (winner == len(end.best) or _solved(bound)):
            found_by = bound.method
        if (why := instance.violation(solutions[winner])) is not None:
            raise AssertionError(f"the engine returned an infeasible solution: {why}")
        if bound is not None and bound.beaten_by(objectives[winner], problem.sense):
            raise AssertionError(f"the answer {objectives[winner]} beats the bound {bound.value}")
        proved = bound is not None and bound.proves(objectives[winner], problem.sense)
        seconds = {"load": task.seconds, **seconds, "bound": 0.0 if bound is None else bound.seconds}
        return Result(
            problem=problem.name,
            sense=problem.sense,
            instance=instance,
            solution=solutions[winner],
            objective=objectives[winner],
            status="optimal"
            if proved and end.reason != "interrupted"
            else _STATUS.get(end.reason, "feasible"),
            stop_reason=end.reason,
            seed=self.seed,
            steps=end.step,
            chains=self.plan.chains,
            accepted=int(end.accepted[min(winner, len(end.accepted) - 1)]),
            method=self.plan.backend.method,
            policy=self.plan.backend.policy,
            start=self._start_name(),
            schedule=self.plan.schedule.to_dict(),
            backend=self.plan.backend.name,
            device=self.plan.backend.device,
            threads=self.plan.backend.threads,
            seconds={**seconds, "total": sum(seconds.values())},
            version=__version__,
            manifest=manifest(self.seed, self.settings.given(), self.plan.backend.digest, task.file),
            bound=bound,
            found_by=found_by,
        )

    def _start_name(self) -> str:
        init = self.settings.init
        return "given" if isinstance(init, np.ndarray) else init or next(iter(self.plan.problem.starts))


def _found(stand_in: StandIn, reason: str) -> list[Settled]:
    """Take over what a stand-in has found, one solution an instance."""
    found = stand_in.found() or []
    return [Settled(reason, one.steps, one.solution[None], np.array([one.accepted])) for one in found]


def _solved(bound: Bound | None) -> bool:
    return bound is not None and bound.exact and bound.solution is not None


def _end(chains: Chains, end: End, i: int, rows: int) -> Settled:
    """Tell how an instance of a batch ended: at a goal of its own, or with the batch."""
    if i in end.settled:
        return end.settled[i]
    part = slice(i * rows, (i + 1) * rows)
    return Settled(end.reason, chains.step, chains.best[part], chains.accepted[part])


def _noting(key: np.int64, drawn: list[int]) -> Draws:
    """Give a chain's draws for its start, and note that they were used."""

    def draws(count: int) -> np.ndarray:
        drawn.append(count)
        return start_draws(key, count)

    return draws
