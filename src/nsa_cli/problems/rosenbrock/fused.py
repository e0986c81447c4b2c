"""Fused kernel of Rosenbrock's function; its hooks are in `nsa_cli.problems.rosenbrock.kernels.gaussian`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.kernels.hooks import Fused, Gaussian
from nsa_cli.problems.rosenbrock.batch import pack
from nsa_cli.problems.rosenbrock.kernels.gaussian import Work


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
