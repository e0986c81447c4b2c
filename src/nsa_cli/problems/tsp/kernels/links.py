"""Tours and paths as links between cities, and components by union-find."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import Ints


@inlined
def find_root(parent: Ints, city: int) -> int:
    """Find the root of a city's tree, halving the path."""
    while parent[city] != city:
        parent[city] = parent[parent[city]]
        city = parent[city]
    return city


@kernel
def follow_links(links: Ints, tour: NDArray[Any], start: int) -> bool:
    """Follow links int64[N, 2] from a city into a tour int[N]; tell whether it visits each city once."""
    before, city = np.int64(-1), np.int64(start)
    for k in range(len(tour)):
        if k > 0 and city == start:
            return False
        tour[k] = city
        following = links[city, 0] if links[city, 0] != before else links[city, 1]
        before, city = city, following
    return bool(city == start)


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

    links: Ints
    degree: Ints
    root: Ints


@kernel
def join(paths: Paths, i: Ints, j: Ints, order: Ints, left: int) -> int:
    """Add edges in an order unless a city would have three, or a cycle close; return the number of paths."""
    links, degree, root = paths.links, paths.degree, paths.root
    for edge in order:
        a, b = i[edge], j[edge]
        if degree[a] > 1 or degree[b] > 1:
            continue
        root_a, root_b = find_root(root, a), find_root(root, b)
        if root_a != root_b:
            root[root_a] = root_b
            links[a, degree[a]], links[b, degree[b]] = b, a
            degree[a] += 1
            degree[b] += 1
            left -= 1
    return left
