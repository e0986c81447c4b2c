"""Fused kernel of the sum of squares; its hooks are in `nsa_cli.problems.bin.kernels.squares`."""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.bin.batch import bins_of, pack_squares
from nsa_cli.problems.bin.kernels.shared import empty_packing
from nsa_cli.problems.bin.kernels.squares import Squares, Work


def workspace(x: Any) -> Work:
    """Allocate the workspace of a thread, for one chain at a time."""
    size = len(x)
    others = slots.blocks_of(2 * size) * LANES
    back, there, now = slots.aligned((others,), np.int64), slots.never(others), slots.never(others)
    seen, other = slots.aligned((3, others)), slots.slot_space(2 * size)
    return Work(empty_packing(size), back, there, now, seen, other)


fused = Fused(
    arrays=pack_squares,
    workspace=workspace,
    draws=2,
    policies={"squares": Squares},
    features={"squares": (3, 6)},
    objectives=bins_of,
)
