"""What ends a search: bounds, with their share of the time, and the goals that a user sets."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nsa_cli.anneal.goals import Goal, NoImprovement, TargetEnergy
from nsa_cli.anneal.schedule import parse_steps
from nsa_cli.api import Settings, Task
from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.instance import Instance, Number
from nsa_cli.core.problem import Problem

#: Share of the time left that bounds may take, so that they never starve the search; of a short time they
#: have less, in proportion from so many seconds down to the least share.
_SHARE, _LONG, _LEAST = 0.2, 6.0, 0.03


def bounds_of(tasks: Sequence[Task], deadline: float | None, stop: Callable[[], bool]) -> list[Bound | None]:
    """Bound each instance of a batch, all in a share of the time until its deadline where it has one."""
    bounds: list[Bound | None] = []
    now = time.monotonic()
    left = math.inf if deadline is None else max(deadline - now, 0.0)
    end = now + left * share_of(tasks[0].problem, left / len(tasks))
    for done, task in enumerate(tasks):
        seconds = max(end - time.monotonic(), 0.0) / (len(tasks) - done)
        bounds.append(None if stop() else timed_bound(task.problem, task.instance, seconds, stop))
    return bounds


def share_of(problem: Problem[Any], seconds: float) -> float:
    """Tell what share of so many seconds an instance's bound may take."""
    if problem.bound_share is not None:
        return problem.bound_share
    return min(max(_SHARE * seconds / _LONG, _LEAST), _SHARE)


def timed_bound(
    problem: Problem[Any],
    instance: Instance,
    seconds: float = math.inf,
    stop: Callable[[], bool] = lambda: False,
) -> Bound | None:
    """Ask a problem for a bound, and note what it took."""
    began = time.monotonic()
    bound = problem.bound(instance, seconds=seconds, stop=stop)
    return None if bound is None else replace(bound, seconds=time.monotonic() - began)


def check_goals(settings: Settings) -> None:
    """Refuse goals that make no sense, before anything is computed.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if settings.target is not None and not math.isfinite(settings.target):
        raise UsageError(f"--target: expected a number, got {settings.target}")
    if parse_gap(settings.gap) is not None and not settings.bound:
        raise UsageError("is relative to the bound", option="gap", drop={"bound": False})
    _no_improvement(settings.no_improvement, 1)


def goals_of(tasks: Sequence[Task], bounds: Sequence[Bound | None], settings: Settings) -> tuple[Goal, ...]:
    """Say when each instance of a batch is good enough: proved, on target, near its bound, or stuck."""
    sense = tasks[0].problem.sense
    lowest = np.array([-math.inf if b is None else _energy(b.value, sense) for b in bounds])
    goals: list[Goal] = [TargetEnergy(lowest, "optimal")] if np.isfinite(lowest).any() else []
    if settings.target is not None:
        goals.append(TargetEnergy(np.full(len(tasks), _energy(settings.target, sense)), "target"))
    if (gap := parse_gap(settings.gap)) is not None:
        with np.errstate(invalid="ignore"):
            goals.append(
                TargetEnergy(np.where(np.isfinite(lowest), lowest + gap * abs(lowest), lowest), "gap")
            )
    if settings.no_improvement is not None:
        goals.append(_no_improvement(settings.no_improvement, tasks[0].instance.size))
    return tuple(goals)


def _energy(objective: Number, sense: str) -> float:
    return float(objective if sense == "min" else -objective)


def parse_gap(text: str | float | None) -> float | None:
    """Read a gap: ``1%`` or ``0.01``.

    Raises
    ------
    UsageError
        If it is neither, or negative.
    """
    if text is None:
        return None
    number, percent = str(text).strip(), 1.0
    if number.endswith("%"):
        number, percent = number[:-1], 0.01
    try:
        gap = float(number) * percent
    except ValueError:
        gap = math.nan
    if not 0 <= gap < math.inf:
        raise UsageError(f"--gap: expected a share such as 1% or 0.01, got {shown(str(text))}")
    return gap


def _no_improvement(text: str | int | None, size: int) -> NoImprovement:
    """Read steps (``5000``, ``10N``) or seconds (``2s``, ``0.5s``)."""
    found = re.fullmatch(r"([0-9]{0,12}\.?[0-9]{0,12})\s*s", str(text).strip())
    if found and found[1].strip("."):
        return NoImprovement(seconds=float(found[1]))
    if text is None:
        return NoImprovement()
    try:
        steps = parse_steps(text, size)
    except UsageError:
        raise UsageError(
            f"--no-improvement: expected steps such as 5000 or 10N, or seconds such as 2s, "
            f"got {shown(str(text))}"
        ) from None
    return NoImprovement(steps=max(steps, 1))
