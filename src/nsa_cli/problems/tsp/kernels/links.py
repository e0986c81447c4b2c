"""Components by union-find, and tours as links between cities, for kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel


@inlined
def find_root(parent: NDArray[np.int64], city: int) -> int:
    """Find the root of a city's tree, halving the path."""
    while parent[city] != city:
        parent[city] = parent[parent[city]]
        city = parent[city]
    return city


@kernel
def follow_links(links: NDArray[np.int64], tour: NDArray[Any], start: int) -> bool:
    """Follow links int64[N, 2] from a city into a tour int[N]; tell whether it visits each city once."""
    before, city = np.int64(-1), np.int64(start)
    for k in range(len(tour)):
        if k > 0 and city == start:
            return False
        tour[k] = city
        following = links[city, 0] if links[city, 0] != before else links[city, 1]
        before, city = city, following
    return bool(city == start)
