"""The shortest tour of a few cities, by dynamic programming (Bellman 1962; Held and Karp 1962)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating


@allocating
def shortest_tour(lengths: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the shortest tour; time and memory grow with N 2^N.

    Parameters
    ----------
    lengths : float64[N, N]
        Symmetric.

    Returns
    -------
    int64[N]
        Ends at city N - 1.
    """
    home = len(lengths) - 1
    # cost[s, j]: shortest path from home through the cities of the bit set s, ending at its member j.
    cost = np.full((1 << home, home), np.inf)
    last = np.zeros((1 << home, home), dtype=np.int64)
    for j in range(home):
        cost[1 << j, j] = lengths[home, j]
    for s in range(1, 1 << home):
        for j in range(home):
            if not (s >> j) & 1:
                continue
            for k in range(home):
                longer = cost[s, j] + lengths[j, k]
                if not (s >> k) & 1 and longer < cost[s | 1 << k, k]:
                    cost[s | 1 << k, k] = longer
                    last[s | 1 << k, k] = j
    tour = np.full(home + 1, home, dtype=np.int64)
    s = (1 << home) - 1
    here = np.argmin(cost[s] + lengths[:home, home])
    for k in range(home):
        tour[k] = here
        before = last[s, here]
        s ^= 1 << here
        here = before
    return tour
