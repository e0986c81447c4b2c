"""Batches of bin packing instances as arrays."""

from __future__ import annotations

from typing import Any, NamedTuple


class BinBatch(NamedTuple):
    """Instances of one size, as arrays or as tensors.

    Attributes
    ----------
    weights : int64[B, N]
        The weights in exact integer units, so that loads never drift.
    capacity : int64[B]
        The capacity in the same units.
    unit : float64[B]
        The weight that is 1 to the policy, in the same units: by default the capacity.
    scale : float64[B]
        It is 1: an energy is a number of bins.
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
