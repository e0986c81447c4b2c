"""Kernels compiled before they are needed: by solving small instances in every way that has one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nsa_cli.api import Settings, Task
from nsa_cli.core.problem import Problem
from nsa_cli.policy.checkpoint import available
from nsa_cli.run import solve_all


def make_ready(problem: Problem[Any]) -> None:
    """Compile a problem's kernels: large steps, policies, each neighbourhood's uniform proposals, bounds."""
    for instance in problem.samples(np.random.default_rng(0)):
        for settings in _ways(problem, instance):
            solve_all([Task(problem, instance)], settings)


def _ways(problem: Problem[Any], instance: Any) -> Iterator[Settings]:
    """Give every way to solve an instance that kernels may differ in."""
    large_step = problem.large_step()
    if large_step is not None and large_step.fits(instance):
        yield Settings(method="large-step", steps=2, bound=False)
    for neighbourhood in problem.neighbourhoods:
        yield Settings(policy="uniform", neighbourhood=neighbourhood.name, steps=2, bound=False)
    for policy in available(problem.name):
        yield Settings(policy=policy, steps=2, bound=False)
    yield Settings(policy="uniform", steps=2)
