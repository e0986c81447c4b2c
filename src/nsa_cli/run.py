"""From instances to results: group, pack, start, anneal, decode, evaluate exactly.

The one place where problem, policy and engine meet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsa_cli import __version__
from nsa_cli.anneal.acceptance import RULES
from nsa_cli.anneal.engine import Outcome, advance, anneal
from nsa_cli.anneal.engine import start as start_chains
from nsa_cli.anneal.schedule import Schedule, parse_steps
from nsa_cli.anneal.stop import Deadline, Progress, StopRule
from nsa_cli.api import Settings, Task, check_seed, draw_seed
from nsa_cli.core.drawing import Rollout
from nsa_cli.core.draws import START, stream_keys, uniforms
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.operations import Operations
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Problem
from nsa_cli.core.result import Result
from nsa_cli.policy.checkpoint import find_policy

#: Elements (chains times size) that one batch may have.
_BATCH_ELEMENTS = 4_000_000

#: Statuses that a reason to stop leads to; any other is an ordinary end.
_STATUS = {"time_limit": "time_limit", "interrupted": "interrupted"}


class _Tools(NamedTuple):
    """What the instances of a problem are solved with."""

    operations: Operations[Any, Any]
    policy: Policy


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
    seed = draw_seed() if settings.seed is None else check_seed(settings.seed)
    device = choose_device(settings.device)
    if settings.time_limit is not None:
        if settings.time_limit < 0:
            raise UsageError(f"--time-limit: expected seconds >= 0, got {settings.time_limit}")
        stop = (Deadline(settings.started + settings.time_limit), *stop)
    results: dict[int, Result] = {}
    for plan, places in _grouped(tasks, settings, device).items():
        run = _Run(plan, settings, device, seed, stop, on_progress, looks)
        for some in _batches(places, plan, tasks):
            results |= dict(zip(some, run.solve([tasks[i] for i in some]), strict=True))
    return [results[i] for i in range(len(tasks))]


def rollout(
    problem: Problem[Any], instance: Instance, policy: Policy, schedule: Schedule, *, seed: int, chains: int
) -> Rollout:
    """Let a policy run from the paper's start, in the units of its training, and keep every step."""
    operations = problem.operations()
    keys = stream_keys(seed, np.arange(chains))
    make = problem.start("paper")
    x = torch.from_numpy(np.stack([make(instance, partial(_start_draws, key)) for key in keys]))
    batch = operations.pack([instance] * chains, unit=1.0)
    state, temperatures = start_chains(operations, batch, x), schedule.temperatures(0, schedule.steps)
    states = [state]
    for temperature in torch.from_numpy(temperatures):
        state = advance(operations, batch, policy, state, temperature[None], torch.from_numpy(keys))
        states.append(state)
    x_of, energy_of = (torch.stack([getattr(s, key) for s in states]).numpy() for key in ("x", "energy"))
    return Rollout(x_of, energy_of, temperatures)


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
    return _Tools(operations, policy.to(device) if isinstance(policy, torch.nn.Module) else policy)


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
    return _Plan(task.problem, tools, tools.operations.group(task.instance), schedule, chains)


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
    looks: int | None

    def solve(self, tasks: Sequence[Task]) -> list[Result]:
        """Solve one batch: each instance with its chains in consecutive rows."""
        if self.settings.acceptance not in RULES:
            raise UsageError(
                f"acceptance: expected one of {', '.join(RULES)}, got {self.settings.acceptance!r}"
            )
        began = time.monotonic()
        chains = self.plan.chains
        # Streams count the chains of an instance, not the rows of a batch: batch mates change nothing.
        streams = [(task.stream << 32) + chain for task in tasks for chain in range(chains)]
        keys = stream_keys(self.seed, np.array(streams))
        rows = [task.instance for task in tasks for _ in range(chains)]
        batch = self.plan.tools.operations.pack(rows, self.device, self.settings.unit)
        x = self._starts(tasks, keys)
        ready = time.monotonic()
        outcome = anneal(
            self.plan.tools.operations,
            batch,
            self.plan.tools.policy,
            x.to(self.device),
            self.plan.schedule,
            torch.from_numpy(keys).to(self.device),
            rule=self.settings.acceptance,
            stop=self.stop,
            looks=self.looks,
            on_progress=self.on_progress,
        )
        best = outcome.state.best.cpu().numpy()
        accepted = outcome.state.accepted.cpu().numpy()
        done = time.monotonic()
        share = 1 / len(tasks)
        seconds = {"setup": (ready - began) * share, "solve": (done - ready) * share, "bound": 0.0}
        return [
            self._result(task, best[i : i + chains], accepted[i : i + chains], outcome, seconds)
            for i, task in zip(range(0, len(rows), chains), tasks, strict=True)
        ]

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

    def _result(
        self,
        task: Task,
        solutions: np.ndarray,
        accepted: np.ndarray,
        outcome: Outcome,
        seconds: dict[str, float],
    ) -> Result:
        """Choose among the chains by exact evaluation, and check what is handed out."""
        instance, problem = task.instance, self.plan.problem
        objectives = [instance.objective(solution) for solution in solutions]
        chain = objectives.index(min(objectives) if problem.sense == "min" else max(objectives))
        if (why := instance.violation(solutions[chain])) is not None:
            raise AssertionError(f"the engine returned an infeasible solution: {why}")
        seconds = {"load": task.seconds, **seconds}
        return Result(
            problem=problem.name,
            sense=problem.sense,
            instance=instance,
            solution=solutions[chain],
            objective=objectives[chain],
            status=_STATUS.get(outcome.reason, "feasible"),
            stop_reason=outcome.reason,
            seed=self.seed,
            steps=outcome.state.step,
            chains=self.plan.chains,
            accepted=int(accepted[chain]),
            policy=self.plan.tools.policy.name,
            start=self._start_name(),
            schedule=self.plan.schedule.to_dict(),
            backend="torch",
            device=str(self.device),
            threads=torch.get_num_threads(),
            seconds={**seconds, "total": sum(seconds.values())},
            version=__version__,
        )

    def _start_name(self) -> str:
        init = self.settings.init
        return "given" if isinstance(init, np.ndarray) else init or next(iter(self.plan.problem.starts))


def _start_draws(key: np.int64, count: int) -> np.ndarray:
    """Uniform numbers for a chain's start, float64[count]."""
    return uniforms(np.array([key]), START, count)[:, 0]
