"""Edge lengths: those of TSPLIB, one formula each, for NumPy arrays and torch tensors alike, and others.

Formulas are those of the TSPLIB 95 documentation (Reinelt), with its rounding ``nint(x) = (int)(x + 0.5)``:
not Python's or NumPy's, which round halves to even. Lengths come back as float64 whole numbers where the
type rounds.

The others, great circles between decimal degrees and lengths that are not rounded, are in no kernel: they
become a matrix once, when an instance is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.words import listed, nearest

if TYPE_CHECKING:
    import torch

ArrayT = TypeVar("ArrayT", NDArray[np.float64], "torch.Tensor")


def _namespace(x: object) -> ModuleType:
    if isinstance(x, np.ndarray | np.generic):
        return np
    import torch

    return torch


def _floor(x: Any) -> Any:
    return _namespace(x).floor(x)


def _nint(x: Any) -> Any:
    return _floor(x + 0.5)


def _norm(a: Any, b: Any) -> Any:
    difference = a - b
    return _namespace(a).sqrt((difference * difference).sum(-1))


def _manhattan(a: Any, b: Any) -> Any:
    return _nint(abs(a - b).sum(-1))


def _chebyshev(a: Any, b: Any) -> Any:
    per_axis = _nint(abs(a - b))
    xp = _namespace(a)
    largest = per_axis[..., 0]
    for axis in range(1, per_axis.shape[-1]):
        largest = xp.maximum(largest, per_axis[..., axis])
    return largest


def _pseudo_euclidean(a: Any, b: Any) -> Any:
    # nint, and one more where that rounded down: the ceiling.
    difference = a - b
    xp = _namespace(a)
    return xp.ceil(xp.sqrt((difference * difference).sum(-1) / 10.0))


def _geographical(a: Any, b: Any) -> Any:
    """Great-circle kilometres between (latitude, longitude) in TSPLIB's radians, see `prepare`."""
    xp = _namespace(a)
    q1 = xp.cos(a[..., 1] - b[..., 1])
    q2 = xp.cos(a[..., 0] - b[..., 0])
    q3 = xp.cos(a[..., 0] + b[..., 0])
    cosine = (0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)).clip(-1.0, 1.0)
    return xp.floor(6378.388 * xp.arccos(cosine) + 1.0)


@dataclass(frozen=True)
class Metric:
    """A way to measure edges between coordinates.

    Attributes
    ----------
    label : str
        The convention, as the result states it.
    axes : int
        Coordinates a city.
    rounded : bool
        Whether lengths are whole numbers.
    per_unit : float or None
        Length of an edge that is 1 long in coordinates; None where coordinates are angles.
    lengths : callable
        ``lengths(a, b)`` of float64 ``[..., axes]`` gives float64 ``[...]``.
    """

    label: str
    axes: int
    rounded: bool
    per_unit: float | None
    lengths: Callable[[Any, Any], Any]


METRICS = {
    "EUC_2D": Metric("EUC_2D (rounded)", 2, True, 1.0, lambda a, b: _nint(_norm(a, b))),
    "EUC_3D": Metric("EUC_3D (rounded)", 3, True, 1.0, lambda a, b: _nint(_norm(a, b))),
    "CEIL_2D": Metric("CEIL_2D (rounded up)", 2, True, 1.0, lambda a, b: _namespace(a).ceil(_norm(a, b))),
    "FLOOR_2D": Metric("FLOOR_2D (rounded down)", 2, True, 1.0, lambda a, b: _floor(_norm(a, b))),
    "EXACT_2D": Metric("EXACT_2D (real)", 2, False, 1.0, _norm),
    "EXACT_3D": Metric("EXACT_3D (real)", 3, False, 1.0, _norm),
    "MAN_2D": Metric("MAN_2D (rounded)", 2, True, 1.0, _manhattan),
    "MAN_3D": Metric("MAN_3D (rounded)", 3, True, 1.0, _manhattan),
    "MAX_2D": Metric("MAX_2D (rounded)", 2, True, 1.0, _chebyshev),
    "MAX_3D": Metric("MAX_3D (rounded)", 3, True, 1.0, _chebyshev),
    "ATT": Metric("ATT (pseudo-Euclidean, rounded up)", 2, True, 10.0**-0.5, _pseudo_euclidean),
    "GEO": Metric("GEO (km, rounded)", 2, True, None, _geographical),
}


def prepare(kind: str, coords: NDArray[Any]) -> NDArray[np.float64]:
    """Turn a file's coordinates into those that `METRICS[kind].lengths` measures.

    Parameters
    ----------
    kind : str
        A key of `METRICS`.
    coords : int64 or float64 [N, axes]
        GEO: latitude and longitude as degrees and minutes, DDD.MM.

    Returns
    -------
    float64[N, axes]
        GEO: radians, with TSPLIB's value of pi.
    """
    coords = coords.astype(np.float64)
    if kind != "GEO":
        return coords
    degrees = np.trunc(coords)
    minutes = coords - degrees
    return 3.141592 * (degrees + 5.0 * minutes / 3.0) / 180.0


# --- matrices by other measures ----------------------------------------------------------------------

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


def _real_manhattan(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(sum(abs(axis[:, None] - axis) for axis in coords.T))


def _real_chebyshev(coords: NDArray[np.float64]) -> NDArray[np.float64]:
    return functools.reduce(np.maximum, (abs(axis[:, None] - axis) for axis in coords.T))


MEASURES = {
    "HAVERSINE_KM": Measure("great circle (km, real)", True, _great_circle),
    "HAVERSINE_M": Measure("great circle (m, real)", True, lambda coords: 1000 * _great_circle(coords)),
    "MANHATTAN": Measure("Manhattan (real)", False, _real_manhattan),
    "CHEBYSHEV": Measure("Chebyshev (real)", False, _real_chebyshev),
}

#: What the metrics are to a person, by the beginnings of their names.
WORDS = {
    "EUC": "straight lines, each rounded",
    "CEIL": "straight lines, each rounded up",
    "FLOOR": "straight lines, each rounded down",
    "EXACT": "straight lines",
    "MAN": "along the axes, each rounded",
    "MAX": "the longest axis, each rounded",
    "MANHATTAN": "along the axes",
    "CHEBYSHEV": "the longest axis",
    "ATT": "straight lines by TSPLIB's ATT, each rounded up",
    "GEO": "great circles by TSPLIB's GEO, each rounded",
    "HAVERSINE": "great circles",
    "EXPLICIT": "a matrix",
}

#: Units of lengths, where they are known.
UNITS = {"GEO": "km", "HAVERSINE_KM": "km", "HAVERSINE_M": "m"}

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
