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

#: A border below 2, or a comb below its right side, by less than this is taken for rounding.
_SLACK = 1e-4

#: A comb is to be violated by so much.
_COMB_SLACK = 0.02

#: Weight from which on two edges move a city to the other side of a handle: teeth must not share it.
_HEAVY = 0.4


class Support(NamedTuple):
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


class Teeth(NamedTuple):
    """Sets that may be teeth, the best ones first.

    Attributes
    ----------
    starts, members : int64[S + 1], int64[M]
        Cities of each.
    slacks : float64[S]
        By how much more than 2 the solution crosses the border of each.
    first, around : int64[N + 1], int64[M]
        The sets that hold a city: where they begin, and they themselves.
    """

    starts: Ints
    members: Ints
    slacks: Floats
    first: Ints
    around: Ints


class Scratch(NamedTuple):
    """Scratch, all 0 between the handles but for components.

    Attributes
    ----------
    root, labels, begins, members : int64[N + 2]
        Components: a forest, the number of each city's, and their cities one after the other.
    handle, inside : int64[N + 2]
        The cities of a handle, and whether a city is one.
    heavy : int64[N + 2]
        How many heavy edges of a city cross the handle's border.
    used : int64[N + 2]
        Whether a city is in a tooth.
    common, chosen : int64[S]
        How many cities a set shares with the handle; the sets that share some, then those chosen.
    """

    root: Ints
    labels: Ints
    begins: Ints
    members: Ints
    handle: Ints
    inside: Ints
    heavy: Ints
    used: Ints
    common: Ints
    chosen: Ints


@kernel
def find_cuts(support: Support, ways: Floats, teeth: Teeth, s: Scratch, found: Ints) -> int:
    """Find handles that are left too rarely, and violated combs of handles and the best disjoint teeth.

    Handles hang together by edges of some weights, or are sets of `teeth`; some of their cities move to the
    other side. Where the solution falls into parts, only these are given.

    Parameters
    ----------
    support : Support
    ways : float64[W, 2]
        The weights of edges by which handles hang together are between two numbers.
    teeth : Teeth
    s : Scratch
    found : int64[L]
        The number of the solution's parts. Then, of each inequality, how many sets it has, and of each set,
        how many cities, and these. What has no room is left out.

    Returns
    -------
    int
        How much of `found` is filled.
    """
    parts, end = _components(support, 0.0, 3.0, s), 1
    found[0] = parts
    for part in range(parts if parts > 1 else 0):
        size = s.begins[part + 1] - s.begins[part]
        for k in range(size):
            s.handle[k] = s.members[s.begins[part] + k]
        end = _noted(teeth, s, size, 0, end, found) if size > 1 else end
    if parts > 1:
        return end
    for way in range(len(ways)):
        for part in range(_components(support, ways[way, 0], ways[way, 1], s)):
            if s.begins[part + 1] - s.begins[part] > 1:
                end = _tried(support, teeth, s.members, s.begins[part], s.begins[part + 1], s, end, found)
    for one in range(len(teeth.starts) - 1):
        if teeth.starts[one + 1] - teeth.starts[one] > 2:
            end = _tried(
                support, teeth, teeth.members, teeth.starts[one], teeth.starts[one + 1], s, end, found
            )
    return end


@inlined
def _components(support: Support, low: float, high: float, s: Scratch) -> int:
    """List the components of a graph of edges whose weights are between two numbers; how many they are."""
    size, count = len(support.first) - 1, 0
    for city in range(size):
        s.root[city], s.labels[city] = city, -1
    for k in range(len(support.i)):
        if low < support.weights[k] < high:
            a, b = find_root(s.root, support.i[k]), find_root(s.root, support.j[k])
            s.root[a] = b
    s.begins[:] = 0
    for city in range(size):
        own = find_root(s.root, city)
        if s.labels[own] < 0:
            s.labels[own] = count
            count += 1
        s.begins[s.labels[own] + 2] += 1
    for part in range(count):
        s.begins[part + 2] += s.begins[part + 1]
    for city in range(size):
        label = s.labels[find_root(s.root, city)]
        s.members[s.begins[label + 1]] = city
        s.begins[label + 1] += 1
    return count


@inlined
def _tried(
    support: Support, teeth: Teeth, members: Ints, begin: int, end: int, s: Scratch, at: int, found: Ints
) -> int:
    """Try a handle; with outer cities that two heavy edges join; without inner ones that two leave."""
    size = end - begin
    for k in range(size):
        s.handle[k] = members[begin + k]
        s.inside[s.handle[k]] = 1
    at = _combed(support, teeth, s, size, at, found)
    grown = size
    for adding in (False, True):
        for k in range(size):
            for e in range(support.first[s.handle[k]], support.first[s.handle[k] + 1]):
                edge = support.edges[e]
                other = support.i[edge] + support.j[edge] - s.handle[k]
                if support.weights[edge] < _HEAVY or s.inside[other] == 1:
                    continue
                if not adding:
                    s.heavy[s.handle[k]] += 1
                    s.heavy[other] += 1
                elif s.heavy[other] > 1:
                    s.inside[other], s.handle[grown] = 1, other
                    grown += 1
    if grown > size:
        at = _combed(support, teeth, s, grown, at, found)
        kept = 0
        for k in range(grown):
            city = s.handle[k]
            if k < size and s.heavy[city] > 1:
                s.inside[city] = 0
            else:
                s.handle[kept] = city
                kept += 1
        at = _combed(support, teeth, s, kept, at, found)
        for k in range(kept):
            s.inside[s.handle[k]] = 0
    for k in range(begin, end):
        city = members[k]
        s.inside[city], s.heavy[city] = 0, 0
        for e in range(support.first[city], support.first[city + 1]):
            s.heavy[support.i[support.edges[e]]], s.heavy[support.j[support.edges[e]]] = 0, 0
    return at


@inlined
def _combed(support: Support, teeth: Teeth, s: Scratch, size: int, at: int, found: Ints) -> int:
    """Note a handle that is left too rarely, and a violated comb of it."""
    touched, border = 0, 0.0
    for k in range(size):
        city = s.handle[k]
        for t in range(teeth.first[city], teeth.first[city + 1]):
            one = teeth.around[t]
            if s.common[one] == 0:
                s.chosen[touched] = one
                touched += 1
            s.common[one] += 1
        for e in range(support.first[city], support.first[city + 1]):
            edge = support.edges[e]
            if s.inside[support.i[edge]] + s.inside[support.j[edge]] == 1:
                border += support.weights[edge]
    if border < 2.0 - _SLACK:
        at = _noted(teeth, s, size, 0, at, found)
    for k in range(1, touched):
        one, place = s.chosen[k], k
        while place > 0 and s.chosen[place - 1] > one:
            s.chosen[place] = s.chosen[place - 1]
            place -= 1
        s.chosen[place] = one
    count, slack = _choose_teeth(teeth, s, touched)
    if count >= 3 and count + 1 - border - slack > _COMB_SLACK:
        at = _noted(teeth, s, size, count, at, found)
    for k in range(size):
        for t in range(teeth.first[s.handle[k]], teeth.first[s.handle[k] + 1]):
            s.common[teeth.around[t]] = 0
    return at


@inlined
def _choose_teeth(teeth: Teeth, s: Scratch, touched: int) -> tuple[int, float]:
    """Choose an odd number of disjoint sets that cross the handle; how many, and their slack."""
    starts, members = teeth.starts, teeth.members
    count, slack = 0, 0.0
    for k in range(touched):
        one = s.chosen[k]
        # An edge of less than a half is worth its while only for the parity.
        taken = s.common[one] == starts[one + 1] - starts[one]
        taken = taken or (teeth.slacks[one] > 1.0 and count % 2 == 1)
        for t in range(starts[one], starts[one + 1]):
            taken = taken or s.used[members[t]] == 1
        if not taken:
            s.chosen[count] = one
            count += 1
            slack += teeth.slacks[one]
            for t in range(starts[one], starts[one + 1]):
                s.used[members[t]] = 1
    for k in range(count):
        for t in range(starts[s.chosen[k]], starts[s.chosen[k] + 1]):
            s.used[members[t]] = 0
    if count % 2 == 0 and count > 0:
        count -= 1
        slack -= teeth.slacks[s.chosen[count]]
    return count, slack


@inlined
def _noted(teeth: Teeth, s: Scratch, size: int, count: int, at: int, found: Ints) -> int:
    """Note a handle and teeth; where the next one begins."""
    room = 2 + size + count
    for k in range(count):
        room += teeth.starts[s.chosen[k] + 1] - teeth.starts[s.chosen[k]]
    if at + room > len(found):
        return at
    found[at] = 1 + count
    at = _put(s.handle, 0, size, at + 1, found)
    for k in range(count):
        at = _put(teeth.members, teeth.starts[s.chosen[k]], teeth.starts[s.chosen[k] + 1], at, found)
    return at


@inlined
def _put(members: Ints, begin: int, end: int, at: int, found: Ints) -> int:
    """Note how many cities a set has, and these."""
    found[at] = end - begin
    for k in range(begin, end):
        found[at + 1 + k - begin] = members[k]
    return at + 1 + end - begin
