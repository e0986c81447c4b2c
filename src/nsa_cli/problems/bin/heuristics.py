"""Constructive heuristics of bin packing: singletons, first fit and best fit decreasing (Johnson 1973)."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.bin.instance import BinInstance


def singletons(instance: BinInstance, _: Draws) -> Solution:
    """Give every item a bin of its own, the paper's start (Appendix A, Bin Packing)."""
    return np.arange(instance.size)


def first_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the first bin with room; in O(N log N)."""
    return _decreasing(instance, _FirstFit)


def best_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the fullest bin with room; in O(N log N) but for small factors."""
    return _decreasing(instance, _BestFit)


def _decreasing(instance: BinInstance, rule: type[_FirstFit | _BestFit]) -> Solution:
    units, capacity = instance.exact.units, instance.exact.capacity
    order = np.argsort(-units, kind="stable")
    weights = units[order]
    # No two of more than half a bin share one: each opens its own.
    opened = int((2 * units > capacity).sum())
    # Any two bins that follow each other hold more than one capacity together.
    most = min(instance.size, 2 * int(units.sum()) // max(capacity, 1) + 2)
    bins = rule(capacity, most, (capacity - weights[:opened]).tolist())
    rest = weights[opened:]
    begins = np.flatnonzero(np.diff(rest, prepend=-1))
    where, how_many = list[int](), list[int]()
    for weight, equal in zip(rest[begins].tolist(), np.diff(begins, append=len(rest)).tolist(), strict=True):
        while equal:
            b, count = bins.put(weight, equal)
            where.append(b)
            how_many.append(count)
            equal -= count
    packing = np.empty(instance.size, dtype=np.int64)
    packing[order[:opened]] = np.arange(opened)
    packing[order[opened:]] = np.repeat(np.array(where, dtype=np.int64), how_many)
    return packing


def _fitting(free: int, weight: int, count: int) -> int:
    """Number of `count` equal items that fit into free room."""
    return min(count, free // weight) if weight else count


class _FirstFit:
    """Room of bins as a tournament: each node of a binary tree has the most room of the leaves below it.

    Parameters
    ----------
    capacity : int
    most : int
        Bins that there may be.
    free : list of int
        Room of the bins that are open; all others have the whole capacity, so that the first of them is
        found as any bin is.
    """

    def __init__(self, capacity: int, most: int, free: list[int]) -> None:
        self._leaves = leaves = 1 << (most - 1).bit_length()
        levels = [np.array(free + [capacity] * (leaves - len(free)), dtype=np.int64)]
        while len(levels[-1]) > 1:
            levels.append(levels[-1].reshape(-1, 2).max(1))
        self._room: list[int] = [0, *np.concatenate(levels[::-1]).tolist()]

    def put(self, weight: int, count: int) -> tuple[int, int]:
        """Put equal items into the first bin with room for one; give the bin, and how many it took."""
        room, node = self._room, 1
        while node < self._leaves:
            node *= 2
            node += room[node] < weight
        taken = _fitting(room[node], weight, count)
        b = node - self._leaves
        room[node] -= taken * weight
        while node > 1:
            node //= 2
            left, right = room[2 * node], room[2 * node + 1]
            most = left if left > right else right
            if room[node] == most:
                break
            room[node] = most
        return b, taken


class _BestFit:
    """Bins in the order of their room, of equal room in that of their numbers; parameters as of `_FirstFit`.

    They are integers, room times `most` plus number. Those that are not open yet are one.
    """

    def __init__(self, capacity: int, most: int, free: list[int]) -> None:
        self._most = most
        self._bins = sorted(room * most + b for b, room in enumerate(free))
        self._bins.append(capacity * most + len(free))

    def put(self, weight: int, count: int) -> tuple[int, int]:
        """Put equal items into the fullest bin with room for one; give the bin, and how many it took."""
        bins, place = self._bins, bisect_left(self._bins, weight * self._most)
        number = bins.pop(place)
        if place == len(bins):
            bins.append(number + 1)
        free, b = divmod(number, self._most)
        taken = _fitting(free, weight, count)
        insort(bins, number - taken * weight * self._most)
        return b, taken
