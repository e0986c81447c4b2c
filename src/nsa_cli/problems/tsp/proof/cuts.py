"""Inequalities of tours: what the sets of one are, and the search for violated ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints
from nsa_cli.problems.tsp.kernels.separation import Scratch, Support, Teeth, find_cuts

#: Weights below this are 0, and those above its complement 1.
_TINY = 1e-5

#: The weights of edges by which handles hang together are between these: any, fractions, and those and 1; and
#: those of sets that may be left too rarely.
_LEAST = (0.1, 0.2, 0.3, 0.45)
_WAYS = np.array(
    [(0.0, 2.0)]
    + [(least, 1.0 - least) for least in (_TINY, *_LEAST)]
    + [(least, 1.0 - _TINY) for least in _LEAST]
    + [(_TINY, 1.0 - least) for least in _LEAST]
    + [(least, 2.0) for least in (0.1, 0.3, 0.5, 0.7, 0.9)]
)

#: Weight from which on an edge may be a tooth.
_LIKELY = 0.2

#: Numbers of what is found that there is room for, a city.
_ROOM = 60


class Cut(NamedTuple):
    """The border of one set is crossed twice, or those of a handle and its teeth `least` times.

    Attributes
    ----------
    sets : tuple of int64[M]
        Cities in rising order: a set, or a handle and an odd number of teeth.
    """

    sets: tuple[Ints, ...]

    @property
    def least(self) -> int:
        """How often the borders are crossed at least."""
        return 2 if len(self.sets) == 1 else 3 * len(self.sets) - 2

    @property
    def key(self) -> tuple[bytes, ...]:
        """What equal inequalities have in common."""
        return tuple(sorted(one.tobytes() for one in self.sets))


class Packed(NamedTuple):
    """Sets of inequalities by city.

    Attributes
    ----------
    first : int64[N + 1]
        Where each city begins in `sets`.
    sets : int64[M]
        Sets that hold a city, in rising order.
    cut : int64[S]
        The inequality that a set belongs to.
    starts, members : int64[S + 1], int64[M]
        Cities of each set.
    """

    first: Ints
    sets: Ints
    cut: Ints
    starts: Ints
    members: Ints


def by_place(places: Ints, owners: Ints, count: int) -> tuple[Ints, Ints]:
    """Sort owners by their places: where each of so many places begins, int64[count + 1], and the owners."""
    order = np.argsort(places, kind="stable")
    return np.searchsorted(places[order], np.arange(count + 1)), owners[order]


def closed_tour(size: int, i: Ints, j: Ints) -> Ints | None:
    """Give the tour that edges make, int64[N]; None if they make none."""
    first, others = by_place(np.concatenate([i, j]), np.concatenate([j, i]), size)
    if len(i) != size or (np.diff(first) != 2).any():
        return None
    tour = np.empty(size, np.int64)
    return tour if follow_links(others.reshape(size, 2), tour, 0) else None


def packed(cuts: Sequence[Cut], size: int) -> Packed:
    """Pack inequalities of so many cities."""
    sets = [one for cut in cuts for one in cut.sets]
    starts = np.cumsum([0, *map(len, sets)])
    members = np.concatenate([np.zeros(0, np.int64), *sets])
    owner = np.repeat(np.arange(len(sets)), np.diff(starts))
    cut = np.repeat(np.arange(len(cuts)), [len(one.sets) for one in cuts])
    return Packed(*by_place(members, owner, size), cut, starts, members)


def crossings(cuts: Packed, size: int, i: Ints, j: Ints) -> tuple[Ints, Ints, Ints]:
    """Count how often edges cross the borders of each inequality's sets.

    Returns
    -------
    cut, edge, times : int64[E]
        Sorted by inequality, then by edge, where it does.
    """
    first, edges = by_place(np.concatenate([i, j]), np.tile(np.arange(len(i)), 2), size)
    counts = np.diff(first)[cuts.members]
    owner = np.repeat(np.arange(len(cuts.starts) - 1), np.diff(cuts.starts))
    begins = np.repeat(first[cuts.members] - np.cumsum(counts) + counts, counts)
    at = edges[begins + np.arange(len(begins))]
    keys, often = np.unique(np.repeat(owner, counts) * len(i) + at, return_counts=True)
    once = keys[often == 1]  # with both ends in the set an edge is met twice
    keys, times = np.unique(cuts.cut[once // len(i)] * len(i) + once % len(i), return_counts=True)
    return keys // len(i), keys % len(i), times


def separate(size: int, i: Ints, j: Ints, x: Floats, tight: Sequence[Ints]) -> tuple[list[Cut], bool]:
    """Find inequalities that a solution violates.

    Parameters
    ----------
    size : int
    i, j, x : int64[E], int64[E], float64[E]
        Edges and the solution.
    tight : sequence of int64[M]
        Sets whose borders it crosses with weight 2.

    Returns
    -------
    cuts : list of Cut
    connected : bool
        Whether its edges hang together.
    """
    some = np.flatnonzero(x > _TINY / 10)
    some = some[np.argsort(-x[some], kind="stable")]
    i, j, x = i[some], j[some], x[some]
    support = Support(i, j, x, *by_place(np.concatenate([i, j]), np.tile(np.arange(len(i)), 2), size))
    whole, likely = (int(np.count_nonzero(x >= least)) for least in (1.0 - _TINY, _LIKELY))
    pairs, sets = np.stack([i, j], 1).ravel(), sorted(tight, key=len)
    members = np.concatenate([pairs[: 2 * whole], *sets, pairs[2 * whole : 2 * likely]])
    sizes = np.array([2] * whole + [*map(len, sets)] + [2] * (likely - whole), np.int64)
    slacks = np.concatenate([np.zeros(whole + len(sets)), 2.0 - 2.0 * x[whole:likely]])
    owners = np.repeat(np.arange(len(sizes)), sizes)
    teeth = Teeth(np.append(0, np.cumsum(sizes)), members, slacks, *by_place(members, owners, size))
    scratch, of_teeth = np.zeros((8, size + 2), np.int64), np.zeros((2, len(sizes)), np.int64)
    found = np.empty(_ROOM * size + 100, np.int64)
    end = find_cuts(support, _WAYS, teeth, Scratch(*scratch, *of_teeth), found)
    return [*_read(size, found[:end].tolist())], bool(found[0] == 1)


def _read(size: int, found: list[int]) -> Iterator[Cut]:
    """Read the inequalities that kernels write; a handle is its smaller side."""
    at = 1
    while at < len(found):
        count, sets = found[at], list[Ints]()
        at += 1
        for _ in range(count):
            sets.append(np.sort(np.array(found[at + 1 : at + 1 + found[at]], np.int64)))
            at += 1 + found[at]
        if 2 * len(sets[0]) > size or (2 * len(sets[0]) == size and sets[0][0] > 0):
            sets[0] = np.setdiff1d(np.arange(size), sets[0], assume_unique=True)
        if count > 1 or len(sets[0]) > 1:
            yield Cut(tuple(sets))
