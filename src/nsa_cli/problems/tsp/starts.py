"""Tour construction: random, nearest neighbour, greedy edge, strips; and 2-opt descent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.tsp.instance import TspInstance

#: So many cities have a 2-opt tour in 20 ms, and one of nearest neighbours in 30.
_DESCENT_UP_TO, _NEAREST_UP_TO = 150, 1000


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


def strips(instance: TspInstance, draws: Draws) -> Solution:
    """Go up and down in strips of the best width for uniform cities (Beardwood, Halton, Hammersley 1959).

    It takes no time and is about a third too long. Lengths without places have no strips; there it is the
    nearest neighbour.
    """
    if instance.matrix is not None:
        return nearest_neighbour(instance, draws)
    points = instance.points
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    count = max(round(math.sqrt(instance.size / 3)), 1)
    strip = np.minimum((points[:, 0] - low[0]) / max(extent[0], 1e-300) * count, count - 1).astype(np.int64)
    return np.lexsort((np.where(strip % 2, -points[:, 1], points[:, 1]), strip))


def quick(instance: TspInstance, draws: Draws) -> Solution:
    """Choose by size the best heuristic that takes some milliseconds, with nothing compiled."""
    if instance.size <= _DESCENT_UP_TO:
        return two_opt(instance, draws)
    return (nearest_neighbour if instance.size <= _NEAREST_UP_TO else strips)(instance, draws)


def two_opt(instance: TspInstance, draws: Draws) -> Solution:
    """Descend from a nearest-neighbour tour by 2-opt moves, taking the first better one of each city."""
    tour, lengths = nearest_neighbour(instance, draws), edge_matrix(instance)
    least = 1e-12 * max(float(lengths.max(initial=0)), 1.0)  # rounding is no improvement
    improved = True
    while improved:
        improved = False
        for i in range(instance.size - 2):
            after = np.roll(tour, -1)
            here, following, others, theirs = tour[i], after[i], tour[i + 2 :], after[i + 2 :]
            old = lengths[here, following] + lengths[others, theirs]
            gains = old - lengths[here, others] - lengths[following, theirs]
            better = np.flatnonzero(gains > least)
            if better.size:
                j = i + 2 + int(better[0])
                tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1].copy()
                improved = True
    return tour


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
