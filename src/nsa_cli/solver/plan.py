"""How instances are solved: steps, temperatures and chains, and which of them share a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.core.machine import check_memory
from nsa_cli.core.neighbourhood import Budget
from nsa_cli.core.problem import Start
from nsa_cli.core.task import Task
from nsa_cli.solver.choose import choose, choose_device, choose_policy
from nsa_cli.solver.search import AnnealingSearch, Beginning, Search
from nsa_cli.solver.settings import Settings

#: What a chain takes at least, and each of its elements: where it is and the best it met.
_CHAIN_BYTES, _ELEMENT_BYTES = 500, 16

#: Chains that sample an instance's moves, and their steps at most in the reference engine.
_SAMPLING_CHAINS, _SLOW_STEPS = 8, 1_000


class Plan(NamedTuple):
    """How the instances of one batch are solved.

    Attributes
    ----------
    search : Search
    schedule : Schedule
    chains : int
        Of each instance.
    places : tuple of int
        Which of the tasks these are.
    estimated : tuple of str
        Temperatures of `schedule` to be estimated from a sample of the instance's moves: ``t_start``,
        ``t_end``. Such an instance has a batch of its own.
    """

    search: Search
    schedule: Schedule
    chains: int
    places: tuple[int, ...]
    estimated: tuple[str, ...] = ()


def plan(tasks: Sequence[Task], settings: Settings, sharing: float | None = None) -> list[Plan]:
    """Plan batches of instances with the same search, schedule and chains, as large as fits into memory.

    The division into batches changes no answer. `sharing` instances like these share the time limit; these
    alone by default.
    """
    device = choose_device(settings.device, reference=settings.backend == "torch")
    searches: dict[Any, Search] = {}
    groups: dict[Any, list[Plan]] = {}
    for place, task in enumerate(tasks):
        policy, group = choose_policy(task, settings), task.problem.group(task.instance)
        key = (id(task.problem), policy, group)
        if key not in searches:  # each policy is read once
            searches[key] = choose(task, policy, settings, device, sharing or len(tasks))
        one = _plan(task, place, searches[key], settings)
        alone = place if one.estimated or one.schedule.kind == "adaptive" else None
        groups.setdefault((key, one.schedule, one.chains, alone), []).append(one)
    return [batch for plans in groups.values() for batch in _batches(plans, tasks)]


def _plan(task: Task, place: int, search: Search, settings: Settings) -> Plan:
    """Choose steps, temperatures and chains: the given ones, else those of the search's budget."""
    budget = search.budget(task.instance)
    steps = budget.steps if settings.steps is None else settings.steps.of(task.instance.size)
    chains = settings.chains or budget.chains
    check_memory(chains * (_CHAIN_BYTES + _ELEMENT_BYTES * task.instance.size))
    first, last, estimated = _temperatures(budget, settings)
    schedule = Schedule(steps, first, last, settings.schedule)
    return Plan(search, schedule, chains, (place,), estimated if search.method == "anneal" else ())


def _temperatures(budget: Budget, settings: Settings) -> tuple[float, float, tuple[str, ...]]:
    """First and last temperature, given or of the budget, and the names of those to be estimated."""
    given = {"t_start": settings.t_start, "t_end": settings.t_end}
    estimated = tuple(name for name, g in given.items() if g == "auto" or (g is None and budget.auto))
    first, last = (g if isinstance(g, float) else float(getattr(budget, name)) for name, g in given.items())
    return first, last, estimated


def _batches(plans: Sequence[Plan], tasks: Sequence[Task]) -> list[Plan]:
    """Put equal plans together, as many as fit into memory."""
    places = tuple(place for one in plans for place in one.places)
    width = len(places)
    if width > 1:
        width = max(plans[0].search.chains_at_once(tasks[places[0]]) // plans[0].chains, 1)
    return [plans[0]._replace(places=places[i : i + width]) for i in range(0, len(places), width)]


def estimate_temperatures(search: AnnealingSearch, instance: Any, start: Start) -> tuple[float, float] | None:
    """Estimate the first and last temperature from a sample of moves (`nsa_cli.anneal.auto`).

    The same each time, whatever the seed.

    Parameters
    ----------
    search : AnnealingSearch
        With Metropolis acceptance.
    instance : Instance
    start : callable
        See `nsa_cli.core.problem.Start`.
    """
    from nsa_cli.anneal.auto import sampled_temperatures

    keys = stream_keys(0, np.arange(_SAMPLING_CHAINS))
    x = start_solutions(start, [instance] * len(keys), keys)
    chains = search.start(Beginning([instance] * len(keys), x, keys))
    few = {"most": _SLOW_STEPS} if search.backend == "torch" else {}
    moves = search.neighbourhood
    return sampled_temperatures(
        chains, instance.size, choices=moves.choices, candidate_lists=moves.uses_candidate_lists, **few
    )
