"""Inequalities of tours: what the sets of one are, and the search for violated ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.kernels import separation
from nsa_cli.problems.tsp.kernels.links import follow_links
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints
from nsa_cli.problems.tsp.kernels.separation import Found, Lists, Weighted

#: Weights below this are 0, and those above its complement 1.
_TINY = 1e-5

#: Borders of the weights of edges that handles hang together by.
_BORDERS = (_TINY, 0.1, 0.2, 0.3, 0.45)

#: The same of sets that may be left too rarely.
_SUBTOURS = (0.1, 0.3, 0.5, 0.7, 0.9)

#: Weight from which on an edge may be a tooth.
_LIKELY, _HEAVY = 0.2, 0.4

#: Room for what is found, a city: cuts, sets and members.
_ROOM = (4, 12, 40)


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
    lists = lists_of(sets)
    owner = np.repeat(np.arange(len(sets)), np.diff(lists.starts))
    cut = np.repeat(np.arange(len(cuts)), [len(one.sets) for one in cuts])
    return Packed(*by_place(lists.members, owner, size), cut, *lists)


def lists_of(sets: Sequence[Ints]) -> Lists:
    """Put lists one after the other."""
    starts = np.cumsum([0, *map(len, sets)])
    return Lists(starts, np.concatenate([np.zeros(0, np.int64), *sets]))


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


class Support(NamedTuple):
    """A solution of the relaxation, and the sets whose borders it crosses with weight 2.

    Attributes
    ----------
    size : int
    edges : Weighted
        Those of positive weight.
    tight : list of int64[M]
        Sets of inequalities of one set each, without slack.
    """

    size: int
    edges: Weighted
    tight: list[Ints]


def support(size: int, i: Ints, j: Ints, x: Floats, tight: list[Ints]) -> Support:
    """Keep the edges of positive weight."""
    some = x > _TINY / 10
    i, j, x = i[some], j[some], x[some]
    first, edges = by_place(np.concatenate([i, j]), np.tile(np.arange(len(i)), 2), size)
    return Support(size, Weighted(i, j, x, first, edges), tight)


def components(size: int, edges: Weighted, chosen: NDArray[np.bool_]) -> Lists:
    """List the components of some of the edges."""
    root, labels = np.empty(size, np.int64), np.empty(size, np.int64)
    count = separation.label(edges.i[chosen], edges.j[chosen], root, labels)
    return Lists(*by_place(labels, np.arange(size), count))


def _large(lists: Lists, least: int = 2) -> Lists:
    """Keep the lists of so many members or more."""
    sizes = np.diff(lists.starts)
    kept = sizes >= least
    members = lists.members[np.repeat(kept, sizes)]
    return Lists(np.concatenate([[0], np.cumsum(sizes[kept])]), members)


def _joined(lists: Iterable[Lists]) -> Lists:
    """Put some lists of lists one after the other."""
    some = list(lists)
    sizes = np.concatenate([np.diff(one.starts) for one in some])
    return Lists(np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([one.members for one in some]))


def separate(given: Support) -> tuple[list[Cut], bool]:
    """Find inequalities that a solution violates.

    Returns
    -------
    cuts : list of Cut
    connected : bool
        Whether its edges hang together.
    """
    size, edges = given.size, given.edges
    parts = components(size, edges, np.ones(len(edges.i), dtype=bool))
    if len(parts.starts) > 2:
        return _tidied(size, _split(_large(parts))), False
    cuts, sets, members = (np.zeros(room * size + 100, np.int64) for room in _ROOM)
    found = Found(cuts, sets, members, np.zeros(3, np.int64))
    _find_combs(given, found)
    return _tidied(size, _cuts_in(found)), True


def _split(lists: Lists) -> Iterator[list[Ints]]:
    return ([one] for one in np.split(lists.members, lists.starts[1:-1]))


def _cuts_in(found: Found) -> Iterator[list[Ints]]:
    cuts, sets = found.cuts.tolist(), found.sets.tolist()
    for k in range(found.counts[separation.CUTS]):
        yield [found.members[sets[s] : sets[s + 1]] for s in range(cuts[k], cuts[k + 1])]


def _tidied(size: int, found: Iterable[Sequence[Ints]]) -> list[Cut]:
    return [cut for sets in found if (cut := _tidy(size, sets)) is not None]


def _tidy(size: int, sets: Sequence[Ints]) -> Cut | None:
    """Sort the sets of an inequality, its first one or what is outside; None if it says nothing."""
    handle = np.sort(sets[0])
    if 2 * len(handle) > size or (2 * len(handle) == size and handle[0] > 0):
        others = np.ones(size, dtype=bool)
        others[handle] = False
        handle = np.flatnonzero(others)
    if len(sets) == 1:
        return Cut((handle,)) if len(handle) > 1 else None
    return Cut((handle, *(np.sort(tooth) for tooth in sets[1:])))


def _moved(handles: Lists, edges: Weighted) -> list[Lists]:
    """Move cities that two heavy edges join to the other side of a handle: teeth must not share them."""
    size, count = len(handles.members), len(handles.starts) - 1
    labels = np.empty(size, np.int64)
    labels[handles.members] = np.repeat(np.arange(count), np.diff(handles.starts))
    heavy = (edges.weights >= _HEAVY) & (labels[edges.i] != labels[edges.j])
    i, j = edges.i[heavy], edges.j[heavy]
    keys, often = np.unique(np.concatenate([labels[i] * size + j, labels[j] * size + i]), return_counts=True)
    keys = keys[often > 1]
    if not len(keys):
        return []
    grown = np.unique(np.concatenate([np.arange(size) + size * labels, keys]))
    inner, often = np.unique(np.concatenate([i, j]), return_counts=True)
    shrunk = np.setdiff1d(grown, inner[often > 1] + size * labels[inner[often > 1]])
    return [
        Lists(np.searchsorted(some, size * np.arange(count + 1)), some % size) for some in (grown, shrunk)
    ]


def _find_combs(given: Support, found: Found) -> None:
    """Seek combs whose handles hang together by edges of some weights, or are tight."""
    size, edges = given.size, given.edges
    x = edges.weights
    likely = np.flatnonzero(x >= _LIKELY)
    likely = likely[np.argsort(-x[likely], kind="stable")]
    whole = int((x[likely] > 1.0 - _TINY).sum())
    pairs = [*np.stack([edges.i[likely], edges.j[likely]], 1)]
    sets = [*pairs[:whole], *sorted(given.tight, key=len), *pairs[whole:]]
    tight, slacks = lists_of(sets), np.zeros(len(sets))
    slacks[len(sets) - len(pairs) + whole :] = 2.0 - 2.0 * x[likely[whole:]]
    ways = [(least, 1.0 - least) for least in _BORDERS]
    ways += [(least, 1.0 - _TINY) for least in _BORDERS[1:]] + [
        (_TINY, 1.0 - least) for least in _BORDERS[1:]
    ]
    ways += [(least, 2.0) for least in _SUBTOURS]
    some = [components(size, edges, (x > least) & (x < most)) for least, most in ways]
    some += [moved for one in some for moved in _moved(one, edges)]
    handles = _joined([*map(_large, some), _large(lists_of(given.tight), 3)])
    first, owner = by_place(tight.members, np.repeat(np.arange(len(sets)), np.diff(tight.starts)), size)
    inside, used = np.zeros((2, size), np.int64)
    common, chosen = np.zeros((2, len(sets)), np.int64)
    teeth = separation.Teeth(tight, slacks, first, owner, inside, used, common, chosen)
    separation.find_combs(edges, handles, teeth, found)
