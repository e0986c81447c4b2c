"""Separation: inequalities of tours that a solution of the relaxation violates, in floats.

Every tour crosses the border of a set of cities twice or more (subtour elimination: Dantzig, Fulkerson and
Johnson 1954), and those of a handle and of 2 t + 1 disjoint teeth, each partly in the handle, 6 t + 4 times
or more together (combs: Grötschel and Padberg 1979; blossoms, where teeth are edges: Edmonds 1965). What is
found is valid whether it is violated or not.
"""

from __future__ import annotations

from typing import NamedTuple

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.links import find_root
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints

#: Places in `Found.counts`.
CUTS, SETS, MEMBERS = range(3)

#: A border below 2, or a comb below its right side, by less than this is taken for rounding.
_SLACK = 1e-4

#: A comb is to be violated by so much.
_COMB_SLACK = 0.02


class Found(NamedTuple):
    """Inequalities that were found: of one set, or of a handle and teeth; its arrays are changed in place.

    Attributes
    ----------
    cuts : int64[C + 1]
        The first set of each inequality.
    sets : int64[S + 1]
        The first member of each set.
    members : int64[M]
        Cities.
    counts : int64[3]
        Those of all three.
    """

    cuts: Ints
    sets: Ints
    members: Ints
    counts: Ints


class Weighted(NamedTuple):
    """Edges of positive weight in a solution of the relaxation.

    Attributes
    ----------
    i, j : int64[E]
    weights : float64[E]
    first : int64[N + 1]
        Where each city begins in `edges`.
    edges : int64[2 E]
        Edges at a city.
    """

    i: Ints
    j: Ints
    weights: Floats
    first: Ints
    edges: Ints


class Lists(NamedTuple):
    """Lists one after the other: the k-th is ``members[starts[k]:starts[k + 1]]``."""

    starts: Ints
    members: Ints


@inlined
def _has_room(found: Found, sets: int, members: int) -> bool:
    counts = found.counts
    return (
        counts[CUTS] + 1 < len(found.cuts)
        and counts[SETS] + sets < len(found.sets)
        and counts[MEMBERS] + members <= len(found.members)
    )


@inlined
def _put(found: Found, city: int) -> None:
    found.members[found.counts[MEMBERS]] = city
    found.counts[MEMBERS] += 1


@inlined
def _end_set(found: Found) -> None:
    found.counts[SETS] += 1
    found.sets[found.counts[SETS]] = found.counts[MEMBERS]


@inlined
def _end_cut(found: Found) -> None:
    found.counts[CUTS] += 1
    found.cuts[found.counts[CUTS]] = found.counts[SETS]


@kernel
def label(i: Ints, j: Ints, root: Ints, labels: Ints) -> int:
    """Number the components of a graph of the edges; how many they are. `root` int64[N] is scratch."""
    for city in range(len(root)):
        root[city], labels[city] = city, -1
    for k in range(len(i)):
        a, b = find_root(root, i[k]), find_root(root, j[k])
        root[a] = b
    count = 0
    for city in range(len(root)):
        own = find_root(root, city)
        if labels[own] < 0:
            labels[own] = count
            count += 1
    for city in range(len(root)):
        root[city] = find_root(root, city)
    for city in range(len(root)):
        if root[city] != city:
            labels[city] = labels[root[city]]
    return count


class Teeth(NamedTuple):
    """Sets that may be teeth, and scratch of `find_combs`.

    Attributes
    ----------
    sets : Lists
        The best ones first.
    slacks : float64[S]
        By how much more than 2 the solution crosses the border of each.
    first, around : int64[N + 1], int64[M]
        The sets that hold a city: where they begin, and they themselves.
    inside, used : int64[N]
        Whether a city is in the handle, and in a tooth.
    common : int64[S]
        How many cities a set shares with the handle.
    chosen : int64[S]
    """

    sets: Lists
    slacks: Floats
    first: Ints
    around: Ints
    inside: Ints
    used: Ints
    common: Ints
    chosen: Ints


@kernel
def find_combs(edges: Weighted, handles: Lists, teeth: Teeth, found: Found) -> None:
    """Note handles that are left too rarely, and violated combs of handles and the best disjoint teeth.

    Scratch is 0 between the calls.
    """
    for h in range(len(handles.starts) - 1):
        begin, end = handles.starts[h], handles.starts[h + 1]
        touched, border = 0, 0.0
        for k in range(begin, end):
            city = handles.members[k]
            teeth.inside[city] = 1
            for t in range(teeth.first[city], teeth.first[city + 1]):
                one = teeth.around[t]
                if teeth.common[one] == 0:
                    teeth.chosen[touched] = one
                    touched += 1
                teeth.common[one] += 1
        for k in range(begin, end):
            city = handles.members[k]
            for e in range(edges.first[city], edges.first[city + 1]):
                edge = edges.edges[e]
                if teeth.inside[edges.i[edge]] + teeth.inside[edges.j[edge]] == 1:
                    border += edges.weights[edge]
        if border < 2.0 - _SLACK:
            _note_comb(handles, begin, end, teeth, 0, found)
        for k in range(1, touched):
            one, at = teeth.chosen[k], k
            while at > 0 and teeth.chosen[at - 1] > one:
                teeth.chosen[at] = teeth.chosen[at - 1]
                at -= 1
            teeth.chosen[at] = one
        count, slack = _choose_teeth(teeth, touched)
        if count >= 3 and count + 1 - border - slack > _COMB_SLACK:
            _note_comb(handles, begin, end, teeth, count, found)
        for k in range(begin, end):
            city = handles.members[k]
            teeth.inside[city] = 0
            for t in range(teeth.first[city], teeth.first[city + 1]):
                teeth.common[teeth.around[t]] = 0


@inlined
def _choose_teeth(teeth: Teeth, touched: int) -> tuple[int, float]:
    """Choose an odd number of disjoint sets that cross the handle; how many, and their slack."""
    starts, members = teeth.sets.starts, teeth.sets.members
    count, slack = 0, 0.0
    for k in range(touched):
        one = teeth.chosen[k]
        # An edge of less than a half is worth its while only for the parity.
        taken = teeth.common[one] == starts[one + 1] - starts[one]
        taken = taken or (teeth.slacks[one] > 1.0 and count % 2 == 1)
        for t in range(starts[one], starts[one + 1]):
            taken = taken or teeth.used[members[t]] == 1
        if not taken:
            teeth.chosen[count] = one
            count += 1
            slack += teeth.slacks[one]
            for t in range(starts[one], starts[one + 1]):
                teeth.used[members[t]] = 1
    for k in range(count):
        one = teeth.chosen[k]
        for t in range(starts[one], starts[one + 1]):
            teeth.used[members[t]] = 0
    if count % 2 == 0 and count > 0:
        count -= 1
        slack -= teeth.slacks[teeth.chosen[count]]
    return count, slack


@inlined
def _note_comb(handles: Lists, begin: int, end: int, teeth: Teeth, count: int, found: Found) -> None:
    """Note a handle and its teeth."""
    starts, members, total = teeth.sets.starts, teeth.sets.members, end - begin
    for k in range(count):
        total += starts[teeth.chosen[k] + 1] - starts[teeth.chosen[k]]
    if _has_room(found, 1 + count, total):
        for k in range(begin, end):
            _put(found, handles.members[k])
        _end_set(found)
        for k in range(count):
            for t in range(starts[teeth.chosen[k]], starts[teeth.chosen[k] + 1]):
                _put(found, members[t])
            _end_set(found)
        _end_cut(found)
