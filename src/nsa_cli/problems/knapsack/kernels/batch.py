"""Batches of knapsacks as arrays."""

from __future__ import annotations

from typing import Any, NamedTuple


class KnapsackBatch(NamedTuple):
    """Instances of one size, as arrays or as tensors.

    Attributes
    ----------
    values : float64[B, N]
        The values in file units.
    weights : int64[B, N]
        The weights in exact integer units.
    capacity : int64[B]
        The capacity in the same units.
    items : float32[B, N, 3]
        Features that do not change: weight and value, about in (0, 1], and capacity an item (C / N, in the
        unit of the weights).
    scale : float64[B]
        The value, in file units, that is 1 to the policy.
    per_weight : float64[B]
        What an exact unit of weight is to the policy.
    """

    values: Any
    weights: Any
    capacity: Any
    items: Any
    scale: Any
    per_weight: Any
