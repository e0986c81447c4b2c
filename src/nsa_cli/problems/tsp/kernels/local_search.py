"""Lin-Kernighan local search of tours: 2-opt and 3-opt moves over candidate lists, chained, and undoable.

Lin and Kernighan (1973) for the chain of open moves, Bentley (1992) for don't-look bits, here as a queue of
the cities to look at, Johnson and McGeoch (1997) for both with neighbour lists.

The tour is an array of cities with its inverse. A *cut* at position p removes the edge from the city at p
to the next. A move of two or three cuts leaves as many segments; all but the longest are rewritten, and what
they overwrite goes to an undo log.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric, Words, is_shorter, length

#: The cities that the undo log holds beside several times the tour's.
_LOG_CITIES = 1 << 16

#: The segments that the undo log holds.
_LOG_SEGMENTS = 1 << 14

#: Places in `Chain.counts`.
HEAD, QUEUED, SEGMENTS, LOGGED, ATTEMPT = range(5)

#: Place in a move of the number of its cuts, 2 or 3.
_SIZE = 0

#: Place of its first city: t0, …, t5, of which (t0, t1), (t2, t3), (t4, t5) are cut apart and (t1, t2),
#: (t3, t4), (t5, t0) joined.
_CITY = 1

#: Place of the position of its first cut, of three.
_CUT = 7

#: Place of what says whether t1 follows its cut; the same of t3 and t5 comes after it.
_AFTER = 10

#: The numbers that a move has.
_MOVE = 13

#: The most cities that one chain of open moves touches: six a step.
_TOUCHED = 64


class Cities(NamedTuple):
    """A metric with candidate lists: read only, shared by chains.

    Attributes
    ----------
    metric : KernelMetric
    neighbours : uint32[N * width]
        The candidates of each city, nearest first.
    distances : float64[N * width]
        The lengths of the edges to them; infinite where a city has fewer, NaN where the others are not in
        this part of a partitioned tour.
    alpha : float64[N * width]
        The alpha-nearness of these edges, for kicks only.
    width : int
        The number of candidates of a city.
    tolerance : float
        An improvement gains more than this; below lies rounding.
    """

    metric: KernelMetric
    neighbours: Words
    distances: Floats
    alpha: Floats
    width: int
    tolerance: float


class Chain(NamedTuple):
    """A tour with its queue, undo log and scratch space; every array is changed in place.

    Attributes
    ----------
    order, position : uint32[N]
        The city at each position, and the position of each city.
    around : uint32[N + 2]
        `order` with the last city before it and the first one after it: around[p] is the city before
        position p, and around[p + 2] the one beyond.
    queue : uint32[N]
        The cities to look at, a ring buffer.
    waiting : uint8[N]
        Whether a city is in the queue: its don't-look bit is off.
    segments : int64[2 * P]
        The undo log: first position and size of each segment that was overwritten.
    logged : uint32[L]
        The undo log: the cities of these segments.
    move, opened : int64[13]
        The move found; the best move found that does not pay yet.
    links : int64[12]
        Scratch space of `apply_move`.
    touched, marks : int64[64], int64[N]
        The ends of the open moves of an attempt; for each city the last attempt that touched it.
    counts : int64[5]
        The numbers at `HEAD` and the following places: sizes of queue and log, and attempts.
    """

    order: Words
    around: Words
    position: Words
    queue: Words
    waiting: NDArray[np.uint8]
    segments: Ints
    logged: Words
    move: Ints
    opened: Ints
    links: Ints
    touched: Ints
    marks: Ints
    counts: Ints


def new_chain(order: Ints) -> Chain:
    """Put a search at a tour, every city queued in its order.

    Parameters
    ----------
    order : int64[N]
        A permutation.
    """
    size = len(order)
    position = np.empty(size, dtype=np.uint32)
    position[order] = np.arange(size, dtype=np.uint32)
    counts = np.zeros(5, dtype=np.int64)
    counts[QUEUED] = size
    around = np.concatenate([order[-1:], order, order[:1]]).astype(np.uint32)
    return Chain(
        order=around[1:-1],
        around=around,
        position=position,
        queue=order.astype(np.uint32),
        waiting=np.ones(size, dtype=np.uint8),
        segments=np.empty(2 * _LOG_SEGMENTS, dtype=np.int64),
        logged=np.empty(8 * size + _LOG_CITIES, dtype=np.uint32),
        move=np.zeros(_MOVE, dtype=np.int64),
        opened=np.zeros(_MOVE, dtype=np.int64),
        links=np.zeros(12, dtype=np.int64),
        touched=np.zeros(_TOUCHED, dtype=np.int64),
        marks=np.zeros(size, dtype=np.int64),
        counts=counts,
    )


@kernel
def restart(chain: Chain, order: Words) -> None:
    """Put the search at another tour, no city queued."""
    while chain.counts[QUEUED] > 0:
        _pop(chain)
    for place in range(len(order)):
        city = order[place]
        chain.order[place], chain.position[city] = city, place
    close(chain)
    forget(chain)


@inlined
def push_all(chain: Chain) -> None:
    """Queue every city, in the order of the tour."""
    for place in range(len(chain.order)):
        push(chain, np.int64(chain.order[place]))


@inlined
def push(chain: Chain, city: int) -> None:
    """Queue a city unless it is queued already."""
    if chain.waiting[city] == 0:
        chain.waiting[city] = 1
        size = len(chain.queue)
        place = chain.counts[HEAD] + chain.counts[QUEUED]
        chain.queue[place - size if place >= size else place] = city
        chain.counts[QUEUED] += 1


@inlined
def _pop(chain: Chain) -> np.int64:
    head = chain.counts[HEAD]
    city = chain.queue[head]
    chain.counts[HEAD] = head + 1 if head + 1 < len(chain.queue) else 0
    chain.counts[QUEUED] -= 1
    chain.waiting[city] = 0
    return np.int64(city)


@inlined
def _set(
    move: Ints,
    size: int,
    cities: tuple[int, int, int, int, int, int],
    cuts: tuple[int, int, int],
    after: tuple[int, int, int],
) -> None:
    move[_SIZE] = size
    for k in range(6):
        move[_CITY + k] = cities[k]
    for k in range(3):
        move[_CUT + k] = cuts[k]
        move[_AFTER + k] = after[k]


@kernel
def _set_found(
    cities: Cities, chain: Chain, move: Ints, base: int, end: int, cut: int, after: int, choice: int
) -> None:
    """Set up a move that `_find_move` has found, by the number of its choice."""
    order, position, size, width = chain.order, chain.position, len(chain.order), cities.width
    first, second = choice // (2 * width + 1), choice % (2 * width + 1) - 1
    b = np.int64(cities.neighbours[end * width + first // 2])
    at = np.int64(position[b])
    cut1 = at if first % 2 == 0 else (at - 1 if at > 0 else size - 1)
    c = np.int64(order[cut1 if first % 2 else (at + 1 if at + 1 < size else 0)])
    if second < 0:
        _set(move, 2, (base, end, b, c, 0, 0), (cut, cut1, 0), (after, 1 - first % 2, 0))
        return
    d = np.int64(cities.neighbours[c * width + second // 2])
    at2 = np.int64(position[d])
    cut2 = at2 if second % 2 == 0 else (at2 - 1 if at2 > 0 else size - 1)
    e = np.int64(order[cut2 if second % 2 else (at2 + 1 if at2 + 1 < size else 0)])
    _set(move, 3, (base, end, b, c, d, e), (cut, cut1, cut2), (after, 1 - first % 2, 1 - second % 2))


@inlined
def swap_segments(chain: Chain, start: int, first: int, second: int) -> None:
    """Set up the 3-opt move that swaps two adjacent segments of these sizes, from position `start` + 1 on."""
    order, size, move = chain.order, len(chain.order), chain.move
    cuts = (start, (start + first + second) % size, (start + first) % size)
    move[_SIZE] = 3
    for k in range(3):
        move[_CITY + 2 * k], move[_CITY + 2 * k + 1] = order[cuts[k]], order[(cuts[k] + 1) % size]
        move[_CUT + k], move[_AFTER + k] = cuts[k], 1


@inlined
def move_cost(metric: KernelMetric, move: Ints) -> float:
    """Length that a move adds to the tour."""
    cost = 0.0
    ends = 2 * move[_SIZE]
    for k in range(0, ends, 2):
        following = k + 2 if k + 2 < ends else 0
        cost += length(metric, move[_CITY + k + 1], move[_CITY + following])
        cost -= length(metric, move[_CITY + k], move[_CITY + k + 1])
    return cost


@inlined
def has_lost_candidates(cities: Cities, city: int) -> bool:
    """Tell whether a city has candidates outside of this part of a partitioned tour."""
    return math.isnan(cities.distances[city * cities.width + cities.width - 1])


@inlined
def push_ends(chain: Chain, move: Ints) -> None:
    """Queue the cities at the ends of a move."""
    for k in range(2 * move[_SIZE]):
        push(chain, move[_CITY + k])


@kernel
def apply_move(chain: Chain, move: Ints) -> None:
    """Change the tour, logging what is overwritten."""
    if move[_SIZE] == 2:
        _two_opt(chain, move[_CUT], move[_CUT + 1])
    else:
        _three_opt(chain, move)
    close(chain)


@inlined
def _two_opt(chain: Chain, cut: int, cut1: int) -> None:
    """Make a 2-opt move: reverse the shorter segment."""
    size, low = len(chain.order), min(cut, cut1)
    count, start = max(cut, cut1) - low, low + 1
    if 2 * count >= size:
        count, start = size - count, start + count
        start = start - size if start >= size else start
    source = _log(chain, start, count)
    _write(chain, start, source + count - 1, -1, count)


@inlined
def _three_opt(chain: Chain, move: Ints) -> None:
    """Make a 3-opt move.

    The ends of segments are numbered along the tour: 2 r is the city at the r-th cut, 2 r + 1 the next, so
    segment r runs from 2 r + 1 to 2 r + 2.
    """
    size, links = len(chain.order), chain.links
    cut = links[6:9]
    segments = links[9:12]
    for i in range(3):
        rank = 0
        for j in range(3):
            rank += move[_CUT + j] < move[_CUT + i]
        cut[rank] = move[_CUT + i]
        segments[i] = rank
    for i in range(3):
        j = i + 1 if i < 2 else 0
        first = 2 * segments[i] + move[_AFTER + i]
        second = 2 * segments[j] + 1 - move[_AFTER + j]
        links[first], links[second] = second, first
    longest = 0
    for r in range(3):
        ahead = cut[r + 1 if r < 2 else 0] - cut[r]
        segments[r] = ahead if ahead > 0 else ahead + size
        if segments[r] > segments[longest]:
            longest = r
    last = longest + 1 if longest < 2 else 0
    start = cut[last] + 1 if cut[last] + 1 < size else 0
    source = _log(chain, start, size - segments[longest])
    place, end = start, links[2 * last]
    for _ in range(2):
        forward = end & 1
        r = end >> 1 if forward else ((end >> 1) + 2) % 3
        first = source + (cut[r] + 1 - start + size) % size
        if forward:
            _write(chain, place, first, 1, segments[r])
            end = links[end + 1 if end < 5 else 0]
        else:
            _write(chain, place, first + segments[r] - 1, -1, segments[r])
            end = links[2 * r + 1]
        place += segments[r]
        if place >= size:
            place -= size


@inlined
def close(chain: Chain) -> None:
    """Bring the ends of `Chain.around` up to date."""
    chain.around[0] = chain.order[len(chain.order) - 1]
    chain.around[len(chain.order) + 1] = chain.order[0]


@inlined
def _log(chain: Chain, start: int, count: int) -> int:
    """Log the cities at `count` positions from `start` on; return where they lie in the log."""
    order, logged, counts, size = chain.order, chain.logged, chain.counts, len(chain.order)
    base = counts[LOGGED]
    straight = min(count, size - start)
    for k in range(straight):
        logged[np.uint32(base + k)] = order[np.uint32(start + k)]
    for k in range(straight, count):
        logged[np.uint32(base + k)] = order[np.uint32(k - straight)]
    place = 2 * counts[SEGMENTS]
    chain.segments[place] = start
    chain.segments[place + 1] = count
    counts[SEGMENTS] += 1
    counts[LOGGED] = base + count
    return base


@inlined
def _write(chain: Chain, place: int, first: int, step: int, count: int) -> None:
    """Write logged cities to `count` positions from `place` on."""
    order, position, logged, size = chain.order, chain.position, chain.logged, len(chain.order)
    straight = min(count, size - place)
    for k in range(straight):
        city = logged[np.uint32(first + step * k)]
        order[np.uint32(place + k)] = city
        position[city] = place + k
    for k in range(straight, count):
        city = logged[np.uint32(first + step * k)]
        order[np.uint32(k - straight)] = city
        position[city] = k - straight


@kernel
def roll_back(chain: Chain, segments: int) -> None:
    """Undo everything logged after the first `segments` segments."""
    counts = chain.counts
    for k in range(counts[SEGMENTS] - 1, segments - 1, -1):
        count = chain.segments[2 * k + 1]
        counts[LOGGED] -= count
        _write(chain, chain.segments[2 * k], counts[LOGGED], 1, count)
    counts[SEGMENTS] = segments
    close(chain)


@inlined
def forget(chain: Chain) -> None:
    """Make everything done so far final."""
    chain.counts[SEGMENTS] = 0
    chain.counts[LOGGED] = 0


@inlined
def _new_in_attempt(chain: Chain, a: int, b: int, steps: int) -> bool:
    """Tell whether an open move of this attempt has added the edge: it must not be removed again."""
    attempt, marks, touched = chain.counts[ATTEMPT], chain.marks, chain.touched
    if marks[np.uint32(a)] != attempt or marks[np.uint32(b)] != attempt:
        return False
    for k in range(1, steps - 1, 2):
        c, d = touched[np.uint32(k)], touched[np.uint32(k + 1)]
        if (a == c and b == d) or (a == d and b == c):
            return True
    return False


@inlined
def _find_move(
    cities: Cities,
    chain: Chain,
    base: int,
    end: int,
    cut: int,
    after: int,
    gained: float,
    steps: int,
    open_gain: float,
) -> tuple[float, float]:
    """Look for a move that removes the edge between `base` and `end`, at `cut`.

    Parameters
    ----------
    after : int
        1 if `end` is the later of the two, else 0.
    gained : float
        The length removed less the length added so far, this edge included.
    steps : int
        The number of cities in `Chain.touched`.
    open_gain : float
        The least gain of an open move that is of interest.

    Returns
    -------
    gain, open_gain : float
        The gain of `Chain.move`, the first improving one; 0 if there is none. And the gain of `Chain.opened`
        before its tour is closed; as given if none gains more.
    """
    around, position = chain.around, chain.position
    neighbours, distances, width = cities.neighbours, cities.distances, cities.width
    # Unsigned indices, here and below: Numba need not ask whether they count from the end.
    metric, tolerance = cities.metric, cities.tolerance
    opened: int | np.int64
    opened, choices = -1, 2 * width + 1
    for y in range(end * width, end * width + width):
        gain1 = gained - distances[np.uint32(y)]
        if not gain1 > tolerance:  # said so that what is no number ends the search, here and below
            break
        b = np.int64(neighbours[np.uint32(y)])
        at = np.int64(position[np.uint32(b)])
        before, beyond = np.int64(around[np.uint32(at)]), np.int64(around[np.uint32(at + 2)])
        if before == end or beyond == end:
            continue
        for side in range(2):
            c = before if side else beyond
            cut1 = at - side  # -1 means the last one, which serves as well here
            if steps > 0 and _new_in_attempt(chain, b, c, steps):
                continue
            gain2 = gain1 + length(metric, b, c)
            choice = (2 * (y - end * width) + side) * choices
            closes = after == side
            if closes:
                if gain2 > tolerance and is_shorter(metric, c, base, gain2 - tolerance):
                    _set_found(cities, chain, chain.move, base, end, cut, after, choice)
                    return gain2 - length(metric, c, base), open_gain
                if gain2 > open_gain:
                    open_gain, opened = gain2, choice
            for z in range(c * width, c * width + width):
                gain3 = gain2 - distances[np.uint32(z)]
                if not gain3 > tolerance:
                    break
                d = np.int64(neighbours[np.uint32(z)])
                at2 = np.int64(position[np.uint32(d)])
                before2, beyond2 = np.int64(around[np.uint32(at2)]), np.int64(around[np.uint32(at2 + 2)])
                if before2 == c or beyond2 == c:
                    continue
                # Let t1, t3 and t5 follow their cuts or not: segments make one tour if at most one of them
                # does where the cuts come in cyclic order, and if at least two do where they do not.
                cyclic = np.int64(np.int64(cut < cut1) + np.int64(cut1 < at2) + np.int64(at2 <= cut) >= 2)
                if not closes and cyclic == after:  # both ends of the first two cuts on the wrong side
                    continue
                for side2 in range(cyclic if closes else 0, cyclic + 1 if closes else 2):
                    e = before2 if side2 else beyond2
                    if e == base or (e == end and d == base):
                        continue
                    if steps > 0 and _new_in_attempt(chain, d, e, steps):
                        continue
                    gain4 = gain3 + length(metric, d, e)
                    choice2 = choice + 1 + 2 * (z - c * width) + side2
                    if gain4 > tolerance and is_shorter(metric, e, base, gain4 - tolerance):
                        _set_found(cities, chain, chain.move, base, end, cut, after, choice2)
                        return gain4 - length(metric, e, base), open_gain
                    if gain4 > open_gain:
                        open_gain, opened = gain4, choice2
    if opened >= 0:
        _set_found(cities, chain, chain.opened, base, end, cut, after, opened)
    return 0.0, open_gain


@kernel
def improve_city(cities: Cities, chain: Chain, base: int, depth: int) -> float:
    """Make the first improving move that removes an edge at a city.

    When none closes with a gain, the best open move is done on trial and the search goes on from its far
    end, up to `depth` times; if nothing comes of it, all is undone.

    Returns
    -------
    float
        The gain; 0 if the tour is as before.
    """
    order, position, size, counts = chain.order, chain.position, len(chain.order), chain.counts
    for after in range(2):
        at = np.int64(position[base])
        cut = at if after else (at - 1 if at > 0 else size - 1)
        end = np.int64(order[(at + 1 if at + 1 < size else 0) if after else cut])
        gained = length(cities.metric, base, end)
        segments, steps, follows = counts[SEGMENTS], 0, after
        counts[ATTEMPT] += 1
        for tries in range(depth + 1):
            wanted = -1.0 if tries < depth else np.inf
            gain, open_gain = _find_move(cities, chain, base, end, cut, follows, gained, steps, wanted)
            if gain > 0.0:
                apply_move(chain, chain.move)
                push_ends(chain, chain.move)
                for k in range(steps):
                    push(chain, chain.touched[k])
                return gain
            if open_gain <= 0.0 or tries == depth:
                break
            apply_move(chain, chain.opened)
            steps = _touch(chain, steps)
            gained, end = open_gain, chain.touched[steps - 1]
            here, there = np.int64(position[base]), np.int64(position[end])
            follows = 1 if there == (here + 1 if here + 1 < size else 0) else 0
            cut = here if follows else there
        if counts[SEGMENTS] > segments:
            roll_back(chain, segments)
    return 0.0


@inlined
def _touch(chain: Chain, steps: int) -> int:
    """Add the ends of the open move to those of this attempt, which starts where the last one ended."""
    opened, touched = chain.opened, chain.touched
    for k in range(2 if steps else 0, 2 * opened[_SIZE]):
        touched[steps] = opened[_CITY + k]
        chain.marks[touched[steps]] = chain.counts[ATTEMPT]
        steps += 1
    return steps


@inlined
def _log_is_full(chain: Chain, depth: int) -> bool:
    """Tell whether another attempt might not find room in the log."""
    attempt, segments = depth + 1, chain.counts[SEGMENTS]
    room = len(chain.logged) - chain.counts[LOGGED]
    return room < attempt * len(chain.order) or 2 * (segments + attempt) > len(chain.segments)


@inlined
def descend_logged(cities: Cities, chain: Chain, depth: int) -> float:
    """Improve queued cities until none is left; return the length gained.

    All moves stay in the log, so that a rejected step can be rolled back. Should the log be full, the rest of
    the queue is dropped.
    """
    gained = 0.0
    while chain.counts[QUEUED] > 0:
        city = _pop(chain)
        gain = improve_city(cities, chain, city, depth)
        while gain > 0.0 and not _log_is_full(chain, depth):
            gained += gain
            gain = improve_city(cities, chain, city, depth)
        gained += gain
        if _log_is_full(chain, depth):
            while chain.counts[QUEUED] > 0:
                _pop(chain)
    return gained


@kernel
def descend(cities: Cities, chain: Chain, depth: int, limit: int) -> float:
    """Improve up to `limit` queued cities, for good; return the length gained."""
    gained = 0.0
    for _ in range(limit):
        if chain.counts[QUEUED] == 0:
            break
        city = _pop(chain)
        gain = improve_city(cities, chain, city, depth)
        while gain > 0.0:
            gained += gain
            forget(chain)
            gain = improve_city(cities, chain, city, depth)
        forget(chain)
    return gained
