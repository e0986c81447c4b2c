"""The optimal tour of few cities by dynamic programming over subsets (Bellman 1962, Held and Karp 1962)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution


def shortest_tour(lengths: NDArray[Any]) -> tuple[int, Solution]:
    """Visit the subsets of all cities but the last by rising number; ``paths[S, e]`` ends in e.

    Parameters
    ----------
    lengths : int64[N, N], or Python integers where sums might not fit
    """
    last = len(lengths) - 1
    far = 2 * (last + 2) * max(int(abs(lengths).max()), 1)  # whatever is added stays far
    lengths = lengths.astype(np.int64 if far < 2**61 else object)
    paths = np.full((1 << last, last), far, dtype=lengths.dtype)
    for city in range(last):
        paths[1 << city, city] = lengths[last, city]
    inner = lengths[:last, :last]
    for subset in range(1, 1 << last):
        for city in _cities(subset):
            if subset != 1 << city:
                paths[subset, city] = (paths[subset ^ (1 << city)] + inner[:, city]).min()
    subset = (1 << last) - 1
    ends = paths[subset] + lengths[:last, last]
    tour, here = [last], int(ends.argmin())
    while True:
        tour.append(here)
        subset ^= 1 << here
        if not subset:
            return int(ends.min()), np.array(tour)
        here = int((paths[subset] + inner[:, here]).argmin())


@functools.cache
def _cities(subset: int) -> tuple[int, ...]:
    return tuple(k for k in range(subset.bit_length()) if subset >> k & 1)
