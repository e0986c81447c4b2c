"""When the instances of a batch are solved well enough: optimal, on target, near the bound, or stuck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from nsa_cli.anneal.loop import Goal, NoImprovement, TargetEnergy
from nsa_cli.core.bound import Bound, is_as_good
from nsa_cli.core.exact import exact_number
from nsa_cli.core.instance import Instance, Number, Solution
from nsa_cli.core.task import Task
from nsa_cli.solver.settings import Settings


def goals_of(tasks: Sequence[Task], bounds: Sequence[Bound | None], settings: Settings) -> tuple[Goal, ...]:
    """Make the goals of a batch."""
    sense, instances = tasks[0].problem.sense, [task.instance for task in tasks]

    def feasible(i: int, solution: Solution) -> bool:
        return not instances[i].may_be_infeasible or instances[i].violation(solution) is None

    lowest = np.array([-math.inf if b is None else _energy(b.value, sense) for b in bounds])

    def proved(i: int, solution: Solution) -> bool:
        bound = bounds[i]
        proves = bound is not None and bound.proves(instances[i].exact_objective(solution), sense)
        return proves and feasible(i, solution)

    goals: list[Goal] = [TargetEnergy(lowest, "optimal", proved)] if np.isfinite(lowest).any() else []
    if (target := settings.target) is not None:
        wanted = np.full(len(tasks), _energy(target, sense))

        def met(i: int, solution: Solution) -> bool:
            return meets(instances[i], solution, target, sense) and feasible(i, solution)

        goals.append(TargetEnergy(wanted, "target", met))
    if (share := settings.gap) is not None:
        with np.errstate(invalid="ignore"):
            near = np.where(np.isfinite(lowest), lowest + share * abs(lowest), lowest)

        def close(i: int, solution: Solution) -> bool:
            bound = bounds[i]
            near = bound is not None and bound.is_near(instances[i].exact_objective(solution), sense, share)
            return near and feasible(i, solution)

        goals.append(TargetEnergy(near, "gap", close))
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
