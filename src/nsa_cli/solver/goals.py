"""When the instances of a batch are solved well enough: optimal, on target, near the bound, or stuck."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nsa_cli.anneal.goals import Goal, NoImprovement, TargetEnergy
from nsa_cli.core.bound import Bound
from nsa_cli.core.instance import Number
from nsa_cli.core.task import Task
from nsa_cli.solver.settings import Settings


def goals_of(tasks: Sequence[Task], bounds: Sequence[Bound | None], settings: Settings) -> tuple[Goal, ...]:
    """Make the goals of a batch."""
    sense = tasks[0].problem.sense
    lowest = np.array([-math.inf if b is None else _energy(b.value, sense) for b in bounds])
    goals: list[Goal] = [TargetEnergy(lowest, "optimal")] if np.isfinite(lowest).any() else []
    if settings.target is not None:
        goals.append(TargetEnergy(np.full(len(tasks), _energy(settings.target, sense)), "target"))
    if settings.gap is not None:
        with np.errstate(invalid="ignore"):
            near = np.where(np.isfinite(lowest), lowest + settings.gap * abs(lowest), lowest)
        goals.append(TargetEnergy(near, "gap"))
    if (patience := settings.no_improvement) is not None:
        steps = math.inf if patience.steps is None else max(patience.steps.of(tasks[0].instance.size), 1)
        goals.append(NoImprovement(steps, math.inf if patience.seconds is None else patience.seconds))
    return tuple(goals)


def _energy(objective: Number, sense: str) -> float:
    return float(objective if sense == "min" else -objective)
