"""Tour construction: random, nearest neighbour, greedy edge, space-filling curve; and 2-opt descent."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws, Start
from nsa_cli.problems.tsp.closed import FEW, ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance

#: Neighbours of a city that a tour without compiled code considers, and looks at them by 2-opt in all: these
#: take some half a second. Beyond so many cities it goes along a curve.
_NEAR, _LOOKS, _JOINED_UP_TO = 8, 1_000_000, 20_000


@functools.cache
def obedient(start: Start) -> Start:
    """Have the tours of a start contain what a `nsa_cli.problems.tsp.closed.ClosedTour` must."""
    return functools.partial(_obeyed, start)


def _obeyed(start: Start, instance: TspInstance, draws: Draws) -> Solution:
    if isinstance(instance, ClosedTour) and instance.outer.size <= FEW:
        return instance.best_of_all()  # no search has a move there
    return instance.inward(instance.outward(start(instance, draws)))


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


def greedy_edge(instance: TspInstance, _: Draws) -> Solution:
    """Add the shortest edge that leaves a set of paths, again and again (Bentley 1992)."""
    from nsa_cli.problems.tsp.greedy_edge import greedy  # compiled

    return greedy(instance)


def curve(instance: TspInstance, draws: Draws) -> Solution:
    """Go along Hilbert's curve (Bartholdi and Platzman 1982): at once, a quarter too long.

    Lengths without places have no curve; there it is the nearest neighbour.
    """
    from nsa_cli.problems.tsp.neighbour_lists import along_curve

    if instance.matrix is not None:
        return nearest_neighbour(instance, draws)
    return along_curve(instance)[1].copy()


def quick(instance: TspInstance, draws: Draws) -> Solution:
    """Build a tour and improve it by 2-opt moves for up to half a second, with nothing compiled."""
    from nsa_cli.problems.tsp.neighbour_lists import candidate_lists

    if instance.size < 5 or not instance.has_finite_lengths:
        return np.arange(instance.size)
    if instance.size > _JOINED_UP_TO:
        return curve(instance, draws)
    near = candidate_lists(instance, _NEAR)
    lengths = instance.edges(np.arange(instance.size)[:, None], near).astype(np.float64)
    return two_opt(instance, near, lengths, _joined(instance, near, lengths))


def _joined(instance: TspInstance, near: NDArray[np.int32], lengths: NDArray[np.float64]) -> list[int]:
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
        first, last, count = (last + 1) % size, (first - 1) % size, size - count
    places = range(first, first + count)
    if first + count <= size:
        tour[first : first + count] = tour[first : first + count][::-1]
    else:
        turned = [tour[k % size] for k in places][::-1]
        for k, city in zip(places, turned, strict=True):
            tour[k % size] = city
    for k in places:
        place[tour[k % size]] = k % size


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
