"""Constructive heuristics of bin packing: singletons, first fit and best fit decreasing (Johnson 1973)."""

from __future__ import annotations

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.bin.instance import BinInstance


def singletons(instance: BinInstance, _: Draws) -> Solution:
    """Give every item a bin of its own, the paper's start (Appendix A, Bin Packing)."""
    return np.arange(instance.size)


def first_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the first bin with room."""
    return _decreasing(instance, best_fit=False)


def best_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the fullest bin with room."""
    return _decreasing(instance, best_fit=True)


def _decreasing(instance: BinInstance, *, best_fit: bool) -> Solution:
    units, capacity = instance.exact.units, instance.exact.capacity
    packing = np.empty(instance.size, dtype=np.int64)
    free = np.full(instance.size, capacity, dtype=np.int64)
    order = np.argsort(-units, kind="stable")
    # No two of more than half a bin share one: each opens its own.
    opened = int((2 * units > capacity).sum())
    packing[order[:opened]] = np.arange(opened)
    free[:opened] -= units[order[:opened]]
    for item in order[opened:].tolist():
        room = free[:opened] - units[item]
        if best_fit:
            room = np.where(room < 0, np.iinfo(np.int64).max, room)
            b = int(room.argmin()) if opened else 0
        else:
            b = int((room >= 0).argmax()) if opened else 0
        if not opened or free[b] < units[item]:
            b, opened = opened, opened + 1
        packing[item] = b
        free[b] -= units[item]
    return packing
