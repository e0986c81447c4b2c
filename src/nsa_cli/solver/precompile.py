"""Precompiled kernels: small instances solved in every way that has a kernel of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Problem
from nsa_cli.core.task import Task
from nsa_cli.policy.checkpoint import available
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_all


def precompile(problem: Problem[Any]) -> None:
    """Compile a problem's kernels: large steps, shipped policies, uniform proposals, bounds."""
    for instance in problem.samples(np.random.default_rng(0)):
        for settings in variants(problem, instance):
            solve_all([Task(problem, instance)], settings)


def variants(problem: Problem[Any], instance: Any) -> Iterator[Settings]:
    """Give every way to solve an instance that kernels may differ in."""
    large_step = problem.large_step()
    if large_step is not None and large_step.fits(instance):
        yield Settings(method="large-step", steps=Steps(2), bound=False)
    for neighbourhood in problem.neighbourhoods:
        yield Settings(policy="uniform", neighbourhood=neighbourhood.name, steps=Steps(2), bound=False)
    for policy in available(problem.name):
        yield Settings(policy=policy, steps=Steps(2), bound=False)
    yield Settings(policy="uniform", steps=Steps(2))
