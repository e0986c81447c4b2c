"""Fused kernel of Rosenbrock's function; its hooks are in `nsa_cli.problems.rosenbrock.kernels.gaussian`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsa_cli.kernels.hooks import Fused, Gaussian
from nsa_cli.problems.rosenbrock import RosenbrockInstance
from nsa_cli.problems.rosenbrock.kernels.gaussian import RosenbrockBatch, Work


def pack(instances: Sequence[RosenbrockInstance], unit: float | None = None) -> RosenbrockBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    return RosenbrockBatch(
        a=np.array([i.a for i in instances], dtype=np.float64),
        b=np.array([i.b for i in instances], dtype=np.float64),
        scale=np.full(len(instances), unit or 1.0),
    )


def workspace(x: Any) -> Work:
    """Allocate what a thread needs for one chain at a time."""
    return Work(*(np.zeros(len(x)) for _ in range(3)))


fused = Fused(
    arrays=pack,
    workspace=workspace,
    draws=None,
    policies={"gaussian": Gaussian},
    features={"gaussian": (2,)},
)
