"""Greedy edge construction (Bentley 1992): paths that are joined by edges in a given order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import kernel
from nsa_cli.problems.tsp.kernels.links import find_root


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


@kernel
def join(
    paths: Paths, i: NDArray[np.int64], j: NDArray[np.int64], order: NDArray[np.int64], left: int
) -> int:
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
