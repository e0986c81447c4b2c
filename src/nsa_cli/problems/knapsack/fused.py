"""Fused kernel of the paper's neighbourhood; its hooks are in `nsa_cli.problems.knapsack.kernels.flip`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import slots
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.knapsack.instance import KnapsackInstance
from nsa_cli.problems.knapsack.kernels.flip import KnapsackBatch, Paper, Relative, Work


def pack(instances: Sequence[KnapsackInstance], unit: float | None = None) -> KnapsackBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    exact = [instance.exact for instance in instances]
    values = np.stack([i.values.astype(np.float64) for i in instances])
    weights = np.stack([i.weights.astype(np.float64) for i in instances])
    units = np.stack([e.units for e in exact])
    capacity = np.array([float(i.capacity) for i in instances])
    scale, weight_unit = _unit(values, unit), _unit(weights, unit)
    per_item = np.broadcast_to((capacity / weight_unit / values.shape[1])[:, None], values.shape)
    items = np.stack([weights / weight_unit[:, None], values / scale[:, None], per_item], 2)
    return KnapsackBatch(
        values=values,
        weights=units,
        capacity=np.array([e.capacity for e in exact], dtype=np.int64),
        items=items.astype(np.float32),
        scale=scale,
        per_weight=(weights.max(1) / weight_unit) / np.maximum(units.max(1), 1),
    )


def _unit(numbers: NDArray[np.float64], unit: float | None) -> NDArray[np.float64]:
    """Unbiased estimate of the upper end of the range of uniform numbers; see `Operations.pack`."""
    if unit is not None:
        return np.full(len(numbers), unit)
    size = numbers.shape[1]
    top = numbers.max(1) * ((size + 1) / size)
    return np.where(top > 0, top, 1.0)


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
