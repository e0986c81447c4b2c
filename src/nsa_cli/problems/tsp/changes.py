"""Where a tour has changed since its best was stored: less to copy than all of it, as a rule; for kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import inlined

#: Segments that are listed at most; with more, all of the tour is copied.
_MOST = 1 << 12

#: Places in `Changes.counts`: segments; cities in them, N where all of the tour may have changed.
SEGMENTS, CITIES = range(2)


class Changes(NamedTuple):
    """Segments of a tour, round its end too.

    Attributes
    ----------
    segments : int64[2 * C]
        First position and number of cities of each.
    counts : int64[2]
    """

    segments: NDArray[np.int64]
    counts: NDArray[np.int64]


def no_changes() -> Changes:
    """Make room for changes."""
    return Changes(np.zeros(2 * _MOST, np.int64), np.zeros(2, np.int64))


@inlined
def add_change(changes: Changes, begin: int, count: int, size: int) -> None:
    """Add a segment of a tour of N cities."""
    segments, counts = changes.segments, changes.counts
    counts[CITIES] += count
    if counts[CITIES] < size and 2 * counts[SEGMENTS] < len(segments):
        segments[2 * counts[SEGMENTS]], segments[2 * counts[SEGMENTS] + 1] = begin, count
        counts[SEGMENTS] += 1
    else:
        counts[CITIES] = size


@inlined
def copy_changes(changes: Changes, tour: NDArray[Any], best: NDArray[Any]) -> None:
    """Bring the best tour up to date, and forget the changes."""
    segments, counts, size = changes.segments, changes.counts, len(tour)
    if counts[CITIES] >= size:
        segments[0], segments[1], counts[SEGMENTS] = 0, size, 1
    for k in range(counts[SEGMENTS]):
        begin, count = segments[2 * k], segments[2 * k + 1]
        for place in range(begin, min(begin + count, size)):
            best[place] = tour[place]
        for place in range(begin + count - size):
            best[place] = tour[place]
    counts[SEGMENTS], counts[CITIES] = 0, 0
