"""Nearest neighbours by comparison of all pairs, and those of each quadrant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import kernel
from nsa_cli.problems.tsp.kernels.metric import KernelMetric, length


@kernel
def find_nearest(metric: KernelMetric, neighbours: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
    """Find the nearest others of each site by comparing all pairs; nearest first, written to [N, count]."""
    size, count = neighbours.shape
    for i in range(size):
        found = 0
        for j in range(size):
            far = length(metric, i, j)
            if j == i or (found == count and far >= distances[i, count - 1]):
                continue
            found = min(found + 1, count)
            at = found - 1
            while at > 0 and distances[i, at - 1] > far:
                neighbours[i, at], distances[i, at] = neighbours[i, at - 1], distances[i, at - 1]
                at -= 1
            neighbours[i, at], distances[i, at] = j, far


@kernel
def put_quadrants(
    points: NDArray[np.float64],
    near: NDArray[np.int64],
    some: NDArray[np.int64],
    both: NDArray[np.int64],
    width: int,
) -> int:
    """Put the nearest in each quadrant of some points behind `width` neighbours.

    Parameters
    ----------
    near : int64[M, c]
        Nearest points of each of `some`, itself first.
    some : int64[M]
        Those that do not have two in each quadrant are moved to the front.

    Returns
    -------
    int
        How many these are.
    """
    left = 0
    for row in range(len(some)):
        i, full = some[row], True
        for slot in range(width, width + 8):
            both[i, slot] = -1
        for k in range(1, near.shape[1]):
            j = near[row, k]
            slot = width + 4 * int(points[j, 0] < points[i, 0]) + 2 * int(points[j, 1] < points[i, 1])
            if both[i, slot] < 0:
                both[i, slot] = j
            elif both[i, slot + 1] < 0:
                both[i, slot + 1] = j
        for slot in range(width, width + 8):
            full = full and both[i, slot] >= 0
            for k in range(width):
                if both[i, k] == both[i, slot]:
                    both[i, slot] = -1
                    break
        if not full:
            some[left] = i
            left += 1
    return left
