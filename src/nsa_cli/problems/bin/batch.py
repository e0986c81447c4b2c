"""Batches of bin packing instances as arrays, for operations and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.bin.instance import BinInstance


class BinBatch(NamedTuple):
    """Instances of one size, as arrays or as tensors.

    Attributes
    ----------
    weights : int64[B, N]
        In exact integer units, so that loads never drift.
    capacity : int64[B]
        In the same units.
    unit : float64[B]
        Weight that is 1 to the policy, in the same units: by default the capacity.
    scale : float64[B]
        1: an energy is a number of bins.
    """

    weights: Any
    capacity: Any
    unit: Any
    scale: Any


class SquaresBatch(BinBatch):
    """Batch for the sum of squares; a class of its own, by which compiled hooks are chosen.

    Attributes
    ----------
    scale : float64[B]
        1 / (2 N): the squared load of a full bin, in bins.
    """


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
