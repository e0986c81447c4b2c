"""Tour construction: random, nearest neighbour, greedy edge."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws, Start
from nsa_cli.problems.tsp.closed import FEW, ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.links import Paths, follow_links, join
from nsa_cli.problems.tsp.kernels.metric import Floats, Ints, KernelMetric
from nsa_cli.problems.tsp.kernels.metric import lengths as kernel_lengths
from nsa_cli.problems.tsp.neighbour_lists import NeighbourLists, nearest_among, neighbour_lists

#: Neighbours among the ends of paths that each end offers.
_NEIGHBOURS = 5

#: Up to this many ends, every pair of them is looked at.
_FEW_ENDS = 64


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
    "random": _random,
    "paper": _random,
}
