"""The solvers of a benchmark, from the names that a user gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from nsa_cli.bench.paper import OURS
from nsa_cli.bench.solvers import HeuristicSolver, NsaSolver, PeerSolver, Solver
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Problem
from nsa_cli.policy.checkpoint import Stored, available, find_stored, neighbourhood_for
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, TemperaturesBySize, constant

#: The row of `solve` without options.
DEFAULT = "nsa-solve"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request for a benchmark.

    Attributes
    ----------
    what : tuple of str
        A problem, or files and folders.
    sizes : tuple of int, or None
        For a problem.
    seeds : tuple of int
    count : int
        Instances of each suite, at most.
    steps : tuple of int
        Multiples of N, or N^2.
    budget : tuple of float, or None
        Seconds for each instance; None for a benchmark by steps.
    policies : tuple of str, or None
        Names or files; None for all that are shipped, or by seconds for the default one.
    against : tuple of str, or None
        Names of peers, or ``all``.
    time_limit : float
        Seconds for each instance, of peers beside a benchmark by steps.
    references : Path, optional
        Folder of reference objectives; for files, a list of them.
    device : str
        Of a benchmark by steps.
    threads : int, optional
        The same; one for each core if not given.
    neighbourhood : str, optional
        Of one more row of uniform proposals.
    """

    what: tuple[str, ...]
    sizes: tuple[int, ...] | None = None
    seeds: tuple[int, ...] = (1,)
    count: int = 100
    steps: tuple[int, ...] = (10,)
    budget: tuple[float, ...] | None = None
    policies: tuple[str, ...] | None = None
    against: tuple[str, ...] | None = None
    time_limit: float = 1.0
    references: Path | None = None
    device: str = "cpu"
    threads: int | None = None
    neighbourhood: str | None = None


def choose_solvers(suite: Suite, contribution: BenchContribution, request: Request) -> list[Solver]:
    """List the solvers for a suite, in the order of the table: `solve` without options is the first.

    Raises
    ------
    UsageError
        If a name is unknown, two policies share one, or a peer is not installed.
    """
    chosen = choose_peers(suite.problem, contribution, request.against or ())
    peers = [PeerSolver(name=name, paper=peer.paper, peer=peer) for name, peer in chosen]
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


def _threads(request: Request) -> dict[str, Any]:
    return {} if request.threads is None else {"threads": request.threads}


def _by_steps(
    problem: Problem[Any], contribution: BenchContribution, request: Request
) -> Iterator[NsaSolver]:
    """Annealing by the paper's protocol, one chain from its start: uniform proposals, then policies."""
    start = "paper" if "paper" in problem.starts else None
    protocol: dict[str, Any] = {"chains": 1, "bound": False, "init": start, "device": request.device}
    protocol |= _threads(request)

    def row(
        name: str, temperatures: TemperaturesBySize | None, paper: str | None = None, **settings: Any
    ) -> NsaSolver:
        settings["unit"] = None if temperatures is None else 1.0
        mode = "greedy" if settings.get("greedy") else "sampled"
        chosen = {**protocol, **settings}
        return NsaSolver(name=name, mode=mode, paper=paper, temperatures=temperatures, settings=chosen)

    uniform = partial(row, policy="uniform")
    yield uniform("nsa-sa", contribution.paper_temperatures("sa"), OURS["sa"])
    if contribution.tuned:
        yield uniform("nsa-sa-tuned", contribution.tuned)
    tuned: dict[str, TemperaturesBySize | None] = {**contribution.neighbourhoods}
    if request.neighbourhood is not None:
        tuned.setdefault(problem.neighbourhood(request.neighbourhood).name, None)
    for name, temperatures in tuned.items():
        yield uniform(f"nsa-sa-{name}", temperatures, neighbourhood=name)
    names = available(problem.name) if request.policies is None else request.policies
    for policy in _policies(problem, names):
        method = next((part for part in policy.label.split("-") if part in OURS), "")
        temperatures, trained = contribution.paper_temperatures(method), policy.stored.trained
        if ":" in policy.neighbourhood:  # what a temperature means changes with the number of candidates
            temperatures = None
        elif trained is not None:
            temperatures = constant((trained.t_start, trained.t_end))
        learnt = partial(row, temperatures=temperatures, paper=OURS.get(method), policy=policy.name)
        yield learnt(f"nsa-{policy.label}")
        if policy.stored.feature_set != "gaussian":  # whose likeliest step is no step
            yield learnt(f"nsa-{policy.label}-greedy", greedy=True)


def _by_seconds(suite: Suite, contribution: BenchContribution, request: Request) -> Iterator[NsaSolver]:
    """`solve` as it is, its large steps alone, learnt annealing, and uniform annealing at its best."""
    problem = suite.problem
    one_chain: dict[str, Any] = {"chains": 1, "bound": False}

    def row(name: str, temperatures: TemperaturesBySize | None = None, **settings: Any) -> NsaSolver:
        chosen = {"threads": 1, "device": "cpu", **settings}
        return NsaSolver(name=name, temperatures=temperatures, settings=chosen)

    yield row(DEFAULT)
    if problem.large_step() is not None:
        yield row("nsa-large-step", method="large-step", bound=False)
    names = request.policies
    if names is None:
        largest = max((task.instance for task in suite.tasks), key=lambda instance: instance.size)
        names = (problem.neighbourhood().default_policy(largest),)
    for policy in _policies(problem, names):
        yield row(f"nsa-{policy.label}", policy=policy.name, **one_chain)
    best: str | None = problem.default_neighbourhood
    suffix, tuned = f"-{best}", contribution.neighbourhoods.get(problem.default_neighbourhood)
    if tuned is None:
        best, tuned = None, contribution.tuned
        suffix = "-tuned" if tuned else ""
    yield row(f"nsa-sa{suffix}", tuned, policy="uniform", neighbourhood=best, **one_chain)


class _LabelledPolicy(NamedTuple):
    """A policy with the label of its rows."""

    name: str
    label: str
    stored: Stored
    neighbourhood: str


def _policies(problem: Problem[Any], names: Sequence[str]) -> Iterator[_LabelledPolicy]:
    """Find policies, and refuse damaged ones before anything runs."""
    seen: dict[str, str] = {}
    for name in names:
        try:
            stored = find_stored(name, problem.name)
        except UsageError as error:
            raise UsageError(error.message, option="policies") from None
        if stored is None:
            continue  # uniform proposals have rows of their own
        neighbourhood = neighbourhood_for(problem, stored)
        _check_weights(problem, stored, neighbourhood)
        label = Path(name).stem.removeprefix(f"{problem.name}-")
        if label in seen:
            message = f"{seen[label]} and {name} would share a row; rename one"
            raise UsageError(message, option="policies")
        seen[label] = name
        yield _LabelledPolicy(name, label, stored, neighbourhood.name)


def _check_weights(problem: Problem[Any], stored: Stored, neighbourhood: Neighbourhood[Any]) -> None:
    """Refuse a damaged policy: by its kernel's features, or where there is no kernel, by the reference's."""
    fused = neighbourhood.kernel()
    if fused is not None and stored.feature_set in fused.policies:
        stored.arrays(fused.features[stored.feature_set])
        return
    operations = neighbourhood.operations()
    from nsa_cli.policy.build import build

    build(stored, operations)


def _heuristics(
    suite: Suite, contribution: BenchContribution, starts: Collection[str]
) -> Iterator[HeuristicSolver]:
    """The problem's heuristics, then its starts, each function once.

    Without the start ``paper``, where annealing begins.
    """
    problem, found = suite.problem, dict(contribution.heuristics)
    seen = [problem.starts.get("paper")]
    seen += [heuristic.solve for heuristic in found.values()]
    for name, start in problem.starts.items():
        if name in starts and start not in seen:
            seen.append(start)
            found[name] = Heuristic(start)
    for name, heuristic in found.items():
        if heuristic.largest is None or suite.size <= heuristic.largest:
            yield HeuristicSolver(name=name, heuristic=heuristic, paper=heuristic.paper)


def choose_peers(
    problem: Problem[Any], contribution: BenchContribution, against: Sequence[str]
) -> Iterator[tuple[str, Peer]]:
    """Find peers by their names, or by the first word: ``ortools`` is all of OR-Tools.

    Raises
    ------
    UsageError
        If one is unknown or not installed.
    """
    known = contribution.peers
    if tuple(against) == ("all",):
        names = [name for name, peer in known.items() if peer.installed]
        if not names:
            packages = " ".join(
                dict.fromkeys(peer.package for peer in known.values() if peer.program is None)
            )
            message = f"no peer of {problem.name} is installed; pip install {packages}"
            raise UsageError(message, option="against")
    else:
        names = [name for word in against for name in _matching(word, known, problem.name)]
    for name in dict.fromkeys(names):
        peer = known[name]
        if not peer.installed:
            how = f"there is no program {peer.program} on the path"
            how = f"pip install {peer.package}" if peer.program is None else how
            raise UsageError(f"{peer.about}, is not installed; {how}", option="against")
        yield name, peer


def _matching(word: str, known: Mapping[str, Peer], problem: str) -> list[str]:
    found = [name for name in known if name == word or name.startswith(f"{word}-")]
    if not found:
        has = ", ".join([*known, "all"]) if known else "none"
        raise UsageError(f"{problem} has no peer {word!r}; it has {has}", option="against")
    return found
