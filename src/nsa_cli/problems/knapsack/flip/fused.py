"""Fused kernel of the paper's neighbourhood; its hooks are in `nsa_cli.problems.knapsack.kernels.flip`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.knapsack.batch import pack
from nsa_cli.problems.knapsack.kernels.flip import Paper, Relative, Work


def workspace(x: Any) -> Work:
    """Allocate the workspace of a thread, for one chain at a time."""
    size = len(x)
    padded = slots.blocks_of(size) * LANES
    return Work(
        slots.aligned((size,), np.bool_),
        slots.never(padded),
        slots.aligned((1,), np.int64),
        slots.aligned((4, padded)),
        slots.slot_space(size),
    )


fused = Fused(
    arrays=pack,
    workspace=workspace,
    draws=1,
    policies={"paper": Paper, "relative": Relative},
    features={"paper": (5,), "relative": (6,)},
)
