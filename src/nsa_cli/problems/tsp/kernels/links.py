"""Tours and paths as links between cities, components by union-find, and logs of changed segments."""

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


# --- what has changed since the best tour was stored ---------------------------------------------------

#: Places in `Changes.counts`: segments that are logged; cities in them, or N where all is to be copied.
SEGMENTS, CHANGED = range(2)

#: Segments that are logged at most; with more, all of the tour is copied.
_LOGGED = 1 << 12


class Changes(NamedTuple):
    """A log of segments of a tour where it may differ from the best one.

    Attributes
    ----------
    segments : int64[2 * C]
        First position and size of each.
    counts : int64[2]
        See `SEGMENTS`.
    """

    segments: Ints
    counts: Ints


def new_changes() -> Changes:
    """Make an empty log."""
    return Changes(np.empty(2 * _LOGGED, dtype=np.int64), np.zeros(2, dtype=np.int64))


@inlined
def note_change(changes: Changes, begin: int, count: int, size: int) -> None:
    """Log that `count` cities from a position on may have changed, of a tour of so many."""
    segments, counts = changes.segments, changes.counts
    counts[CHANGED] += count
    if counts[CHANGED] < size and 2 * counts[SEGMENTS] < len(segments):
        segments[2 * counts[SEGMENTS]], segments[2 * counts[SEGMENTS] + 1] = begin, count
        counts[SEGMENTS] += 1
    else:
        counts[CHANGED] = size  # to copy all is no more work, or the log is full


@inlined
def copy_changes(changes: Changes, tour: Any, best: Any) -> None:
    """Copy a tour to the best one, or what has changed where that is less."""
    segments, counts, size = changes.segments, changes.counts, len(tour)
    if counts[CHANGED] >= size:
        for place in range(size):
            best[place] = tour[place]
    else:
        for k in range(counts[SEGMENTS]):
            begin, count = segments[2 * k], segments[2 * k + 1]
            for place in range(begin, min(begin + count, size)):
                best[place] = tour[place]
            for place in range(begin + count - size):
                best[place] = tour[place]
    counts[SEGMENTS], counts[CHANGED] = 0, 0
