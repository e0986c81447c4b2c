"""Unordered set of indices in compiled code: members in a row, and the place of each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined


@inlined
def toggle_member(
    members: NDArray[np.int64], place: NDArray[np.int64], counts: NDArray[np.int64], size: int, k: int
) -> None:
    """Put an index into a set, or take it out.

    Parameters
    ----------
    members : int64[N]
        The set, in no order, at the beginning.
    place : int64[N]
        Place of each index in `members`, -1 for those that are not in it.
    counts : int64[...]
        Where ``counts[size]`` is the number of members.
    size, k : int
        The index to toggle is `k`.
    """
    if place[k] < 0:
        place[k] = counts[size]
        members[counts[size]] = k
        counts[size] += 1
    else:
        counts[size] -= 1
        last = members[counts[size]]
        members[place[k]] = last
        place[last] = place[k]
        place[k] = -1
