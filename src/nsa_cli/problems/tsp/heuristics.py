"""Tours without annealing: random, nearest neighbour, greedy edge, 2-opt descent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.problems.tsp.instance import TspInstance

#: Neighbours a city offers to the greedy edge rule; more changes little.
_NEIGHBOURS = 10


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
    """Take the shortest edge that leaves a set of paths, again and again.

    Edges come from the nearest neighbours of the cities, then of the ends of the remaining paths, so that
    memory stays linear in N.
    """
    size = instance.size
    if size < 3:
        return np.arange(size)
    paths = _Paths(size)
    ends = np.arange(size)
    while paths.count > 1:
        i, j = _candidates(instance, ends, paths)
        order = np.argsort(instance.edges(i, j), kind="stable")
        for a, b in zip(i[order].tolist(), j[order].tolist(), strict=True):
            paths.join(a, b)
        ends = np.flatnonzero(np.array(paths.degree) < 2)
    return paths.tour()


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
    i, j = np.indices((instance.size, instance.size))
    matrix = instance.edges(i.ravel(), j.ravel()).reshape(i.shape).astype(np.float64)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _candidates(
    instance: TspInstance, ends: NDArray[np.int64], paths: _Paths
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Near pairs among the ends of paths; for each end at least one of another path."""
    wanted = min(_NEIGHBOURS, len(ends) - 1)
    if instance.matrix is None and len(ends) > _NEIGHBOURS + 1:
        i, j = (index.ravel() for index in neighbours(instance, ends, wanted))
    elif len(ends) <= 2 * _NEIGHBOURS:
        i, j = (index.ravel() for index in np.indices((len(ends), len(ends))))
    else:
        assert instance.matrix is not None
        lengths = instance.matrix[np.ix_(ends, ends)].astype(np.float64)
        np.fill_diagonal(lengths, np.inf)
        j = np.argpartition(lengths, wanted - 1, axis=1)[:, :wanted].ravel()
        i = np.repeat(np.arange(len(ends)), wanted)
    i, j = ends[i], ends[j]
    path = paths.labels()
    different = path[i] != path[j]
    if not different.any():  # coincident cities can fill a whole neighbourhood
        return _bridge(ends, path)
    return i[different], j[different]


def neighbours(
    instance: TspInstance, among: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the nearest of some cities with coordinates, as positions in `among`.

    Returns
    -------
    i, j : int64[M, count]
        `j` are the neighbours of `i`. Nearness is that of the points, which for all metrics is near the
        order of the lengths.
    """
    from nsa_cli.problems.tsp.candidates import nearest

    found = nearest(positions(instance)[among], count)
    return np.repeat(np.arange(len(among))[:, None], count, axis=1), found


def _bridge(ends: NDArray[np.int64], path: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair each path's first end with the next path's."""
    _, first = np.unique(path[ends], return_index=True)
    return ends[first[:-1]], ends[first[1:]]


def positions(instance: TspInstance) -> NDArray[np.float64]:
    """Points whose straight distance orders neighbours as the metric does, or nearly."""
    points = instance.measured
    if instance.edge_weight_type != "GEO":
        return points
    latitude, longitude = points[:, 0], points[:, 1]
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


class _Paths:
    """A set of vertex-disjoint paths over all cities, joined end to end."""

    def __init__(self, size: int) -> None:
        self.count = size
        self.degree = [0] * size
        self.neighbours: list[list[int]] = [[] for _ in range(size)]
        self._parent = list(range(size))

    def find(self, city: int) -> int:
        parent = self._parent
        while parent[city] != city:
            parent[city] = parent[parent[city]]
            city = parent[city]
        return city

    def join(self, a: int, b: int) -> None:
        """Add the edge unless a city would have three, or a cycle would close."""
        if self.degree[a] > 1 or self.degree[b] > 1:
            return
        root_a, root_b = self.find(a), self.find(b)
        if root_a == root_b:
            return
        self._parent[root_a] = root_b
        for city, other in ((a, b), (b, a)):
            self.degree[city] += 1
            self.neighbours[city].append(other)
        self.count -= 1

    def labels(self) -> NDArray[np.int64]:
        return np.array([self.find(city) for city in range(len(self.degree))])

    def tour(self) -> NDArray[np.int64]:
        """Walk the one path that is left."""
        here = self.degree.index(1)
        before, order = -1, []
        while here >= 0:
            order.append(here)
            following = next((c for c in self.neighbours[here] if c != before), -1)
            before, here = here, following
        return np.array(order, dtype=np.int64)
