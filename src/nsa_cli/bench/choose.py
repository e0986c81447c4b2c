"""The solvers of a benchmark, from the names that a user gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nsa_cli.bench.paper import OURS
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import HeuristicSolver, NsaSolver, PeerSolver, Solver
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Problem
from nsa_cli.policy.checkpoint import Stored, available, find_stored, neighbourhood_for
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, Temperatures

#: The row of `solve` without options.
DEFAULT = "nsa-solve"


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
    """Find policies, each with the label of its rows; refuse damaged ones before anything runs."""
    seen: dict[str, str] = {}
    for name in names:
        try:
            stored = find_stored(name, problem.name)
        except UsageError as error:
            raise UsageError(error.message, option="policies") from None
        if stored is None:
            continue  # uniform proposals have rows of their own
        neighbourhood = neighbourhood_for(problem, stored)
        fused = neighbourhood.kernel()
        if fused is not None and stored.feature_set in fused.policies:
            stored.arrays(fused.features[stored.feature_set])
        else:
            from nsa_cli.policy.build import build

            build(stored, neighbourhood.operations())
        label = Path(name).stem.removeprefix(f"{problem.name}-")
        if label in seen:
            raise UsageError(f"{seen[label]} and {name} would share a row; rename one", option="policies")
        seen[label] = name
        yield name, label, stored, neighbourhood


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
            packages = dict.fromkeys(peer.package for peer in known.values() if peer.program is None)
            why = f"no peer of {problem.name} is installed; pip install {' '.join(packages)}"
            raise UsageError(why, option="against")
        if not found:
            has = ", ".join([*known, "all"]) if known else "none"
            raise UsageError(f"{problem.name} has no peer {word!r}; it has {has}", option="against")
        names += found
    for peer in (known[name] for name in names):
        if not peer.installed:
            how = f"there is no program {peer.program} on the path"
            how = f"pip install {peer.package}" if peer.program is None else how
            raise UsageError(f"{peer.about}, is not installed; {how}", option="against")
    return [PeerSolver(name=name, paper=known[name].paper, peer=known[name]) for name in dict.fromkeys(names)]
