"""Fused kernels of both neighbourhoods; their hooks are in `nsa_cli.problems.bin.kernels`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels import squares as squares_kernel
from nsa_cli.problems.bin.kernels.move import BinBatch, Paper, SquaresBatch, Work, empty_packing


def pack(instances: Sequence[BinInstance], unit: float | None = None) -> BinBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    exact = [instance.exact for instance in instances]
    capacity = np.array([e.capacity for e in exact], dtype=np.int64)
    full = np.array([float(i.capacity) for i in instances])
    whole = np.maximum(capacity.astype(np.float64), 1.0)
    return BinBatch(
        weights=np.stack([e.units for e in exact]),
        capacity=capacity,
        unit=whole if unit is None else whole * unit / full,
        scale=np.ones(len(instances)),
    )


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


def pack_squares(instances: Sequence[BinInstance], unit: float | None = None) -> SquaresBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    made = pack(instances, unit)
    return SquaresBatch(*made[:-1], scale=made.scale / (2 * made.weights.shape[1]))


def bins_of(energy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of bins from energies of the sum of squares, which are less by a half at most."""
    return np.ceil(energy - 0.25)


def squares_workspace(x: Any) -> squares_kernel.Work:
    """Allocate the workspace of a thread, for one chain at a time."""
    size = len(x)
    others = slots.blocks_of(2 * size) * LANES
    back, there, now = slots.aligned((others,), np.int64), slots.never(others), slots.never(others)
    seen, other = slots.aligned((3, others)), slots.slot_space(2 * size)
    return squares_kernel.Work(empty_packing(size), back, there, now, seen, other)


squares = Fused(
    arrays=pack_squares,
    workspace=squares_workspace,
    draws=2,
    policies={"squares": squares_kernel.Squares},
    features={"squares": (3, 6)},
    objectives=bins_of,
)
