"""Which solvers a benchmark has, from the names that a user gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nsa_cli.bench.paper import OURS
from nsa_cli.bench.solvers import Annealer, Classical, Foreign, Solver
from nsa_cli.core.bench import BenchContribution, Heuristic, Peer, Temperatures
from nsa_cli.core.errors import InputError, UsageError
from nsa_cli.core.problem import Problem
from nsa_cli.policy.build import find_policy
from nsa_cli.policy.checkpoint import available, directories, find_stored, neighbourhood_for
from nsa_cli.policy.gaussian import GaussianPolicy


@dataclass(frozen=True)
class Wanted:
    """What a user asks for.

    Attributes
    ----------
    steps : tuple of int
        Multiples of N, or N^2.
    policies : tuple of str, or None
        Names or files; None for all that are shipped.
    against : tuple of str
        Names of peers, or ``all``.
    seconds : float
        For each instance, of peers that have a limit.
    device : str
    neighbourhood : str, optional
        Of further rows with uniform proposals.
    """

    steps: tuple[int, ...] = (10,)
    policies: tuple[str, ...] | None = None
    against: tuple[str, ...] = ()
    seconds: float = 1.0
    device: str = "cpu"
    neighbourhood: str | None = None


def choose_solvers(
    problem: Problem[Any], contribution: BenchContribution | None, size: int, wanted: Wanted
) -> list[Solver]:
    """List the solvers for one size, in the order of the table.

    Raises
    ------
    UsageError
        If a name is unknown, two policies share one, or a peer is not installed.
    """
    unit = contribution.steps if contribution else "N"
    annealers = [
        replace(annealer, budget=f"{m}{unit}", multiple=m)
        for annealer in [
            *_uniform(contribution, wanted.device),
            *_in_neighbourhood(problem, contribution, wanted),
            *_policies(problem, contribution, wanted),
        ]
        for m in wanted.steps
        if m == 1 or annealer.mode != "greedy"
    ]
    return [*annealers, *_heuristics(problem, contribution, size), *_peers(problem, contribution, wanted)]


def _uniform(contribution: BenchContribution | None, device: str) -> Iterator[Annealer]:
    """Vanilla simulated annealing, at the paper's temperatures and at tuned ones."""
    vanilla = Annealer(name="nsa-sa", mode="sampled", paper=OURS["sa"], device=device)
    if contribution is None:
        yield vanilla
        return
    yield replace(vanilla, temperatures=_always(contribution.temperatures["sa"]))
    if contribution.tuned:
        yield replace(vanilla, name="nsa-sa-tuned", paper=None, temperatures=contribution.tuned)
    for name, tuned in contribution.neighbourhoods.items():
        yield replace(vanilla, name=f"nsa-sa-{name}", paper=None, temperatures=tuned, neighbourhood=name)


def _in_neighbourhood(
    problem: Problem[Any], contribution: BenchContribution | None, wanted: Wanted
) -> Iterator[Annealer]:
    """Uniform proposals in a neighbourhood without tuned row, at temperatures of its budget."""
    tuned = contribution.neighbourhoods if contribution else ()
    if wanted.neighbourhood is not None and wanted.neighbourhood not in tuned:
        name = problem.neighbourhood(wanted.neighbourhood).name
        yield Annealer(name=f"nsa-sa-{name}", mode="sampled", neighbourhood=name, device=wanted.device)


def _policies(
    problem: Problem[Any], contribution: BenchContribution | None, wanted: Wanted
) -> Iterator[Annealer]:
    """Each policy sampled, and greedy where its likeliest action is a move."""
    specs = available(problem.name) if wanted.policies is None else wanted.policies
    seen: dict[str, str] = {}
    for spec in specs:
        neighbourhood = neighbourhood_for(problem, find_stored(spec, problem.name))
        policy = find_policy(spec, problem.name, neighbourhood.operations())
        label = Path(spec).stem.removeprefix(f"{problem.name}-")
        if label in seen:
            raise UsageError(f"--policies: {seen[label]} and {spec} would share a row; rename one")
        seen[label] = spec
        method = next((part for part in label.split("-") if part in OURS), None)
        sampled = Annealer(
            name=f"nsa-{label}",
            mode="sampled",
            paper=method and OURS[method],
            policy=spec,
            # With the number of cities that a step looks at, what a temperature means changes.
            temperatures=None if ":" in neighbourhood.name else _temperatures(spec, method, contribution),
            device=wanted.device,
        )
        yield sampled
        if not isinstance(policy, GaussianPolicy):  # whose likeliest step is no step
            yield replace(sampled, name=f"nsa-{label}-greedy", mode="greedy")


def _temperatures(
    spec: str, method: str | None, contribution: BenchContribution | None
) -> Callable[[int], Temperatures] | None:
    """Temperatures that a policy was trained at; else the paper's of its method."""
    shipped = (directory / f"{spec}.json" for directory in directories())
    path = next((p for p in shipped if p.is_file()), Path(spec))
    schedule = json.loads(path.read_text(encoding="utf-8")).get("schedule")
    if schedule is not None:
        try:
            return _always((float(schedule["t_start"]), float(schedule["t_end"])))
        except (KeyError, TypeError, ValueError):
            raise InputError("damaged policy: its schedule lacks t_start or t_end", str(path)) from None
    if contribution is None:
        return None
    return _always(contribution.temperatures.get(method or "sa", contribution.temperatures["sa"]))


def _always(temperatures: Temperatures) -> Callable[[int], Temperatures]:
    return lambda _size: temperatures


def _heuristics(problem: Problem[Any], contribution: BenchContribution | None, size: int) -> Iterator[Solver]:
    """What the problem contributes, then its starts, each function once.

    Not where annealing starts, and not what is there at once: that is one of the others, by the size.
    """
    found = dict(contribution.heuristics) if contribution else {}
    seen = [
        *map(problem.starts.get, ("paper", problem.instant_start or "")),
        *(h.solve for h in found.values()),
    ]
    for name, start in problem.starts.items():
        if start not in seen:
            seen.append(start)
            found[name] = Heuristic(start)
    for name, heuristic in found.items():
        if heuristic.largest is None or size <= heuristic.largest:
            yield Classical(name=name, heuristic=heuristic.solve, paper=heuristic.paper)


def _peers(problem: Problem[Any], contribution: BenchContribution | None, wanted: Wanted) -> Iterator[Solver]:
    for name, peer in chosen_peers(problem, contribution, wanted.against):
        yield Foreign(
            name=name,
            budget=f"{wanted.seconds:g}s",
            paper=peer.paper,
            peer=peer.solve,
            seconds=wanted.seconds,
        )


def chosen_peers(
    problem: Problem[Any], contribution: BenchContribution | None, against: Sequence[str]
) -> Iterator[tuple[str, Peer]]:
    """Find the solvers of others by their names, or their first word: ``ortools`` is all of OR-Tools.

    Raises
    ------
    UsageError
        If one is unknown or not installed.
    """
    known = dict(contribution.peers) if contribution else {}
    if tuple(against) == ("all",):
        names = [name for name, peer in known.items() if peer.installed]
        if not names:
            raise UsageError(
                f"--against all: no peer of {problem.name} is installed; pip install 'nsa-cli[peers]'"
            )
    else:
        names = [name for word in against for name in _meant(word, known, problem.name)]
    for name in dict.fromkeys(names):
        peer = known[name]
        if not peer.installed:
            how = f"pip install {peer.package}"
            if peer.program is not None:
                how = f"there is no program {peer.program} on the path"
            raise UsageError(f"--against {name}: {peer.about}, is not installed; {how}")
        yield name, peer


def _meant(word: str, known: Mapping[str, Peer], problem: str) -> list[str]:
    if word in known:
        return [word]
    found = [name for name in known if name.startswith(f"{word}-")]
    if not found:
        has = ", ".join([*known, "all"]) if known else "none"
        raise UsageError(f"--against: {problem} has no peer {word!r}; it has {has}")
    return found
