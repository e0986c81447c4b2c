"""Fused kernel of the paper's neighbourhood; its hooks are in `nsa_cli.problems.bin.kernels.move`."""

from __future__ import annotations

from typing import Any

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.bin.batch import pack
from nsa_cli.problems.bin.kernels.move import Paper, Work
from nsa_cli.problems.bin.kernels.shared import empty_packing


def workspace(x: Any) -> Work:
    """Allocate the workspace of a thread, for one chain at a time."""
    size = len(x)
    free = slots.aligned((1, slots.blocks_of(size) * LANES))
    return Work(empty_packing(size), free, slots.slot_space(size))


fused = Fused(
    arrays=pack,
    workspace=workspace,
    draws=2,
    policies={"paper": Paper},
    features={"paper": (3, 3)},
)
