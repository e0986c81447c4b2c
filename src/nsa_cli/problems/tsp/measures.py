"""Metrics that are not TSPLIB's: great circles between decimal degrees, and lengths that are not rounded.

No kernel computes them. They become a matrix once, when an instance is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.words import listed, nearest
from nsa_cli.problems.tsp.distances import METRICS

#: Mean radius of the Earth in kilometres (IUGG).
EARTH = 6371.0088

#: Cities, at most, of which a matrix is made.
MOST_CITIES = 5_000


@dataclass(frozen=True)
class Measure:
    """A way to measure edges by a matrix.

    Attributes
    ----------
    label : str
        The convention, as the result states it.
    on_globe : bool
        Whether coordinates are latitude and longitude in decimal degrees.
    lengths : callable
        ``lengths(coords)`` of float64 ``[N, axes]`` gives float64 ``[N, N]``.
    """

    label: str
    on_globe: bool
    lengths: Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _great_circle(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kilometres on a sphere by the haversine formula, which is accurate for near points, too."""
    latitude, longitude = np.radians(coords.T)
    matrix = np.sin((latitude[:, None] - latitude) / 2) ** 2
    matrix += np.cos(latitude)[:, None] * np.cos(latitude) * np.sin((longitude[:, None] - longitude) / 2) ** 2
    return np.asarray(2 * EARTH * np.arcsin(np.sqrt(matrix.clip(0, 1))))


def _manhattan(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(sum(abs(axis[:, None] - axis) for axis in coords.T))


def _chebyshev(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    matrix = np.zeros((len(coords), len(coords)))
    for axis in coords.T:
        np.maximum(matrix, abs(axis[:, None] - axis), out=matrix)
    return matrix


MEASURES = {
    "HAVERSINE_KM": Measure("great circle (km, real)", True, _great_circle),
    "HAVERSINE_M": Measure("great circle (m, real)", True, lambda coords: 1000 * _great_circle(coords)),
    "MANHATTAN": Measure("Manhattan (real)", False, _manhattan),
    "CHEBYSHEV": Measure("Chebyshev (real)", False, _chebyshev),
}

#: What the metrics are called elsewhere; Euclidean ones depend on the number of coordinates.
_OTHER_NAMES = {
    "EUCLIDEAN": listed("euclidean, euclid, euc, l2, real, straight line, exact"),
    "HAVERSINE_KM": listed("haversine, great circle, great circle km, geodesic, km, kilometres"),
    "HAVERSINE_M": listed("great circle m, m, metres, meters"),
    "MANHATTAN": listed("l1, taxicab, city block, rectilinear"),
    "CHEBYSHEV": listed("maximum, max, linf, l infinity"),
}


def _bare(text: str) -> str:
    """Cut a name to lower-case letters and digits; units are part of it."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


_BY_NAME = {_bare(name): name for name in (*METRICS, *MEASURES, "EXPLICIT")} | {
    _bare(other): name for name, others in _OTHER_NAMES.items() for other in others
}


def find_metric(text: str, axes: int) -> str:
    """Find a metric by TSPLIB's name, one of `MEASURES`, or another name of one.

    Raises
    ------
    DataError
        If there is none of that name; with the nearest one.
    """
    name = _BY_NAME.get(_bare(text))
    if name is None:
        near = nearest(text, _BY_NAME)
        hint = f"; the nearest is {_BY_NAME[near]}" if near else ""
        known = ", ".join((*METRICS, *MEASURES))
        message = f"edge_weight_type: expected EXPLICIT or one of {known}, got {shown(text)}{hint}"
        raise DataError(message, "edge_weight_type")
    return f"EXACT_{3 if axes == 3 else 2}D" if name == "EUCLIDEAN" else name


def measured_matrix(name: str, coords: NDArray[Any]) -> NDArray[np.float64]:
    """Lengths of all edges, float64[N, N].

    Raises
    ------
    DataError
        If there are too many cities, or degrees out of range.
    """
    measure, size = MEASURES[name], len(coords)
    if size > MOST_CITIES:
        instead = "project them to x and y" if measure.on_globe else "give a TSPLIB type"
        message = f"{name} is computed as a matrix, for {MOST_CITIES} cities at most, got {size}; {instead}"
        raise DataError(message, "edge_weight_type")
    if measure.on_globe:
        for axis, (word, limit) in enumerate((("latitude", 90), ("longitude", 180))):
            bad = np.flatnonzero(abs(coords[:, axis]) > limit * (1 + axis))
            if bad.size:
                got = coords[bad[0], axis]
                message = f"expected a {word} of -{limit} to {limit} degrees, got {got}"
                raise DataError(message, "coords", int(bad[0]))
    return measure.lengths(coords.astype(np.float64))
