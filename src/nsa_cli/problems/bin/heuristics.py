"""Constructive heuristics of bin packing: singletons, first fit and best fit decreasing (Johnson 1973)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.bin.instance import BinInstance

#: The most bins of a bucket of `_BestFit`.
_BUCKET = 1000


def singletons(instance: BinInstance, _: Draws) -> Solution:
    """Give every item a bin of its own, the paper's start (Appendix A, Bin Packing)."""
    return np.arange(instance.size)


def first_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the first bin with room; in O(N log N)."""
    return _decreasing(instance, _FirstFit)


def best_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Put each item, heaviest first, into the fullest bin with room; in O(N log N) but for small factors."""
    return _decreasing(instance, _BestFit)


def next_fit_decreasing(instance: BinInstance, _: Draws) -> Solution:
    """Fill one bin after the other, heaviest items first; in no time, by whole bins."""
    units, capacity = instance.exact.units, instance.exact.capacity
    order = np.argsort(-units, kind="stable")
    loads = np.cumsum(units[order]).tolist()
    opened = int((2 * units > capacity).sum())
    ends = list(range(1, opened))  # each of more than half a bin opens one, and the last of these takes more
    begin = max(opened - 1, 0)
    while begin < len(loads):
        begin = bisect_right(loads, (loads[begin - 1] if begin else 0) + capacity, begin)
        ends.append(begin)
    packing = np.empty(instance.size, dtype=np.int64)
    packing[order] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    return packing


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

    They are integers, room times `most` plus number, in buckets short enough for insertions. Each bucket has
    a limit, which its integers do not exceed; none but the last is ever empty.
    """

    def __init__(self, capacity: int, most: int, free: list[int]) -> None:
        self._most, half = most, _BUCKET // 2
        bins = sorted(room * most + b for b, room in enumerate(free))
        bins += [capacity * most + b for b in range(len(free), most)]
        self._buckets = [bins[i : i + half] for i in range(0, most, half)]
        self._limits = [bucket[-1] for bucket in self._buckets]

    def put(self, weight: int, count: int) -> tuple[int, int]:
        """Put equal items into the fullest bin with room for one; give the bin, and how many it took."""
        buckets, limits, least = self._buckets, self._limits, weight * self._most
        at = bisect_left(limits, least)
        place = bisect_left(buckets[at], least)
        if place == len(buckets[at]):
            at, place = at + 1, 0
        free, b = divmod(buckets[at].pop(place), self._most)
        if not buckets[at] and at + 1 < len(buckets):
            del buckets[at], limits[at]
        taken = _fitting(free, weight, count)
        number = (free - taken * weight) * self._most + b
        at = bisect_left(limits, number)
        bucket = buckets[at]
        insort(bucket, number)
        if len(bucket) > _BUCKET:
            half = len(bucket) // 2
            buckets[at : at + 1] = [bucket[:half], bucket[half:]]
            limits.insert(at, bucket[half - 1])
        return b, taken
