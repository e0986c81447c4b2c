"""Rollouts of a policy, step by step, for pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.core.instance import Instance
from nsa_cli.core.operations import Operations
from nsa_cli.core.policy import Policy
from nsa_cli.core.problem import Problem


def rollout(
    problem: Problem[Any],
    operations: Operations[Any, Any],
    instance: Instance,
    policy: Policy,
    schedule: Schedule,
    *,
    seed: int,
    chains: int,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Run a policy from the paper's start, in the units of its training, and keep every step.

    Returns
    -------
    [K + 1, B, …], float64[K]
        Solutions before the first step and after each, and the temperatures.
    """
    keys = stream_keys(seed, np.arange(chains))
    x = torch.from_numpy(start_solutions(problem.start("paper"), [instance] * chains, keys))
    batch = operations.pack([instance] * chains, unit=1.0)
    running = TorchChains(operations, batch, policy, x, torch.from_numpy(keys))
    temperatures = schedule.temperatures(0, schedule.steps)
    states = [running.x.copy()]
    for k in range(len(temperatures)):
        running.advance(temperatures[k : k + 1])
        states.append(running.x.copy())
    return np.stack(states), temperatures
