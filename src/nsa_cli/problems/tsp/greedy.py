"""The greedy edge tour, compiled: the shortest edge first, as long as what is there are paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, inlined, kernel
from nsa_cli.problems.tsp.measure import Measure, lengths

#: Neighbours among the ends of paths that each end offers.
_NEIGHBOURS = 5

#: Up to this many ends, every pair of them is looked at.
_FEW = 64


class Paths(NamedTuple):
    """Vertex-disjoint paths over all cities.

    Attributes
    ----------
    links : int64[N, 2]
        Neighbours on the path.
    degree : int64[N]
    root : int64[N]
        A forest that tells paths apart (union-find).
    """

    links: NDArray[np.int64]
    degree: NDArray[np.int64]
    root: NDArray[np.int64]


def greedy_tour(
    measure: Measure,
    neighbours: NDArray[np.int64],
    distances: NDArray[np.float64],
    near: Callable[[NDArray[np.int64], int], NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Join the shortest edges to a tour (Bentley 1992), with memory linear in N.

    Parameters
    ----------
    measure : Measure
    neighbours, distances : int64[N, k], float64[N, k]
        The edges to begin with.
    near : callable
        ``near(cities, count)`` of int64[M] gives int64[M, count], places in `cities` of the nearest others.

    Returns
    -------
    int64[N]
    """
    size, width = neighbours.shape
    paths = Paths(
        np.full((size, 2), -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.arange(size, dtype=np.int64),
    )
    left = _join(
        paths, np.repeat(np.arange(size), width), neighbours.ravel(), np.argsort(distances, axis=None), size
    )
    while left > 1:
        ends = np.flatnonzero(paths.degree < 2)
        if len(ends) <= _FEW:
            i, j = (ends[place] for place in np.triu_indices(len(ends), 1))
        else:
            i, j = np.repeat(ends, _NEIGHBOURS), ends[near(ends, _NEIGHBOURS).ravel()]
        left = _join(paths, i, j, np.argsort(lengths(measure, i, j), kind="stable"), left)
    return _walk(paths)


@inlined
def _find(root: NDArray[np.int64], city: int) -> int:
    while root[city] != city:
        root[city] = root[root[city]]
        city = root[city]
    return city


@kernel
def _join(
    paths: Paths, i: NDArray[np.int64], j: NDArray[np.int64], order: NDArray[np.int64], left: int
) -> int:
    """Add edges in an order unless a city would have three, or a cycle close; return the number of paths."""
    links, degree, root = paths.links, paths.degree, paths.root
    for edge in order:
        a, b = i[edge], j[edge]
        if degree[a] > 1 or degree[b] > 1:
            continue
        root_a, root_b = _find(root, a), _find(root, b)
        if root_a != root_b:
            root[root_a] = root_b
            links[a, degree[a]], links[b, degree[b]] = b, a
            degree[a] += 1
            degree[b] += 1
            left -= 1
    return left


@allocating
def _walk(paths: Paths) -> NDArray[np.int64]:
    """Read the one path that is left."""
    links, degree = paths.links, paths.degree
    tour = np.empty(len(degree), dtype=np.int64)
    here, before = 0, -1
    for city in range(len(degree)):
        if degree[city] < 2:
            here = city
    for k in range(len(tour)):
        tour[k] = here
        following = links[here, 0] if links[here, 0] != before else links[here, 1]
        before, here = here, following
    return tour
