"""Tour construction: random, nearest neighbour, greedy edge, space-filling curve; and 2-opt descent."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws, Start
from nsa_cli.problems.tsp.closed import FEW, ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.links import Paths, follow_links, join
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric
from nsa_cli.problems.tsp.kernels.metric import lengths as kernel_lengths
from nsa_cli.problems.tsp.matrix import penalty
from nsa_cli.problems.tsp.neighbour_lists import (
    NeighbourLists,
    along_curve,
    candidate_lists,
    nearest_among,
    neighbour_lists,
)

#: Neighbours among the ends of paths that each end offers.
_NEIGHBOURS = 5

#: Up to this many ends, every pair of them is looked at.
_FEW_ENDS = 64

#: Neighbours of a city that a tour without compiled code considers, and looks at them by 2-opt in all: these
#: take some half a second. Beyond so many cities it goes along a curve.
_NEAR, _LOOKS, _JOINED_UP_TO = 8, 1_000_000, 20_000


def random_tour(instance: TspInstance, draws: Draws) -> Solution:
    """Draw a permutation uniformly, the paper's start (Appendix A, TSP)."""
    return np.argsort(draws(instance.size), kind="stable").astype(np.int64)


def nearest_neighbour(instance: TspInstance, draws: Draws) -> Solution:
    """Go to the nearest city not yet visited, from a city drawn at random."""
    size = instance.size
    here = int(draws(1)[0] * size)
    left = np.arange(size)
    tour = np.empty(size, dtype=np.int64)
    for k in range(size):
        tour[k] = here
        left = left[left != here]
        if left.size:
            here = int(left[np.argmin(instance.edges(np.full(left.size, here), left))])
    return tour


def greedy_edge(instance: TspInstance, _draws: Draws | None = None) -> Solution:
    """Add the shortest edge that leaves a set of paths, again and again (Bentley 1992).

    Its memory is linear in N.
    """
    if not instance.has_finite_lengths or instance.size < 3:
        return np.arange(instance.size)
    lists = neighbour_lists(instance)
    size = len(lists.sites.numbers)
    return lists.sites.tour(np.arange(size) if size < 3 else greedy_order(instance, lists))


def curve(instance: TspInstance, draws: Draws) -> Solution:
    """Go along Hilbert's curve (Bartholdi and Platzman 1982): at once, a quarter too long.

    Lengths without places have no curve; there it is the nearest neighbour.
    """
    if instance.matrix is not None:
        return nearest_neighbour(instance, draws)
    return along_curve(instance)[1].copy()


# --- greedy edges ------------------------------------------------------------------------------------


def greedy_order(instance: TspInstance, lists: NeighbourLists) -> Ints:
    """Join sites to paths by the shortest edges between neighbours, then near ends of paths to a tour."""
    size, width = lists.neighbours.shape
    i, j, apart = np.repeat(np.arange(size), width), lists.neighbours.ravel(), lists.distances.ravel()
    # An edge that both its ends have among their neighbours is looked at once.
    once = np.flatnonzero((i < j) | (apart >= lists.distances[:, -1][j]))
    i, j, apart = i[once], j[once], apart[once]

    def near_ends(ends: Ints) -> tuple[Ints, Ints]:
        near = nearest_among(instance, lists.sites.numbers[ends], _NEIGHBOURS)
        return np.repeat(ends, _NEIGHBOURS), ends[near.ravel()]

    return _joined(lists.metric, size, i, j, _by_length(apart), near_ends)


def _by_length(lengths: Floats) -> Ints:
    """Sort edges by lengths, rounded to floats of 32 bits: with its number each fits into a word."""
    if len(lengths) >> 32 or lengths.min(initial=0.0) < 0:
        return np.argsort(lengths, kind="stable")
    rounded = (lengths / max(lengths.max(initial=0.0), 1e-300)).astype(np.float32)
    words = rounded.view(np.uint32).astype(np.uint64) << np.uint64(32)
    words |= np.arange(len(lengths), dtype=np.uint64)
    words.sort()
    return (words & np.uint64(0xFFFFFFFF)).astype(np.int64)


class NoisyGreedy:
    """Greedy edge tours of an instance by lengths with noise.

    Parameters
    ----------
    instance : TspInstance

    Attributes
    ----------
    edges : int
        Edges that have noise.
    """

    def __init__(self, instance: TspInstance) -> None:
        lists = neighbour_lists(instance)
        size, width = lists.neighbours.shape
        i, j = np.repeat(np.arange(size), width), lists.neighbours.ravel()
        _, once = np.unique(np.minimum(i, j) * size + np.maximum(i, j), return_index=True)
        self.edges = len(once)
        self._i, self._j, self._lengths = i[once], j[once], lists.distances.ravel()[once]
        self._metric, self._rank = lists.metric, np.arange(size)
        if instance.matrix is not None:  # whose sites are in no order that tells what is near
            self._rank[greedy_order(instance, lists)] = np.arange(size)

    def order(self, factors: Floats) -> Ints:
        """Build the tour of sites int64[N] for edges whose lengths are multiplied by float64[edges]."""
        order = np.argsort(self._lengths * factors)
        return _joined(self._metric, len(self._rank), self._i, self._j, order, self._ends_along)

    def _ends_along(self, ends: Ints) -> tuple[Ints, Ints]:
        """Pair ends with the next ones along Hilbert's curve, or a tour: local search mends the rest."""
        ends = ends[np.argsort(self._rank[ends])]
        shifts = range(1, _NEIGHBOURS + 1)
        return np.concatenate([ends[:-k] for k in shifts]), np.concatenate([ends[k:] for k in shifts])


def _joined(
    metric: KernelMetric, size: int, i: Ints, j: Ints, order: Ints, pairs: Callable[[Ints], tuple[Ints, Ints]]
) -> Ints:
    """Join sites to paths by edges in an order, then ends of paths by the shortest of some pairs of them."""
    paths = Paths(np.full((size, 2), -1), np.zeros(size, np.int64), np.arange(size))
    left = join(paths, i, j, order, size)
    while left > 1:
        ends = np.flatnonzero(paths.degree < 2)
        if len(ends) <= _FEW_ENDS:
            i, j = (ends[place] for place in np.triu_indices(len(ends), 1))
        else:
            i, j = pairs(ends)
        left = join(paths, i, j, np.argsort(kernel_lengths(metric, i, j), kind="stable"), left)
    tour = np.empty(size, dtype=np.int64)
    follow_links(paths.links, tour, np.flatnonzero(paths.degree < 2)[-1])
    return tour


# --- 2-opt descent -----------------------------------------------------------------------------------


def quick(instance: TspInstance, _draws: Draws | None = None) -> Solution:
    """Build a tour and improve it by 2-opt moves for up to half a second, with nothing compiled."""
    if instance.size < 5 or not instance.has_finite_lengths:
        return np.arange(instance.size)
    if instance.size > _JOINED_UP_TO and instance.matrix is None:
        return along_curve(instance)[1].copy()
    near = candidate_lists(instance, _NEAR)
    lengths = instance.edges(np.arange(instance.size)[:, None], near).astype(np.float64)
    return two_opt(instance, near, lengths, _near_joined(instance, near, lengths))


def _near_joined(instance: TspInstance, near: NDArray[np.int32], lengths: NDArray[np.float64]) -> list[int]:
    """Join near cities to paths, shortest edges first; then go on from path to nearest path."""
    paths = {city: [city] for city in range(instance.size)}  # by both ends
    for edge in np.argsort(lengths, axis=None, kind="stable").tolist():
        a, b = edge // near.shape[1], int(near.flat[edge])
        one, other = paths.get(a), paths.get(b)
        if one is None or other is None or one is other:
            continue
        del paths[a], paths[b]
        one = one if one[-1] == a else one[::-1]
        whole = one + (other if other[0] == b else other[::-1])
        paths[whole[0]] = paths[whole[-1]] = whole
    tour = paths[next(iter(paths))]
    ends = np.array([end for end, path in paths.items() if path is not tour], dtype=np.int64)
    tour = [*tour]
    while ends.size:
        end = int(ends[np.argmin(instance.edges(np.full(ends.size, tour[-1]), ends))])
        path = paths[end]
        tour += path if path[0] == end else path[::-1]
        ends = ends[(ends != path[0]) & (ends != path[-1])]
    return tour


def two_opt(
    instance: TspInstance, near: NDArray[np.int32], lengths: NDArray[np.float64], tour: list[int]
) -> Solution:
    """Descend by 2-opt moves to near cities, with a queue of the cities to look at (Bentley 1992).

    Lists and numbers of Python's own: for one at a time they are quicker than arrays.
    """
    size, place = len(tour), np.argsort(tour).tolist()
    least = 1e-12 * max(float(np.abs(lengths).max()), 1.0)  # rounding is no improvement
    candidates = [list(zip(*row, strict=True)) for row in zip(near.tolist(), lengths.tolist(), strict=True)]
    queue, waiting, looks = deque(tour), [True] * size, 0
    length: Callable[[int, int], float] = cast(Any, instance.edges)
    while queue and looks < _LOOKS:
        city = queue.popleft()
        waiting[city] = False
        best, ends = least, None
        for side in (1, -1):
            beside = tour[(place[city] + side) % size]
            old = length(city, beside)
            for other, new in candidates[city]:
                looks += 1
                if new >= old:
                    break
                beyond = tour[(place[other] + side) % size]
                gain = old + length(other, beyond) - new - length(beside, beyond)
                if gain > best:
                    best, ends = gain, (beside, other, beyond) if side > 0 else (other, beside, beyond)
        if ends is not None:
            _reverse(tour, place, place[ends[0]], place[ends[1]])
            for end in (city, *ends):
                if not waiting[end]:
                    waiting[end] = True
                    queue.append(end)
    return np.array(tour)


def _reverse(tour: list[int], place: list[int], first: int, last: int) -> None:
    """Reverse the cities from one place on to another, which may lie before it; or all the others."""
    size = len(tour)
    count = (last - first) % size + 1
    if 2 * count > size:
        first, last, count = last + 1, first - 1, size - count
    for k in range(count // 2):
        one, other = (first + k) % size, (last - k) % size
        tour[one], tour[other] = tour[other], tour[one]
        place[tour[one]], place[tour[other]] = one, other


def edge_matrix(instance: TspInstance) -> NDArray[np.float64]:
    """All edge lengths, float64[N, N]."""
    cities = np.arange(instance.size)
    lengths = instance.edges(cities[:, None], cities) if instance.matrix is None else instance.matrix
    matrix = lengths.astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def integer_matrix(instance: TspInstance, largest: int = 1_000_000) -> NDArray[np.int64]:
    """Edge lengths as integers up to `largest`: small whole numbers as they are, others scaled."""
    matrix = edge_matrix(instance)
    longest = max(float(matrix.max()), 1e-300)
    if longest <= largest and np.array_equal(matrix, np.rint(matrix)):
        return matrix.astype(np.int64)
    return np.rint(matrix * (largest / longest)).astype(np.int64)


def tightened(instance: TspInstance) -> TspInstance:
    """Lower the length that the matrix has for edges that are not there, for the sake of temperatures.

    A tour with such an edge stays longer than the shortest one without, if a quick heuristic finds any.
    """
    if instance.matrix is None or instance.absent is None or not instance.route.is_plain:
        return instance
    tour = quick(instance)
    if instance.violation(tour) is not None:
        return instance
    matrix = instance.matrix.copy()
    matrix[instance.absent] = penalty(matrix, instance.absent, float(instance.objective(tour)))
    return replace(instance, matrix=matrix)


# --- what all starts obey ------------------------------------------------------------------------------


def obedient(start: Start) -> Start:
    """Have the tours of a start contain what a `nsa_cli.problems.tsp.closed.ClosedTour` must."""
    return functools.partial(_obeyed, start)


def _obeyed(start: Start, instance: TspInstance, draws: Draws) -> Solution:
    if isinstance(instance, ClosedTour) and instance.outer.size <= FEW:
        return instance.best_of_all()  # no search has a move there
    return instance.inward(instance.outward(start(instance, draws)))


_random = obedient(random_tour)

STARTS = {
    "greedy": obedient(greedy_edge),
    "nearest": obedient(nearest_neighbour),
    "curve": obedient(curve),
    "random": _random,
    "paper": _random,
}
