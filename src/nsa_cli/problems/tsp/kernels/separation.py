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

#: Shrinking merges ends of edges of weight 1 first; of lighter ones, where too many nodes are left.
_HEAVY, _LIGHTER, _LIGHTEST = 1.0 - 1e-7, 0.1, 0.05


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


# --- subtours ----------------------------------------------------------------------------------------


class Shrunk(NamedTuple):
    """Cities merged into nodes; its arrays are changed in place.

    Attributes
    ----------
    parent : int64[N]
        A forest that tells which node a city belongs to.
    following, tail, size : int64[N]
        The cities of a node as a list, its last one, and how many.
    head, last : int64[N]
        First and last of a node's edges, -1 where there is none.
    after, to : int64[2 E]
        The next of a node's edges, and the other end.
    weights : float64[2 E]
    border : float64[N]
        Weight of the edges out of a node.
    seen : int64[N]
    sums : float64[N]
    waiting : int64[N]
        Scratch.
    """

    parent: Ints
    following: Ints
    tail: Ints
    size: Ints
    head: Ints
    last: Ints
    after: Ints
    to: Ints
    weights: Floats
    border: Floats
    seen: Ints
    sums: Floats
    waiting: Ints


@kernel
def shrink(edges: Weighted, nodes: Shrunk, found: Found, enough: int) -> int:
    """Merge the ends of heavy edges, and note nodes with light borders; how many nodes are left.

    An edge of weight 1 or more, between nodes, is not in a least cut, or there is an equal one without it
    (Padberg and Rinaldi 1990). If more than `enough` nodes are left, lighter ones are merged, too.
    """
    size = len(nodes.parent)
    for city in range(size):
        nodes.parent[city], nodes.following[city], nodes.tail[city], nodes.size[city] = city, -1, city, 1
        nodes.head[city], nodes.last[city], nodes.border[city], nodes.seen[city] = -1, -1, 0.0, -1
        nodes.waiting[city] = city
    for k in range(len(edges.i)):
        _hang(nodes, 2 * k, edges.i[k], edges.j[k], edges.weights[k])
        _hang(nodes, 2 * k + 1, edges.j[k], edges.i[k], edges.weights[k])
    count, waiting, heavy, clock = size, size, _HEAVY, 0
    while True:
        while waiting > 0:
            waiting -= 1
            node = nodes.waiting[waiting]
            if nodes.parent[node] != node:
                continue
            while count > 2:
                clock += 1
                other = _heaviest(nodes, node, clock)
                if other < 0 or nodes.sums[other] < heavy:
                    break
                _merge(nodes, node, other)
                count -= 1
                if nodes.border[node] < 2.0 - _SLACK and nodes.size[node] < size - 1:
                    _note_node(nodes, node, found)
        if count <= enough or heavy <= _LIGHTEST:
            return count
        heavy -= _LIGHTER
        for city in range(size):
            if nodes.parent[city] == city:
                nodes.waiting[waiting] = city
                waiting += 1


@inlined
def _hang(nodes: Shrunk, half: int, a: int, b: int, weight: float) -> None:
    """Add an edge to the list of one of its ends."""
    nodes.to[half], nodes.weights[half], nodes.after[half] = b, weight, nodes.head[a]
    if nodes.head[a] < 0:
        nodes.last[a] = half
    nodes.head[a] = half
    nodes.border[a] += weight


@inlined
def _heaviest(nodes: Shrunk, node: int, clock: int) -> int:
    """Join a node's parallel edges; the other end of the heaviest, -1 where there is none."""
    half, first, last, best, most = nodes.head[node], -1, -1, -1, -1.0
    while half >= 0:
        following, other = nodes.after[half], find_root(nodes.parent, nodes.to[half])
        if other != node:
            if nodes.seen[other] == clock:
                nodes.sums[other] += nodes.weights[half]
            else:
                nodes.seen[other], nodes.sums[other], nodes.to[half] = clock, nodes.weights[half], other
                if first < 0:
                    first = half
                else:
                    nodes.after[last] = half
                last = half
            if nodes.sums[other] > most:
                best, most = other, nodes.sums[other]
        half = following
    if last >= 0:
        nodes.after[last] = -1
    nodes.head[node], nodes.last[node] = first, last
    half = first
    while half >= 0:
        nodes.weights[half] = nodes.sums[nodes.to[half]]
        half = nodes.after[half]
    return best


@inlined
def _merge(nodes: Shrunk, node: int, other: int) -> None:
    nodes.border[node] += nodes.border[other] - 2.0 * nodes.sums[other]
    nodes.parent[other] = node
    nodes.size[node] += nodes.size[other]
    nodes.following[nodes.tail[node]] = other
    nodes.tail[node] = nodes.tail[other]
    if nodes.head[other] >= 0:
        if nodes.head[node] < 0:
            nodes.head[node] = nodes.head[other]
        else:
            nodes.after[nodes.last[node]] = nodes.head[other]
        nodes.last[node] = nodes.last[other]


@inlined
def _put_node(nodes: Shrunk, node: int, found: Found) -> None:
    city = node
    while city >= 0:
        _put(found, city)
        city = nodes.following[city] if city != nodes.tail[node] else -1


@inlined
def _note_node(nodes: Shrunk, node: int, found: Found) -> None:
    """Note a node's cities as a set that is left too rarely."""
    if _has_room(found, 1, nodes.size[node]):
        _put_node(nodes, node, found)
        _end_set(found)
        _end_cut(found)


class Dense(NamedTuple):
    """The nodes that are left, and all weights between them.

    Attributes
    ----------
    number : int64[N]
        Number of each node that is left.
    node : int64[C]
    between : float64[C, C]
    following, tail, active, order : int64[C]
    keys : float64[C]
        Scratch.
    """

    number: Ints
    node: Ints
    between: Floats
    following: Ints
    tail: Ints
    active: Ints
    order: Ints
    keys: Floats


@kernel
def cut_phases(edges: Weighted, nodes: Shrunk, dense: Dense, found: Found) -> None:
    """Find light borders of sets of nodes, the least one among them (Stoer and Wagner 1997).

    `Dense.between` is zero at first.
    """
    between, keys, order, left = dense.between, dense.keys, dense.order, 0
    for city in range(len(nodes.parent)):
        if nodes.parent[city] == city:
            dense.number[city], dense.node[left] = left, city
            dense.following[left], dense.tail[left], dense.active[left] = -1, left, left
            left += 1
    for k in range(len(edges.i)):
        a = dense.number[find_root(nodes.parent, edges.i[k])]
        b = dense.number[find_root(nodes.parent, edges.j[k])]
        if a != b:
            between[a, b] += edges.weights[k]
            between[b, a] += edges.weights[k]
    while left > 1:
        for k in range(left):
            order[k] = dense.active[k]
            keys[order[k]] = 0.0
        before, here = 0, 0
        for rest in range(left, 0, -1):
            at = 0
            for k in range(1, rest):
                if keys[order[k]] > keys[order[at]]:
                    at = k
            before, here = here, order[at]
            order[at] = order[rest - 1]
            for k in range(rest - 1):
                keys[order[k]] += between[here, order[k]]
        if keys[here] < 2.0 - _SLACK:
            _note_nodes(nodes, dense, here, found)
        for k in range(left):
            other = dense.active[k]
            between[before, other] += between[here, other]
            between[other, before] = between[before, other]
            if other == here:
                dense.active[k] = dense.active[left - 1]
                other = dense.active[k]
                between[before, other] += between[here, other]
                between[other, before] = between[before, other]
        between[before, before] = 0.0
        dense.following[dense.tail[before]], dense.tail[before] = here, dense.tail[here]
        left -= 1


@inlined
def _note_nodes(nodes: Shrunk, dense: Dense, first: int, found: Found) -> None:
    total, one = 0, first
    while one >= 0:
        total += nodes.size[dense.node[one]]
        one = dense.following[one] if one != dense.tail[first] else -1
    if 1 < total < len(nodes.parent) - 1 and _has_room(found, 1, total):
        one = first
        while one >= 0:
            _put_node(nodes, dense.node[one], found)
            one = dense.following[one] if one != dense.tail[first] else -1
        _end_set(found)
        _end_cut(found)


# --- blossoms ----------------------------------------------------------------------------------------


class Blossoming(NamedTuple):
    """Scratch of `find_blossoms`.

    Attributes
    ----------
    inside : int64[N]
        Whether a city is in the handle; 2 once it is put down.
    tooth : int64[N]
        The tooth at a city, -1 where there is none.
    teeth, alive : int64[E]
        Edges of the teeth, and whether they still are.
    """

    inside: Ints
    tooth: Ints
    teeth: Ints
    alive: Ints


@kernel
def find_blossoms(edges: Weighted, handles: Lists, scratch: Blossoming, found: Found) -> None:
    """Take heavy edges out of a handle for its teeth, an odd number (Padberg and Rinaldi 1990).

    `Blossoming.inside` is 0 and `tooth` -1 between the calls.
    """
    inside, teeth = scratch.inside, scratch.teeth
    for h in range(len(handles.starts) - 1):
        begin, end = handles.starts[h], handles.starts[h + 1]
        for k in range(begin, end):
            inside[handles.members[k]] = 1
        count = _choose_teeth(edges, handles, begin, end, scratch)
        if count > 0 and _has_room(found, 1 + count, end - begin + 3 * count):
            _note_blossom(edges, handles, begin, end, scratch, count, found)
        for k in range(begin, end):
            inside[handles.members[k]] = 0
        for k in range(count):
            for city in (edges.i[teeth[k]], edges.j[teeth[k]]):
                inside[city], scratch.tooth[city] = 0, -1


@inlined
def _choose_teeth(edges: Weighted, handles: Lists, begin: int, end: int, scratch: Blossoming) -> int:
    """List the teeth of a handle in `Blossoming.teeth`; how many, 0 if the blossom is not violated."""
    inside, weights = scratch.inside, edges.weights
    count, missing, least, turned = 0, 0.0, 9.0, -1
    for k in range(begin, end):
        city = handles.members[k]
        for e in range(edges.first[city], edges.first[city + 1]):
            edge = edges.edges[e]
            if inside[edges.i[edge]] + inside[edges.j[edge]] == 1:
                count += 1 if weights[edge] >= 0.5 else 0
                missing += min(weights[edge], 1.0 - weights[edge])
                if abs(2.0 * weights[edge] - 1.0) < least:
                    least, turned = abs(2.0 * weights[edge] - 1.0), edge
    if count % 2 == 1:
        least, turned = 0.0, -1
    elif turned < 0:
        return 0
    if missing + least > 1.0 - 10 * _SLACK:
        return 0
    count = 0
    for k in range(begin, end):
        city = handles.members[k]
        for e in range(edges.first[city], edges.first[city + 1]):
            edge = edges.edges[e]
            crosses = inside[edges.i[edge]] + inside[edges.j[edge]] == 1
            if crosses and (weights[edge] >= 0.5) != (edge == turned):
                scratch.teeth[count], scratch.alive[count] = edge, 1
                count += 1
    return count


@inlined
def _note_blossom(
    edges: Weighted, handles: Lists, begin: int, end: int, scratch: Blossoming, count: int, found: Found
) -> None:
    """Note a comb of edges. Two that share an end go, and it changes sides."""
    inside, tooth, teeth, alive = scratch.inside, scratch.tooth, scratch.teeth, scratch.alive
    left = count
    for k in range(count):
        for city in (edges.i[teeth[k]], edges.j[teeth[k]]):
            other = tooth[city]
            if alive[k] == 1 and other >= 0 and alive[other] == 1:
                inside[city] = 1 - inside[city]
                alive[k], alive[other] = 0, 0
                left -= 2
            elif alive[k] == 1:
                tooth[city] = k
    sound = left > 0
    for k in range(count):
        if alive[k] == 1 and inside[edges.i[teeth[k]]] + inside[edges.j[teeth[k]]] != 1:
            sound = False
    if not sound:
        return
    for k in range(begin, end):
        _put_once(found, handles.members[k], inside)
    for k in range(count):
        _put_once(found, edges.i[teeth[k]], inside)
        _put_once(found, edges.j[teeth[k]], inside)
    _end_set(found)
    if left > 1:
        for k in range(count):
            if alive[k] == 1:
                _put(found, edges.i[teeth[k]])
                _put(found, edges.j[teeth[k]])
                _end_set(found)
    _end_cut(found)


@inlined
def _put_once(found: Found, city: int, inside: Ints) -> None:
    if inside[city] == 1:
        _put(found, city)
        inside[city] = 2


# --- combs -------------------------------------------------------------------------------------------


class Combing(NamedTuple):
    """Sets that a solution leaves with weight 2, which make teeth, and scratch of `find_combs`.

    Attributes
    ----------
    sets : Lists
        The sets, small ones first.
    first, around : int64[N + 1], int64[M]
        The sets that hold a city: where they begin, and they themselves.
    inside, used : int64[N]
        Whether a city is in the handle, and in a tooth.
    common : int64[S]
        How many cities a set shares with the handle.
    touched, chosen : int64[S]
    """

    sets: Lists
    first: Ints
    around: Ints
    inside: Ints
    used: Ints
    common: Ints
    touched: Ints
    chosen: Ints


@kernel
def find_combs(edges: Weighted, handles: Lists, scratch: Combing, found: Found) -> None:
    """Give handles disjoint teeth among tight sets, small ones first; scratch is 0 between the calls."""
    inside, used, common = scratch.inside, scratch.used, scratch.common
    starts, members = scratch.sets.starts, scratch.sets.members
    for h in range(len(handles.starts) - 1):
        begin, end = handles.starts[h], handles.starts[h + 1]
        touched = 0
        for k in range(begin, end):
            city = handles.members[k]
            inside[city] = 1
            for t in range(scratch.first[city], scratch.first[city + 1]):
                one = scratch.around[t]
                if common[one] == 0:
                    scratch.touched[touched] = one
                    touched += 1
                common[one] += 1
        border = 0.0
        for k in range(begin, end):
            city = handles.members[k]
            for e in range(edges.first[city], edges.first[city + 1]):
                edge = edges.edges[e]
                if inside[edges.i[edge]] + inside[edges.j[edge]] == 1:
                    border += edges.weights[edge]
        count = 0
        for larger in range(2):  # first edges, then all others
            for k in range(touched):
                one = scratch.touched[k]
                size = starts[one + 1] - starts[one]
                if (size > 2) != (larger == 1) or common[one] == size:
                    continue
                taken = 0
                for t in range(starts[one], starts[one + 1]):
                    taken += used[members[t]]
                if taken == 0:
                    scratch.chosen[count] = one
                    count += 1
                    for t in range(starts[one], starts[one + 1]):
                        used[members[t]] = 1
        total = end - begin
        for k in range(count):
            one = scratch.chosen[k]
            total += starts[one + 1] - starts[one]
            for t in range(starts[one], starts[one + 1]):
                used[members[t]] = 0
        teeth = count - 1 + count % 2
        if teeth >= 3 and teeth + 1 - border > _COMB_SLACK and _has_room(found, 1 + teeth, total):
            for k in range(begin, end):
                _put(found, handles.members[k])
            _end_set(found)
            for k in range(teeth):
                one = scratch.chosen[k]
                for t in range(starts[one], starts[one + 1]):
                    _put(found, members[t])
                _end_set(found)
            _end_cut(found)
        for k in range(begin, end):
            inside[handles.members[k]] = 0
        for k in range(touched):
            common[scratch.touched[k]] = 0
