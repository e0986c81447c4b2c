"""Solvers with a budget of steps or seconds: ours, heuristics and peers; and those of a benchmark."""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from nsa_cli.bench.request import Request
from nsa_cli.bench.suites import OURS, Suite
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Problem, Task
from nsa_cli.policy.checkpoint import Stored, available, find_stored, neighbourhood_for
from nsa_cli.pool import Stopped
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, Temperatures, at_size
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import digest_once
from nsa_cli.solver.solve import solve_all

#: The row of `solve` without options.
DEFAULT = "nsa-solve"

#: Steps, or seconds for each instance; None for a solver without limit.
Budget: TypeAlias = Steps | float | None


def format_budget(budget: Budget) -> str:
    """Write a budget as ``10N2``, ``20ms`` or ``1s``; nothing for none."""
    if not isinstance(budget, float):
        return "" if budget is None else str(budget.plain())
    return f"{budget:g}s" if budget >= 1 else f"{1e3 * budget:g}ms"


class Interrupted(Exception):  # noqa: N818 - no error
    """The user asked to stop before a run was complete."""


class Solved(NamedTuple):
    """A solution, and the steps of each chain that it took."""

    solution: Solution
    steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """A solver with its budget: one row of the table.

    Attributes
    ----------
    name : str
        Ours begin with ``nsa``.
    kind : {'nsa', 'heuristic', 'peer'}
    budget : Steps, float or None
    mode : {'sampled', 'greedy', ''}
    paper : str or None
        The solver of the paper that it is compared with.
    threads : int or None
        At most; None where the solver decides.
    """

    kind: ClassVar[str]
    name: str
    budget: Budget = None
    mode: str = ""
    paper: str | None = None
    threads: int | None = 1

    @abstractmethod
    def solve(self, tasks: Sequence[Task], seed: int, stopped: Stopped = bool) -> list[Solved]:
        """Solve instances of one size: ours side by side, others one by one.

        Raises
        ------
        Interrupted
            If `stopped`, which is False by default, before all are solved.
        """

    def identity(self, suite: Suite) -> list[Any]:
        """Name what an answer depends on beside the instance and the seed, as plain data."""
        return [self.kind, self.name, format_budget(self.budget)]


@dataclass(frozen=True, kw_only=True)
class NsaSolver(Solver):
    """`solve` of this package.

    Attributes
    ----------
    settings : mapping
        Fields of `Settings`.
    temperatures : tuple of float, or callable, optional
        First and last temperature, or these by size; the problem's own if not given.
    """

    kind: ClassVar[str] = "nsa"
    settings: Mapping[str, Any] = field(default_factory=dict)
    temperatures: Temperatures | None = None

    def solve(self, tasks: Sequence[Task], seed: int, stopped: Stopped = bool) -> list[Solved]:
        start, end = at_size(self.temperatures, tasks[0].instance.size) or (None, None)
        limit: dict[str, Any] = {"steps" if isinstance(self.budget, Steps) else "time_limit": self.budget}
        settings = Settings(seed=seed, t_start=start, t_end=end, **limit, **self.settings)
        results = solve_all(tasks, settings, asked=stopped)
        if any(result.stop_reason == "interrupted" for result in results):
            raise Interrupted
        return [Solved(result.raw, result.steps) for result in results]

    def identity(self, suite: Suite) -> list[Any]:
        settings = {**self.settings, "threads": None}  # they share out chains
        policy = settings.get("policy")
        hashed = None if policy is None else digest_once(policy, suite.problem.name)
        return [*super().identity(suite), settings, at_size(self.temperatures, suite.size), hashed]


@dataclass(frozen=True, kw_only=True)
class HeuristicSolver(Solver):
    """A heuristic of the problem's, with the random numbers that a start of `solve` gets with this seed."""

    kind: ClassVar[str] = "heuristic"
    heuristic: Heuristic

    def solve(self, tasks: Sequence[Task], seed: int, stopped: Stopped = bool) -> list[Solved]:
        keys = stream_keys(seed, np.array([task.stream << 32 for task in tasks]))
        pairs = zip(tasks, keys, strict=True)
        return [Solved(self.heuristic.solve(task.instance, partial(start_draws, key))) for task, key in pairs]


@dataclass(frozen=True, kw_only=True)
class PeerSolver(Solver):
    """Another project's solver, with its output kept from stdout."""

    kind: ClassVar[str] = "peer"
    threads: int | None = None
    peer: Peer

    def solve(self, tasks: Sequence[Task], seed: int, stopped: Stopped = bool) -> list[Solved]:
        assert isinstance(self.budget, float)
        with _stdout_closed():
            return [Solved(self.peer.solve(task.instance, self.budget)) for task in tasks]

    def identity(self, suite: Suite) -> list[Any]:
        return [*super().identity(suite), metadata.version(self.peer.package)]


@contextlib.contextmanager
def _stdout_closed() -> Iterator[None]:
    """Send file descriptor 1 to nowhere: compiled libraries write to it, past `sys.stdout`."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def choose_solvers(suite: Suite, contribution: BenchContribution, request: Request) -> list[Solver]:
    """List the solvers for a suite, in the order of the table: `solve` without options is the first.

    Raises
    ------
    UsageError
        If a name is unknown, two policies share one, or a peer is not installed.
    """
    peers = _peers(suite.problem, contribution.peers, request.against or ())
    if request.budget:
        heuristics = _heuristics(suite, contribution, {"greedy"})
        timed = [*_by_seconds(suite, contribution, request), *peers]
        return [*(replace(s, budget=seconds) for seconds in request.budget for s in timed), *heuristics]
    default = NsaSolver(name=DEFAULT, settings=_threads(request))
    ours = [
        replace(solver, budget=Steps(multiple, contribution.power))
        for solver in _by_steps(suite.problem, contribution, request)
        for multiple in request.steps
        if multiple == 1 or solver.mode != "greedy"
    ]
    heuristics = _heuristics(suite, contribution, suite.problem.starts)
    return [default, *ours, *heuristics, *(replace(peer, budget=request.time_limit) for peer in peers)]


def _by_steps(
    problem: Problem[Any], contribution: BenchContribution, request: Request
) -> Iterator[NsaSolver]:
    """Annealing by the paper's protocol, one chain from its start: uniform proposals, then policies."""
    start = "paper" if "paper" in problem.starts else None
    protocol = {"chains": 1, "bound": False, "init": start, "device": request.device} | _threads(request)

    def row(name: str, temperatures: Temperatures | None, paper: str | None, **settings: Any) -> NsaSolver:
        settings = {**protocol, **settings, "unit": None if temperatures is None else 1.0}
        mode = "greedy" if settings.get("greedy") else "sampled"
        return NsaSolver(name=name, mode=mode, paper=paper, temperatures=temperatures, settings=settings)

    yield row("nsa-sa", contribution.paper_temperatures("sa"), OURS["sa"], policy="uniform")
    if contribution.tuned:
        yield row("nsa-sa-tuned", contribution.tuned, None, policy="uniform")
    tuned: dict[str, Temperatures | None] = {**contribution.neighbourhoods}
    if request.neighbourhood is not None:
        tuned.setdefault(problem.neighbourhood(request.neighbourhood).name, None)
    for name, temperatures in tuned.items():
        yield row(f"nsa-sa-{name}", temperatures, None, policy="uniform", neighbourhood=name)
    names = available(problem.name) if request.policies is None else request.policies
    for name, label, stored, neighbourhood in _policies(problem, names):
        method = next((part for part in label.split("-") if part in OURS), "")
        temperatures = contribution.paper_temperatures(method)
        if ":" in neighbourhood.name:  # what a temperature means changes with the number of candidates
            temperatures = None
        elif stored.trained is not None:
            temperatures = (stored.trained.t_start, stored.trained.t_end)
        yield row(f"nsa-{label}", temperatures, OURS.get(method), policy=name)
        if stored.feature_set != "gaussian":  # whose likeliest step is no step
            yield row(f"nsa-{label}-greedy", temperatures, OURS.get(method), policy=name, greedy=True)


def _threads(request: Request) -> dict[str, Any]:
    return {} if request.threads is None else {"threads": request.threads}


def _by_seconds(suite: Suite, contribution: BenchContribution, request: Request) -> Iterator[NsaSolver]:
    """`solve` as it is, its large steps alone, learnt annealing, and uniform annealing at its best."""
    problem, names = suite.problem, request.policies
    one_chain: dict[str, Any] = {"chains": 1, "bound": False}

    def row(name: str, temperatures: Temperatures | None = None, **settings: Any) -> NsaSolver:
        settings = {"threads": 1, "device": "cpu", **settings}
        return NsaSolver(name=name, temperatures=temperatures, settings=settings)

    yield row(DEFAULT)
    if problem.large_step() is not None:
        yield row("nsa-large-step", method="large-step", bound=False)
    if names is None:
        largest = max((task.instance for task in suite.tasks), key=lambda instance: instance.size)
        names = (problem.neighbourhood().default_policy(largest),)
    for name, label, *_ in _policies(problem, names):
        yield row(f"nsa-{label}", policy=name, **one_chain)
    best: str | None = problem.default_neighbourhood
    suffix, tuned = f"-{best}", contribution.neighbourhoods.get(problem.default_neighbourhood)
    if tuned is None:
        best, tuned = None, contribution.tuned
        suffix = "-tuned" if tuned else ""
    yield row(f"nsa-sa{suffix}", tuned, policy="uniform", neighbourhood=best, **one_chain)


def _policies(
    problem: Problem[Any], names: Sequence[str]
) -> Iterator[tuple[str, str, Stored, Neighbourhood[Any]]]:
    """Find policies, each with the label of its rows."""
    seen: dict[str, str] = {}
    for name in names:
        if name == "none":
            continue
        try:
            stored = find_stored(name, problem.name)
        except UsageError as error:
            raise UsageError(error.message, option="policies") from None
        if stored is None:
            continue  # uniform proposals have rows of their own
        label = Path(name).stem.removeprefix(f"{problem.name}-")
        if label in seen:
            raise UsageError(f"{seen[label]} and {name} would share a row; rename one", option="policies")
        seen[label] = name
        yield name, label, stored, neighbourhood_for(problem, stored)


def _heuristics(
    suite: Suite, contribution: BenchContribution, starts: Collection[str]
) -> Iterator[HeuristicSolver]:
    """The problem's heuristics, then its starts, each function once.

    Without the start ``paper``, where annealing begins.
    """
    problem, found = suite.problem, dict(contribution.heuristics)
    seen = [problem.starts.get("paper"), *(heuristic.solve for heuristic in found.values())]
    for name, start in problem.starts.items():
        if name in starts and start not in seen:
            seen.append(start)
            found[name] = Heuristic(start)
    for name, heuristic in found.items():
        if heuristic.largest is None or suite.size <= heuristic.largest:
            yield HeuristicSolver(name=name, heuristic=heuristic, paper=heuristic.paper)


def _peers(problem: Problem[Any], known: Mapping[str, Peer], against: Sequence[str]) -> list[PeerSolver]:
    """Find peers by their names, or by the first word: ``ortools`` is all of OR-Tools.

    Raises
    ------
    UsageError
        If one is unknown or not installed.
    """
    names: list[str] = []
    for word in against:
        found = [name for name in known if name == word or name.startswith(f"{word}-")]
        if word == "all":
            found = [name for name, peer in known.items() if peer.installed]
        if not found and word == "all" and known:
            packages = dict.fromkeys(peer.package for peer in known.values())
            why = f"no peer of {problem.name} is installed; pip install {' '.join(packages)}"
            raise UsageError(why, option="against")
        if not found:
            has = ", ".join([*known, "all"]) if known else "none"
            raise UsageError(f"{problem.name} has no peer {word!r}; it has {has}", option="against")
        names += found
    for peer in (known[name] for name in names):
        if not peer.installed:
            why = f"{peer.about}, is not installed; pip install {peer.package}"
            raise UsageError(why, option="against")
    return [PeerSolver(name=name, paper=known[name].paper, peer=known[name]) for name in dict.fromkeys(names)]
