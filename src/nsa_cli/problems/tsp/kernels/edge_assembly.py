"""Edge assembly crossover of tours, in its local form (Nagata and Kobayashi 2013).

The edges that only one of two tours A and B has fall into *AB-cycles*: closed walks whose edges are of A and
of B in turns. An *E-set* is a set of AB-cycles. To apply it takes its edges of A out of A and puts its edges
of B in. That leaves two edges at each city, but maybe several subtours, which are then joined.

In the local form each E-set is one AB-cycle. `assemble` goes through four phases: `_find_cycles` splits the
differing edges into AB-cycles; for each cycle `_exchange` finds the subtours that it would leave, and joins
them, the smallest first, by the best exchange of two edges over candidates (`_best_join`); if A gets shorter
in total, `_rebuild` writes the new tour. The two in the middle work on segments, so that they take time by
the edges of the cycle and the cities of small subtours, not by the cities of the tour.

A *cut* is as in `nsa_cli.problems.tsp.kernels.local_search`. Cuts leave segments of the tour, of which number
i runs from the city after cut i to cut i + 1, and the last one across the end of the array. Ends of segments
are numbered by positions: 2 p is the first city of one, at position p, and 2 p + 1 is the last. A segment of
one city has both. So the cut at position p has the ends 2 p + 1 and 2 (p + 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.local_search import Chain, Cities, close, push
from nsa_cli.problems.tsp.kernels.metric import Ints, Words, length

#: An exchange has so many cuts at most, with those of its joins; longer AB-cycles are left out.
_CUTS = 2000

#: A subtour of more cities than this is not joined: it takes long and, being so long, hardly ever pays.
_SUBTOUR = 500


class Assembly(NamedTuple):
    """Scratch space of a crossover, used again by the next one.

    Between crossovers all of `left` is 0 and all of `seen` is -1; the rest may hold anything.

    Attributes
    ----------
    place : uint32[N]
        The position of each city in the other tour.
    only : uint32[4 * N]
        The neighbours of each city by edges of A only, up to two, then from its third place by edges of B.
    left : uint8[2 * N]
        For each city, how many of its edges of A only, then of B only, no cycle has yet. The walk takes
        one of each on its way through a city, so both are equal where no walk begins or ends.
    differing : uint32[N]
        The cities that have some.
    seen : int32[2 * N]
        The step of the walk that leaves a city by an edge of A, and of B; -1 if none does.
    walk : uint32[2 * N + 2]
        The cities of the walk, left by an edge of A at even steps and of B at odd ones. `_rebuild` uses it as
        a buffer.
    cycles, starts : uint32[2 * N], int64[N / 2 + 2]
        The AB-cycles, one after the other, each from a city on that is left by an edge of A; and where they
        begin: cycle k is ``cycles[starts[k] : starts[k + 1]]``.
    cuts, subtour, sizes, path : int64[C]
        The positions of the cuts, sorted; the subtour of each segment; the number of cities of each subtour;
        the segments in the order in which their subtours pass them, i if forward, -1 - i if backward.
    links : uint32[2 * N]
        The end to which each end at a cut is joined: ``links[links[e]] == e``. Other ends have old entries.
    rank : uint32[N]
        The number of the cut at a position; other positions have old entries.
    """

    place: Words
    only: Words
    left: NDArray[np.uint8]
    differing: Words
    seen: NDArray[np.int32]
    walk: Words
    cycles: Words
    starts: Ints
    cuts: Ints
    subtour: Ints
    sizes: Ints
    path: Ints
    links: Words
    rank: Words


def new_assembly(size: int) -> Assembly:
    """Make scratch space for tours of so many cities; with 0 for chains that do not recombine."""
    cuts = _CUTS + 4 if size else 0
    return Assembly(
        place=np.empty(size, np.uint32),
        only=np.empty(4 * size, np.uint32),
        left=np.zeros(2 * size, np.uint8),
        differing=np.empty(size, np.uint32),
        seen=np.full(2 * size, -1, np.int32),
        walk=np.empty(2 * size + 2, np.uint32),
        cycles=np.empty(2 * size, np.uint32),
        starts=np.zeros(size // 2 + 2, np.int64),
        cuts=np.empty(cuts, np.int64),
        subtour=np.empty(cuts, np.int64),
        sizes=np.empty(cuts, np.int64),
        path=np.empty(cuts, np.int64),
        links=np.empty(2 * size, np.uint32),
        rank=np.empty(size, np.uint32),
    )


@kernel
def assemble(cities: Cities, chain: Chain, assembly: Assembly, other: Words, draws: np.uint64) -> float:
    """Shorten a tour by what another tour uint32[N] does better, and queue the ends; return the gain."""
    count, gained = _find_cycles(chain, assembly, other, draws), 0.0
    # A cycle is tried on the tour as the ones before have left it, so gains add up. The order is random, as
    # the walks are.
    for k in range(count):
        gain, cuts = _exchange(cities, chain, assembly, assembly.starts[k], assembly.starts[k + 1])
        if cuts > 0:
            gained += gain
            # Only at the ends of new edges local search may find more to do. `order` is still the old one.
            for i in range(cuts):
                push(chain, _signed(chain.order[assembly.cuts[i]]))
                push(chain, _signed(chain.order[_after(assembly.cuts[i], len(chain.order))]))
            _rebuild(chain, assembly, cuts)
    return gained


@inlined
def _signed(x: Any) -> int:
    """Make a number signed: of signed and unsigned ones Numba makes floats."""
    signed: Any = np.int64(x)
    return signed


@inlined
def _after(place: int, size: int) -> int:
    return place + 1 if place + 1 < size else 0


@inlined
def _before(place: int, size: int) -> int:
    return place - 1 if place > 0 else size - 1


@inlined
def _across(end: int, size: int) -> int:
    """The end on the other side of the cut at an end."""
    return 2 * _after(end >> 1, size) if end & 1 else 2 * _before(end >> 1, size) + 1


@inlined
def _cut_at(end: int, size: int) -> int:
    """Position of the cut at an end."""
    return end >> 1 if end & 1 else _before(end >> 1, size)


@kernel
def _find_cycles(chain: Chain, assembly: Assembly, other: Words, draws: np.uint64) -> int:
    """Split the differing edges into AB-cycles by random walks; return how many there are.

    Each differing edge is in exactly one cycle.
    """
    order, size, place, only, left = chain.order, len(other), assembly.place, assembly.only, assembly.left
    for p in range(size):
        place[other[p]] = p
    # List the differing edges. A city has as many of A only as of B only, for it has two in each tour and
    # what they share counts in both.
    differing, waiting = assembly.differing, 0
    for p in range(size):
        v = _signed(order[p])
        q = _signed(place[v])
        a, a1 = order[_before(p, size)], order[_after(p, size)]
        b, b1 = other[_before(q, size)], other[_after(q, size)]
        if (a == b and a1 == b1) or (a == b1 and a1 == b):
            continue
        left[2 * v] = _list_other(only, 4 * v, (a, a1), (b, b1))
        left[2 * v + 1] = _list_other(only, 4 * v + 2, (b, b1), (a, a1))
        differing[waiting] = v
        waiting += 1
    seen, walk, cycles, starts = assembly.seen, assembly.walk, assembly.cycles, assembly.starts
    # Walk along edges of A and B in turns until a city is about to be left by the same kind of edge as
    # before: what lies between is an AB-cycle. It is taken out, and the walk goes on from there with what is
    # before it. A walk cannot get stuck: it has come to a city by one kind of edge, so an edge of the other
    # kind is left. Only the city where it began has none left in the end.
    count, filled, drawn = 0, 0, 0
    while waiting > 0:
        some = _signed(uniform(draws, drawn) * waiting)
        drawn += 1
        first = _signed(differing[some])
        if left[2 * first] == 0:  # all of its edges are in cycles: the last one takes its place in the list
            waiting -= 1
            differing[some] = differing[waiting]
            continue
        walk[0], seen[2 * first], steps = first, 0, 0
        while True:
            v, kind = _signed(walk[steps]), steps & 1
            if left[2 * v + kind] == 0:  # back at the first step, and nothing is left there
                seen[2 * v + kind] = -1
                break
            choice = 0
            if left[2 * v + kind] == 2:
                choice = _signed(uniform(draws, drawn) < 0.5)
                drawn += 1
            to = _signed(only[4 * v + 2 * kind + choice])
            _use(only, left, v, to, kind)
            _use(only, left, to, v, kind)
            steps += 1
            state = 2 * to + (steps & 1)
            if seen[state] < 0:
                walk[steps], seen[state] = to, steps
                continue
            begin = _signed(seen[state])
            for k in range(begin + 1, steps):
                seen[2 * _signed(walk[k]) + (k & 1)] = -1
            # The cycle has the cities from `begin` to before `steps`, an even number. It is stored from a
            # city on that is left by an edge of A, which is the second one where `begin` is odd.
            shift = begin & 1
            for k in range(begin, steps):
                at = k + shift if k + shift < steps else begin
                cycles[filled] = walk[at]
                filled += 1
            count += 1
            starts[count] = filled
            steps = begin  # its `seen` stays: the walk is there again
    return count


@inlined
def _list_other(only: Words, at: int, own: tuple[Any, Any], others: tuple[Any, Any]) -> int:
    """List those of a city's neighbours that it does not have in the other tour; return how many."""
    found = 0
    for k in range(2):
        if own[k] != others[0] and own[k] != others[1]:
            only[at + found] = own[k]
            found += 1
    return found


@inlined
def _use(only: Words, left: NDArray[np.uint8], v: int, to: int, kind: int) -> None:
    """Take an edge out of those of a city: the last one that is left takes its place."""
    at = 4 * v + 2 * kind
    left[2 * v + kind] -= 1
    if only[at] == to:
        only[at] = only[at + left[2 * v + kind]]


@kernel
def _exchange(cities: Cities, chain: Chain, assembly: Assembly, begin: int, end: int) -> tuple[float, int]:
    """Work out what an AB-cycle with its joins gains, and the new tour as the path of its segments.

    Cuts, links and path are left in `Assembly` for `_rebuild`; the tour stays as it is.

    Parameters
    ----------
    begin, end : int
        The cycle is ``cycles[begin:end]``.

    Returns
    -------
    gain, cuts : float, int
        The gain in length, and the number of cuts: none where nothing is gained.
    """
    size, cycles, links, tolerance = len(chain.order), assembly.cycles, assembly.links, cities.tolerance
    # Joins take some of the gain away as a rule, so a cycle that has none is not followed further.
    gain = 0.0
    for k in range(begin, end, 2):
        v, w = _signed(cycles[k]), _signed(cycles[k + 1])
        following = _signed(cycles[k + 2 if k + 2 < end else begin])
        gain += length(cities.metric, v, w) - length(cities.metric, w, following)
    if not gain > tolerance or end - begin > 2 * _CUTS:
        return 0.0, 0
    # Cut the tour at each edge of A, and link the ends by the edges of B: each leads from the far end of an
    # edge of A to the near end of the next one in the cycle, the last to the first.
    count, first, last = 0, 0, -1
    for k in range(begin, end, 2):
        p, q = _signed(chain.position[cycles[k]]), _signed(chain.position[cycles[k + 1]])
        if q == _after(p, size):
            cut, here, there = p, 2 * p + 1, 2 * q
        elif p == _after(q, size):
            cut, here, there = q, 2 * p, 2 * q + 1
        else:  # a join of an earlier cycle has removed the edge
            return 0.0, 0
        count = _insert(assembly, cut, count)
        if last < 0:
            first = here
        else:
            links[last], links[here] = here, last
        last = there
    links[last], links[first] = first, last
    # Join the smallest subtour to another one, again and again: it has the fewest edges to try, and an
    # exchange of an edge in it for one outside makes one of two subtours whichever way it joins them.
    subtours = _follow(assembly, count, size)
    while subtours > 1:
        smallest = 0
        for k in range(1, subtours):
            if assembly.sizes[k] < assembly.sizes[smallest]:
                smallest = k
        if assembly.sizes[smallest] > _SUBTOUR or count + 2 > _CUTS:
            return 0.0, 0
        joined, here, there = _best_join(cities, chain, assembly, count, smallest)
        gain += joined
        if not gain > tolerance:
            return 0.0, 0
        beyond_here, count = _open(assembly, here, count, size)
        beyond_there, count = _open(assembly, there, count, size)
        links[here], links[there] = there, here
        links[beyond_here], links[beyond_there] = beyond_there, beyond_here
        subtours = _follow(assembly, count, size)
    return gain, count


@inlined
def _insert(assembly: Assembly, cut: int, count: int) -> int:
    """Insert a cut among the sorted ones; return how many there are then."""
    at = count
    while at > 0 and assembly.cuts[at - 1] > cut:
        assembly.cuts[at] = assembly.cuts[at - 1]
        at -= 1
    assembly.cuts[at] = cut
    return count + 1


@inlined
def _open(assembly: Assembly, end: int, count: int, size: int) -> tuple[int, int]:
    """Cut the tour at an end, unless it is cut there.

    Returns the end to which it was joined, by a link or along the tour, and the number of cuts.
    """
    cut = _cut_at(end, size)
    at = _first_cut_from(assembly, count, cut)
    if at < count and assembly.cuts[at] == cut:
        return _signed(assembly.links[end]), count
    return _across(end, size), _insert(assembly, cut, count)


@inlined
def _first_cut_from(assembly: Assembly, count: int, place: int) -> int:
    """Number of the first cut at a position or after it; `count` if there is none."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if assembly.cuts[middle] < place:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _follow(assembly: Assembly, count: int, size: int) -> int:
    """Follow segments and links around all subtours; return how many there are.

    Writes `subtour`, `sizes`, `path` and `rank` for the cuts as they are now.
    """
    cuts, rank, subtour = assembly.cuts, assembly.rank, assembly.subtour
    for i in range(count):
        rank[cuts[i]] = i
        subtour[i] = -1
    found, filled = 0, 0
    for begin in range(count):
        if subtour[begin] >= 0:
            continue
        i, forward, cities = begin, True, 0
        while subtour[i] < 0:
            subtour[i] = found
            following = i + 1 if i + 1 < count else 0
            cities += cuts[following] - cuts[i] + (size if following <= i else 0)
            assembly.path[filled] = i if forward else -1 - i
            filled += 1
            # Leave the segment by its last city, or by its first if it is passed backward, and enter the next
            # one: forward at a first city, which follows a cut, backward at a last one, which is at the cut
            # after the segment.
            end = 2 * cuts[following] + 1 if forward else 2 * _after(cuts[i], size)
            entry = _signed(assembly.links[end])
            i, forward = _signed(rank[_cut_at(entry, size)]), entry & 1 == 0
            if not forward:
                i = i - 1 if i > 0 else count - 1
        assembly.sizes[found] = cities
        found += 1
    return found


@kernel
def _best_join(
    cities: Cities, chain: Chain, assembly: Assembly, count: int, subtour: int
) -> tuple[float, int, int]:
    """Find the best exchange of an edge of a subtour and one outside for two that join them.

    The edges (v, v1) of the subtour and (c, c1) outside go, (v, c) and (v1, c1) come, for each city v, each
    candidate c of it, and both neighbours of either.

    Returns
    -------
    gain, here, there : float, int, int
        What the exchange gains, minus infinity if there is none; and the ends at v and c where edges go.
    """
    order, size, width, metric = chain.order, len(chain.order), cities.width, cities.metric
    best, best_here, best_there = -np.inf, 0, 0
    for i in range(count):
        if assembly.subtour[i] != subtour:
            continue
        begin = _after(assembly.cuts[i], size)
        last = assembly.cuts[i + 1 if i + 1 < count else 0]
        p = begin
        while True:
            v = _signed(order[p])
            for y in range(v * width, v * width + width):
                c = _signed(cities.neighbours[y])
                q = _signed(chain.position[c])
                k = _first_cut_from(assembly, count, q)
                if assembly.subtour[k - 1 if k > 0 else count - 1] == subtour:
                    continue
                first = _after(assembly.cuts[k - 1 if k > 0 else count - 1], size)
                final = assembly.cuts[k if k < count else 0]
                # At the border of its segment a city is joined by a link, elsewhere along the tour.
                for here in range(2 * p, 2 * p + 2):
                    is_border = p == last if here & 1 else p == begin
                    at = _signed(assembly.links[here]) if is_border else _across(here, size)
                    v1 = _signed(order[at >> 1])
                    gain = length(metric, v, v1) - length(metric, v, c)
                    for there in range(2 * q, 2 * q + 2):
                        is_border = q == final if there & 1 else q == first
                        at = _signed(assembly.links[there]) if is_border else _across(there, size)
                        c1 = _signed(order[at >> 1])
                        total = gain + length(metric, c, c1) - length(metric, v1, c1)
                        if total > best:
                            best, best_here, best_there = total, here, there
            if p == last:
                break
            p = _after(p, size)
    return best, best_here, best_there


@kernel
def _rebuild(chain: Chain, assembly: Assembly, count: int) -> None:
    """Write the tour that the path says: the longest segment stays where it is, the rest follow after it.

    The path goes around one subtour with all segments, so it may be read from any of them, and in either
    direction. Where it passes the longest segment backward it is read backward, too.
    """
    cuts, path, size = assembly.cuts, assembly.path, len(chain.order)
    order, position = chain.order, chain.position
    longest, most = 0, 0
    for k in range(count):
        i = path[k] if path[k] >= 0 else -1 - path[k]
        following = i + 1 if i + 1 < count else 0
        cities = cuts[following] - cuts[i] + (size if following <= i else 0)
        if cities > most:
            longest, most = k, cities
    turned = path[longest] < 0
    stays = -1 - path[longest] if turned else path[longest]
    target, filled, buffer = cuts[stays + 1 if stays + 1 < count else 0], 0, assembly.walk
    k = longest
    for _ in range(count - 1):
        k = _before(k, count) if turned else _after(k, count)
        forward = (path[k] >= 0) != turned
        i = path[k] if path[k] >= 0 else -1 - path[k]
        begin, last = _after(cuts[i], size), cuts[i + 1 if i + 1 < count else 0]
        p, end = (begin, last) if forward else (last, begin)
        while True:
            buffer[filled] = order[p]
            filled += 1
            if p == end:
                break
            p = _after(p, size) if forward else _before(p, size)
    for k in range(filled):
        target = _after(target, size)
        order[target] = buffer[k]
        position[buffer[k]] = target
    close(chain)
