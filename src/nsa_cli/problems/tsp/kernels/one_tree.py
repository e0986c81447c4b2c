"""A spanning tree over all edges, in whole numbers, with each city's two lightest edges (Prim 1957)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.problems.tsp.kernels.metric import KernelMetric, length

#: Places in `Prim.counts`: the city that joined last, and the number of those that are left.
LAST, LEFT = range(2)


class Prim(NamedTuple):
    """A spanning tree that grows over all edges; its arrays are changed in place.

    Attributes
    ----------
    potentials : int64[N]
    weights : int64[N]
        Each city's lightest edge to the tree; 0 of the first city.
    ends : int64[N, 3]
        The other ends of that edge, and of the city's two lightest edges.
    lightest, second : int64[N]
        Weights of the latter.
    left : int64[N]
        Cities that are not in the tree, in front.
    row : int64[N]
        Scratch: lengths of the edges to them.
    counts : int64[2]
    """

    potentials: NDArray[np.int64]
    weights: NDArray[np.int64]
    ends: NDArray[np.int64]
    lightest: NDArray[np.int64]
    second: NDArray[np.int64]
    left: NDArray[np.int64]
    row: NDArray[np.int64]
    counts: NDArray[np.int64]


@kernel
def grow(metric: KernelMetric, unit: float, prim: Prim, steps: int) -> None:
    """Let some cities join; lengths are multiplied by a power of two and rounded down to whole numbers."""
    counts, left, row = prim.counts, prim.left, prim.row
    for _ in range(min(steps, counts[LEFT])):
        city = counts[LAST]
        for k in range(counts[LEFT]):
            row[k] = np.int64(math.floor(length(metric, city, left[k]) * unit))
        _join(prim)


@kernel
def join(prim: Prim) -> None:
    """Let the nearest city join, with the lengths in `Prim.row` from the last one."""
    _join(prim)


@inlined
def _join(prim: Prim) -> None:
    potentials, weights, ends, left, counts = prim.potentials, prim.weights, prim.ends, prim.left, prim.counts
    city, count, nearest, at = counts[LAST], counts[LEFT], np.iinfo(np.int64).max, 0
    for k in range(count):
        other = left[k]
        weight = prim.row[k] + potentials[city] + potentials[other]
        _note(prim, city, other, weight)
        _note(prim, other, city, weight)
        if weight < weights[other]:
            weights[other], ends[other, 0] = weight, city
        if weights[other] < nearest:
            nearest, at = weights[other], k
    counts[LAST], counts[LEFT] = left[at], count - 1
    left[at] = left[count - 1]


@inlined
def _note(prim: Prim, city: int, other: int, weight: int) -> None:
    """Keep a city's two lightest edges."""
    lightest, second, ends = prim.lightest, prim.second, prim.ends
    if weight < lightest[city]:
        second[city], ends[city, 2] = lightest[city], ends[city, 1]
        lightest[city], ends[city, 1] = weight, other
    elif weight < second[city]:
        second[city], ends[city, 2] = weight, other
