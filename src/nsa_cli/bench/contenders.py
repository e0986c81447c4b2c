"""Solvers with a budget of seconds, one instance at a time: ours, heuristics, and those of others."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.bench.choose import chosen_peers
from nsa_cli.bench.solvers import CountedDraws, stdout_closed
from nsa_cli.core.bench import BenchContribution, Temperatures
from nsa_cli.core.draws import stream_keys
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.problem import Problem, Start
from nsa_cli.core.task import Task
from nsa_cli.policy.build import find_policy
from nsa_cli.policy.checkpoint import find_stored, neighbourhood_for
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_all


class Found(NamedTuple):
    """What a contender came to: a solution, and the steps of each chain where it has any."""

    solution: Solution
    steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One curve.

    Attributes
    ----------
    name : str
        Ours begin with ``nsa``.
    kind : {'nsa', 'heuristic', 'peer'}
    solve : callable
        ``solve(task, seconds, seed) -> Found``, all on its own clock, set-up included.
    timed : bool
        Whether seconds change anything.
    threads : int or None
        At most; None where its makers decide.
    """

    name: str
    kind: str
    solve: Callable[[Task, float, int], Found]
    timed: bool = True
    threads: int | None = 1


def choose_contenders(
    problem: Problem[Any],
    contribution: BenchContribution | None,
    instance: Instance,
    policies: tuple[str, ...] | None,
    against: tuple[str, ...],
) -> list[Contender]:
    """List the contenders: `solve` as it is, its large steps alone, learnt and uniform annealing, and others.

    Parameters
    ----------
    problem : Problem
    contribution : BenchContribution or None
    instance : Instance
        One like those to come: it chooses the default policy.
    policies : tuple of str, or None
        Names or files; None for the problem's default.
    against : tuple of str
        Names of peers, or ``all``.

    Raises
    ------
    UsageError
        If a name is unknown or a peer is not installed.
    """
    specs = (problem.neighbourhood().default_policy(instance),) if policies is None else policies
    return [
        *_ours(problem, contribution, tuple(spec for spec in specs if spec != "uniform")),
        *_heuristics(problem, contribution, instance.size),
        *(
            Contender(name=name, kind="peer", solve=_peer(peer.solve), threads=None)
            for name, peer in chosen_peers(problem, contribution, against)
        ),
    ]


def _ours(
    problem: Problem[Any], contribution: BenchContribution | None, policies: tuple[str, ...]
) -> Iterator[Contender]:
    yield Contender(name="nsa-solve", kind="nsa", solve=_annealing())
    if problem.large_step() is not None:
        yield Contender(name="nsa-large-step", kind="nsa", solve=_annealing(method="large-step", bound=False))
    for spec in policies:
        neighbourhood = neighbourhood_for(problem, find_stored(spec, problem.name))
        find_policy(spec, problem.name, neighbourhood.operations())
        label = Path(spec).stem.removeprefix(f"{problem.name}-")
        solve = _annealing(policy=spec, chains=1, bound=False)
        yield Contender(name=f"nsa-{label}", kind="nsa", solve=solve)
    name, tuned, moves = _plain(problem, contribution)
    solve = _annealing(tuned, policy="uniform", neighbourhood=moves, chains=1, bound=False)
    yield Contender(name=name, kind="nsa", solve=solve)


def _plain(
    problem: Problem[Any], contribution: BenchContribution | None
) -> tuple[str, Callable[[int], Temperatures] | None, str | None]:
    """Choose plain annealing at its best: by neighbourhood, at tuned temperatures if there are any.

    Returns
    -------
    name, temperatures, neighbourhood
    """
    if contribution is None:
        return "nsa-sa", None, None
    best = problem.default_neighbourhood
    if (tuned := contribution.neighbourhoods.get(best)) is not None:
        return f"nsa-sa-{best}", tuned, best
    return ("nsa-sa-tuned" if contribution.tuned else "nsa-sa"), contribution.tuned, None


def _annealing(
    temperatures: Callable[[int], Temperatures] | None = None, **settings: Any
) -> Callable[[Task, float, int], Found]:
    """Anneal by `solve` on one thread; temperatures by size, else the problem's own."""

    def solve(task: Task, seconds: float, seed: int) -> Found:
        start, end = (None, None) if temperatures is None else temperatures(task.instance.size)
        chosen = Settings(
            time_limit=seconds, seed=seed, threads=1, device="cpu", t_start=start, t_end=end, **settings
        )
        (result,) = solve_all([task], chosen)
        return Found(result.solution, result.steps)

    return solve


def _heuristics(
    problem: Problem[Any], contribution: BenchContribution | None, size: int
) -> Iterator[Contender]:
    found = {name: h.solve for name, h in contribution.heuristics.items()} if contribution else {}
    largest = {name: h.largest for name, h in contribution.heuristics.items()} if contribution else {}
    if (greedy := problem.starts.get("greedy")) is not None and greedy not in found.values():
        found["greedy"] = greedy
    for name, heuristic in found.items():
        if (most := largest.get(name)) is None or size <= most:
            yield Contender(name=name, kind="heuristic", solve=_heuristic(heuristic), timed=False)


def _heuristic(start: Start) -> Callable[[Task, float, int], Found]:
    def solve(task: Task, _seconds: float, seed: int) -> Found:
        (key,) = stream_keys(seed, np.array([task.stream << 32]))
        return Found(start(task.instance, CountedDraws(key)))

    return solve


def _peer(peer: Callable[[Any, float], Solution]) -> Callable[[Task, float, int], Found]:
    def solve(task: Task, seconds: float, _seed: int) -> Found:
        with stdout_closed():
            return Found(peer(task.instance, seconds))

    return solve


def has_matplotlib() -> bool:
    """Tell whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None
