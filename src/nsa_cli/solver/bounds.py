"""Bounds on the optimum, in their share of the time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.instance import Instance
from nsa_cli.core.problem import Problem, Task

#: Share of the time left that bounds may take, so that they never starve the search; of a short time they
#: have less, in proportion from so many seconds down to the least share.
_SHARE, _LONG, _LEAST = 0.2, 6.0, 0.03


def bounds_of(tasks: Sequence[Task], clock: Clock) -> list[Bound | None]:
    """Bound each instance of a batch, all in a share of the time that is left; the whole ends them, too."""
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
