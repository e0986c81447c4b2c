"""Batches of bin packing instances as arrays, for operations and kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels.batch import BinBatch, SquaresBatch


def pack_squares(instances: Sequence[BinInstance], unit: float | None = None) -> SquaresBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    made = pack(instances, unit)
    return SquaresBatch(*made[:-1], scale=made.scale / (2 * made.weights.shape[1]))


def bins_of(energy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers of bins from energies of the sum of squares, which are less by a half at most."""
    return np.ceil(energy - 0.25)


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
