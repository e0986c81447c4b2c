"""The most that the items of one bin are worth, by dynamic programming over whole values, and its patterns.

``least[v]`` is the least weight of items worth v (Martello and Toth 1990, section 2.6.1): it grows with the
values and not with the capacity, so that weights of 60 bits take no longer than small ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import kernel

Ints = NDArray[np.int64]


class Lots(NamedTuple):
    """Equal items in lots of 1, 2, 4, … and a rest: lots of a type make any number of them.

    Attributes
    ----------
    types, counts : int64[K]
        What each lot is of, and how many.
    weights, worths : int64[K]
        Of the whole lot. Worths are not negative.
    """

    types: Ints
    counts: Ints
    weights: Ints
    worths: Ints


@kernel
def least_weights(lots: Lots, capacity: int, least: Ints, taken: NDArray[np.bool_]) -> int:
    """Fill ``least``; give the largest value of lots that fit together.

    Parameters
    ----------
    lots : Lots
    capacity : int
        Below 2**61, as are weights.
    least : int64[V]
        No lots that fit are worth V or more. What does not fit weighs ``capacity + 1``.
    taken : bool[K, V]
        Whether a lot is among those of least weight, of the lots up to it.
    """
    most, high = len(least) - 1, 0
    least[0] = 0
    least[1:] = capacity + 1
    for k in range(len(lots.types)):
        weight, worth = lots.weights[k], lots.worths[k]
        taken[k] = False
        if worth == 0:
            continue
        high = min(high + worth, most)
        for v in range(high, worth - 1, -1):
            reached = least[v - worth] + weight
            if reached < least[v]:
                least[v] = reached
                taken[k, v] = True
    best = most
    while least[best] > capacity:
        best -= 1
    return best


@kernel
def trace(lots: Lots, taken: NDArray[np.bool_], values: Ints, patterns: Ints) -> None:
    """Find the items of least weight worth each of some values, as numbers of each type.

    Parameters
    ----------
    lots : Lots
    taken : bool[K, V]
        Of `least_weights`.
    values : int64[P]
        Each reached by lots that fit.
    patterns : int64[P, T]
        Filled.
    """
    patterns[:] = 0
    for p in range(len(values)):
        left = values[p]
        for k in range(len(lots.types) - 1, -1, -1):
            if taken[k, left]:
                patterns[p, lots.types[k]] += lots.counts[k]
                left -= lots.worths[k]
