"""Bounds on the optimum in their share of the time, and when an instance is solved well enough.

That is when it is optimal, on target, near its bound, or stuck.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.loop import Goal, NoImprovement, TargetEnergy
from nsa_cli.core.bound import Bound, is_as_good
from nsa_cli.core.clock import Clock
from nsa_cli.core.exact import exact_number
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.core.problem import Problem, Task
from nsa_cli.solver.batch import Batch

#: Share of the time left that bounds may take, so that they never starve the search; of a short time they
#: have less, in proportion from so many seconds down to the least share.
_SHARE, _LONG, _LEAST = 0.2, 6.0, 0.03

#: A single instance of so few elements has so many seconds, though reading it took all: most are solved then.
_FEW, _FEW_SECONDS = 50, 0.05


def bounds_of(tasks: Sequence[Task], clock: Clock) -> list[Bound | None]:
    """Bound each instance of a batch, all in a share of the time that is left; the whole ends them, too."""
    if len(tasks) == 1 and tasks[0].instance.size <= _FEW and not clock.asked():
        clock = replace(clock, end=max(clock.end, time.monotonic() + _FEW_SECONDS))
    bounds: list[Bound | None] = []
    share = replace(clock.part(share_of(tasks[0].problem, clock.left / len(tasks))), asked=clock.is_over)
    for done, task in enumerate(tasks):
        part = share.part(1 / (len(tasks) - done))
        bounds.append(None if clock.is_over() else timed_bound(task.problem, task.instance, part))
    return bounds


def share_of(problem: Problem[Any], seconds: float) -> float:
    """Share of a time limit in seconds that an instance's bound may take."""
    if problem.bound_share is not None:
        return problem.bound_share
    return min(max(_SHARE * seconds / _LONG, _LEAST), _SHARE)


def timed_bound(problem: Problem[Any], instance: Instance, clock: Clock | None = None) -> Bound | None:
    """Compute a bound and the time that it took."""
    began = time.monotonic()
    bound = problem.bound(instance, clock)
    return None if bound is None else replace(bound, seconds=time.monotonic() - began)


def goals_of(batch: Batch, tasks: Sequence[Task], bounds: Sequence[Bound | None]) -> tuple[Goal, ...]:
    """Make the goals of some tasks of a batch."""
    settings = batch.settings
    sense, instances = tasks[0].problem.sense, [task.instance for task in tasks]

    def goal(energies: NDArray[np.float64], reason: str, reached: Callable[[int, Solution], bool]) -> Goal:
        def holds(i: int, solution: Solution) -> bool:
            feasible = not instances[i].may_be_infeasible or instances[i].violation(solution) is None
            return feasible and reached(i, solution)

        return TargetEnergy(energies, reason, holds)

    def proved(i: int, solution: Solution) -> bool:
        bound, exact = bounds[i], instances[i].exact_objective(solution)
        return bound is not None and bound.proves(exact, sense)

    def close(i: int, solution: Solution) -> bool:
        bound, exact = bounds[i], instances[i].exact_objective(solution)
        return bound is not None and bound.is_near(exact, sense, settings.gap or 0.0)

    lowest = np.array([-math.inf if b is None else _energy(b.value, sense) for b in bounds])
    goals: list[Goal] = [goal(lowest, "optimal", proved)] if np.isfinite(lowest).any() else []
    if (target := settings.target) is not None:
        wanted = np.full(len(tasks), _energy(target, sense))
        goals.append(goal(wanted, "target", lambda i, x: meets(instances[i], x, target, sense)))
    if settings.gap is not None:
        with np.errstate(invalid="ignore"):
            near = np.where(np.isfinite(lowest), lowest + settings.gap * abs(lowest), lowest)
        goals.append(goal(near, "gap", close))
    if (patience := settings.no_improvement) is not None:
        steps = math.inf if patience.steps is None else max(patience.steps.of(tasks[0].instance.size), 1)
        goals.append(NoImprovement(steps, math.inf if patience.seconds is None else patience.seconds))
    return tuple(goals)


def meets(instance: Instance, solution: Solution, target: Number, sense: str) -> bool:
    """Tell whether a solution is as good as a target: if that is a decimal, exactly, else as is reported."""
    wanted = exact_number(target)
    exact = isinstance(wanted, int | Fraction)
    found = instance.exact_objective(solution) if exact else instance.objective(solution)
    return is_as_good(found, wanted, sense)


def _energy(objective: Number, sense: str) -> float:
    return float(objective if sense == "min" else -objective)
