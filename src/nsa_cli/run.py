"""From instances to results: group, pack, start, anneal, decode, evaluate exactly.

The one place where problem, policy and engine meet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsa_cli import __version__
from nsa_cli.anneal.acceptance import RULES
from nsa_cli.anneal.engine import Outcome, anneal
from nsa_cli.anneal.goals import Settled
from nsa_cli.anneal.schedule import Schedule, parse_steps
from nsa_cli.anneal.stop import Deadline, Progress, StopRule, first_reason
from nsa_cli.api import Settings, Task, check_seed, draw_seed
from nsa_cli.core.bound import Bound
from nsa_cli.core.draws import START, stream_keys, uniforms
from nsa_cli.core.errors import NoMemoryError, NsaError, UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.core.manifest import manifest
from nsa_cli.core.operations import Operations
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Problem
from nsa_cli.core.result import Result
from nsa_cli.limits import bounds_of, check_goals, goals_of
from nsa_cli.policy.checkpoint import digest, find_policy

#: Elements (chains times size) that one batch may have.
_BATCH_ELEMENTS = 4_000_000

#: Statuses that a reason to stop leads to; any other is an ordinary end.
_STATUS = {"time_limit": "time_limit", "interrupted": "interrupted"}

#: What stop rules are shown while there are no chains.
_NOTHING_YET = Progress(0, 0, 0.0, 0.0, float("inf"))


class _Tools(NamedTuple):
    """What the instances of a problem are solved with."""

    operations: Operations[Any, Any]
    policy: Policy
    digest: str | None


class _Plan(NamedTuple):
    """What instances must share to share a batch."""

    problem: Problem[Any]
    tools: _Tools
    group: Hashable
    schedule: Schedule
    chains: int


def solve_all(
    tasks: Sequence[Task],
    settings: Settings,
    *,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
) -> list[Result]:
    """Solve instances, batching those that can share a batch.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    stop : tuple of StopRule
        Beside the time limit.
    on_progress : callable, optional

    Returns
    -------
    list of Result
        In the order of `tasks`.
    """
    results: dict[int, Result] = {}
    for i, result in solve_each(tasks, settings, stop=stop, on_progress=on_progress):
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
) -> Iterator[tuple[int, Result | NsaError]]:
    """Solve instances as `solve_all` does, and give each result, with its place in `tasks`, once it is ready.

    An error that the instances of a batch meet stands in place of their results and does not stop the rest.
    A time limit is for all: each batch has its share of what is left, or the first would take it all.
    """
    check_goals(settings)
    if settings.acceptance not in RULES:
        raise UsageError(f"acceptance: expected one of {', '.join(RULES)}, got {settings.acceptance!r}")
    seed = draw_seed() if settings.seed is None else check_seed(settings.seed)
    device = choose_device(settings.device)
    if settings.time_limit is not None and settings.time_limit < 0:
        raise UsageError(f"--time-limit: expected seconds >= 0, got {settings.time_limit}")
    waiting = len(tasks)
    for plan, places in _grouped(tasks, settings, device).items():
        for some in _batches(places, plan, tasks):
            rules = (*_deadline(settings, len(some) / waiting), *stop)
            run = _Run(plan, settings, device, seed, rules, on_progress)
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


def _deadline(settings: Settings, share: float) -> tuple[StopRule, ...]:
    """Make the rule that ends a batch after its share of the time that is left."""
    if settings.time_limit is None:
        return ()
    now = time.monotonic()
    return (Deadline(now + share * (settings.started + settings.time_limit - now)),)


def choose_device(name: str) -> torch.device:
    """Turn ``auto``, ``cpu`` or ``cuda`` (``cuda:1``) into a device.

    Raises
    ------
    UsageError
        If it is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name != "cpu" and not name.startswith("cuda"):
        raise UsageError(f"--device: expected auto, cpu or cuda, got {name!r}")
    if name != "cpu" and not torch.cuda.is_available():
        raise UsageError(f"--device {name}: this machine has no CUDA device; use cpu or auto")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except RuntimeError:
        raise UsageError(f"--device: there is no device {name!r}") from None
    return device


def _grouped(tasks: Sequence[Task], settings: Settings, device: torch.device) -> dict[_Plan, list[int]]:
    """Sort instances by what they can share; each problem's operations and each policy is made once."""
    groups: dict[_Plan, list[int]] = {}
    tools: dict[tuple[int, str], _Tools] = {}
    for place, task in enumerate(tasks):
        name = settings.policy or task.problem.default_policy(task.instance)
        key = (id(task.problem), name)
        if key not in tools:
            tools[key] = _tools(task.problem, name, settings.greedy, device)
        plan = _plan(task, tools[key], settings)
        groups.setdefault(plan, []).append(place)
    return groups


def _tools(problem: Problem[Any], name: str, greedy: bool, device: torch.device) -> _Tools:
    operations = problem.operations()
    policy = find_policy(name, problem.name, operations, greedy=greedy)
    moved = policy.to(device) if isinstance(policy, torch.nn.Module) else policy
    return _Tools(operations, moved, digest(name, problem.name))


def _plan(task: Task, tools: _Tools, settings: Settings) -> _Plan:
    """Choose steps, temperatures and chains: what the user says, else the problem's budget."""
    budget = task.problem.budget(task.instance, tools.policy.trained)
    steps = budget.steps if settings.steps is None else parse_steps(settings.steps, task.instance.size)
    chains = budget.chains if settings.chains is None else settings.chains
    if chains < 1:
        raise UsageError(f"--chains: expected at least 1, got {chains}")
    schedule = Schedule(
        steps,
        budget.t_start if settings.t_start is None else settings.t_start,
        budget.t_end if settings.t_end is None else settings.t_end,
        settings.schedule,  # type: ignore[arg-type]  # checked by Schedule
    )
    return _Plan(task.problem, tools, task.problem.group(task.instance), schedule, chains)


def _batches(places: list[int], plan: _Plan, tasks: Sequence[Task]) -> list[list[int]]:
    """Cut a group into batches that fit into memory; the cut changes no answer."""
    elements = tasks[places[0]].instance.size * plan.chains
    width = max(_BATCH_ELEMENTS // elements, 1)
    return [places[i : i + width] for i in range(0, len(places), width)]


class _Run(NamedTuple):
    """Everything that the batches of one group share."""

    plan: _Plan
    settings: Settings
    device: torch.device
    seed: int
    stop: tuple[StopRule, ...]
    on_progress: Callable[[Progress], None] | None

    def solve(self, tasks: Sequence[Task]) -> list[Result]:
        """Solve one batch: what a bound's method has not solved on its way is annealed.

        Starts come first: whoever interrupts the bound gets them at once.
        """
        began, chains = time.monotonic(), self.plan.chains
        # Streams count the chains of an instance, not the rows of a batch: batch mates change nothing.
        streams = [(task.stream << 32) + chain for task in tasks for chain in range(chains)]
        keys = stream_keys(self.seed, np.array(streams))
        x = self._starts(tasks, keys)
        setup = (time.monotonic() - began) / len(tasks)
        bounds = bounds_of(tasks, self.settings, lambda: first_reason(self.stop, _NOTHING_YET) is not None)
        pairs = list(zip(tasks, bounds, strict=True))
        left = [pair for pair in pairs if not _solved(pair[1])]
        rows = np.repeat([not _solved(bound) for bound in bounds], chains)
        annealed = iter(self._anneal(left, keys[rows], x[torch.from_numpy(rows)], setup) if left else ())
        return [self._proved(*pair, setup) if _solved(pair[1]) else next(annealed) for pair in pairs]

    def _anneal(
        self, pairs: Sequence[tuple[Task, Bound | None]], keys: np.ndarray, x: Tensor, setup: float
    ) -> list[Result]:
        """Anneal one batch: each instance with its chains in consecutive rows of `keys` and `x`."""
        began, chains = time.monotonic(), self.plan.chains
        tasks, bounds = zip(*pairs, strict=True)
        rows = [task.instance for task in tasks for _ in range(chains)]
        batch = self.plan.tools.operations.pack(rows, self.device, self.settings.unit)
        ready = time.monotonic()
        outcome = anneal(
            self.plan.tools.operations,
            batch,
            self.plan.tools.policy,
            x.to(self.device),
            self.plan.schedule,
            torch.from_numpy(keys).to(self.device),
            rule=self.settings.acceptance,  # type: ignore[arg-type]  # checked by solve_all
            stop=self.stop,
            goals=goals_of(tasks, bounds, self.settings),
            chains=chains,
            on_progress=self.on_progress,
        )
        done = time.monotonic()
        share = 1 / len(tasks)
        seconds = {"setup": setup + (ready - began) * share, "solve": (done - ready) * share}
        ends = [_end(outcome, i, chains) for i in range(len(tasks))]
        return [
            self._result(task, bound, end, seconds) for (task, bound), end in zip(pairs, ends, strict=True)
        ]

    def _proved(self, task: Task, bound: Bound | None, setup: float) -> Result:
        """Report the optimum that the bound's method has met."""
        assert bound is not None
        assert bound.solution is not None
        end = Settled("optimal", 0, torch.from_numpy(bound.solution)[None], torch.zeros(1, dtype=torch.int64))
        return self._result(task, bound, end, {"setup": setup, "solve": 0.0})

    def _starts(self, tasks: Sequence[Task], keys: np.ndarray) -> Tensor:
        init = self.settings.init
        if isinstance(init, np.ndarray):
            return torch.from_numpy(np.stack([init] * len(keys)))
        make = self.plan.problem.start(init)
        rows: list[Solution] = []
        for row, key in enumerate(keys):
            instance = tasks[row // self.plan.chains].instance
            rows.append(make(instance, partial(_start_draws, key)))
        return torch.from_numpy(np.stack(rows))

    def _result(self, task: Task, bound: Bound | None, end: Settled, seconds: dict[str, float]) -> Result:
        """Choose among the chains, and what the bound met, by exact evaluation; check what is handed out."""
        instance, problem = task.instance, self.plan.problem
        solutions, found_by = list(end.best.cpu().numpy()), "annealing"
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
            policy=self.plan.tools.policy.name,
            start=self._start_name(),
            schedule=self.plan.schedule.to_dict(),
            backend="torch",
            device=str(self.device),
            threads=torch.get_num_threads(),
            seconds={**seconds, "total": sum(seconds.values())},
            version=__version__,
            manifest=manifest(self.seed, self.settings.given(), self.plan.tools.digest, task.file),
            bound=bound,
            found_by=found_by,
        )

    def _start_name(self) -> str:
        init = self.settings.init
        return "given" if isinstance(init, np.ndarray) else init or next(iter(self.plan.problem.starts))


def _solved(bound: Bound | None) -> bool:
    return bound is not None and bound.exact and bound.solution is not None


def _end(outcome: Outcome, i: int, chains: int) -> Settled:
    """Tell how an instance of a batch ended: at a goal of its own, or with the batch."""
    if i in outcome.settled:
        return outcome.settled[i]
    state, rows = outcome.state, slice(i * chains, (i + 1) * chains)
    return Settled(outcome.reason, state.step, state.best[rows], state.accepted[rows])


def _start_draws(key: np.int64, count: int) -> np.ndarray:
    """Uniform numbers for a chain's start, float64[count]."""
    return uniforms(np.array([key]), START, count)[:, 0]
