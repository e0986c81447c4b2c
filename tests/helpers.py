"""What tests of several rooms share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

import nsa_cli as nsa
from nsa_cli.core.draws import start_draws, start_solutions, stream_keys

#: Options of a run with little work.
QUICK = ("--steps", "50", "--chains", "2")

#: Keys of the result that scripts may rely on.
KEYS = {
    *("problem", "name", "n", "status", "stop_reason", "objective", "sense", "feasible", "solution"),
    *("bound", "gap", "best_known", "seed", "steps", "chains", "accepted", "policy", "schedule"),
    *("backend", "device", "threads", "seconds", "version"),
}


def draws_of(stream: int, seed: int = 0):
    """Make the draws that a start takes."""
    (key,) = stream_keys(seed, np.array([stream]))
    return partial(start_draws, key)


def starts_of(problem: Any, instances: list[Any], name: str | None = None, seed: int = 0) -> torch.Tensor:
    """Stack one start an instance."""
    keys = stream_keys(seed, np.arange(len(instances)))
    return torch.from_numpy(start_solutions(problem.start(name), instances, keys))


def random_instances(problem: Any, size: int, count: int, seed: int = 0) -> list[Any]:
    """Draw instances of the problem's own distribution."""
    return [task.instance for task in nsa.generate(problem, size, count, seed)]
