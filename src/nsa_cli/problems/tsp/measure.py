"""Edge lengths for kernels: the formulas of `distances`, one pair at a time, bit by bit the same.

One function with a branch on an integer serves all metrics: the branch always goes the same way, and kernels
are compiled once, not once a metric. Where lengths are most of the work, `special` gives a type of its own to
each of the common metrics: without code for the others the local search has more registers for its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.kernel.jit import allocating, generic, inlined, kernel, variant
from nsa_cli.problems.tsp.instance import TspInstance

_REAL, _MATRIX, _STRAIGHT, _STRAIGHT_3D, _MANHATTAN, _CHEBYSHEV, _PSEUDO, _GEO = range(8)
_AS_IT_IS, _NEAREST, _UP, _DOWN = range(4)

#: Formula and rounding of each key of `distances.METRICS`.
_CODES = {
    "EXPLICIT": (_MATRIX, _AS_IT_IS),
    "EUC_2D": (_STRAIGHT, _NEAREST),
    "EUC_3D": (_STRAIGHT_3D, _NEAREST),
    "CEIL_2D": (_STRAIGHT, _UP),
    "FLOOR_2D": (_STRAIGHT, _DOWN),
    "EXACT_2D": (_REAL, _AS_IT_IS),
    "EXACT_3D": (_STRAIGHT_3D, _AS_IT_IS),
    "MAN_2D": (_MANHATTAN, _NEAREST),
    "MAN_3D": (_MANHATTAN, _NEAREST),
    "MAX_2D": (_CHEBYSHEV, _AS_IT_IS),  # rounds each axis by itself
    "MAX_3D": (_CHEBYSHEV, _AS_IT_IS),
    "ATT": (_PSEUDO, _UP),
    "GEO": (_GEO, _AS_IT_IS),
}

#: Up to this many cities, lengths that take trigonometry are kept in a matrix (32 MiB).
_DEAR_UP_TO = 2000


class Measure(NamedTuple):
    """What edge lengths are computed from.

    Attributes
    ----------
    data : float64[N * stride]
        Rows of coordinates (as `TspInstance.measured`) or of the matrix, flat: one multiplication an index.
    stride : int
        Numbers a row.
    formula, rounding : int
    """

    data: NDArray[np.float64]
    stride: int
    formula: int
    rounding: int


def measure_of(instance: TspInstance, cities: NDArray[np.int64]) -> Measure:
    """Take an instance's metric, with its cities renumbered.

    Parameters
    ----------
    instance : TspInstance
    cities : int64[M]
        Positions in the file of the cities 0, …, M - 1. A matrix, M x M, is made for ``EXPLICIT`` only, and
        for GEO up to 2,000 cities; all else is linear in M.
    """
    if instance.matrix is not None:
        rows = instance.matrix[np.ix_(cities, cities)].astype(np.float64)
        return Measure(rows.ravel(), len(cities), *_CODES["EXPLICIT"])
    if instance.edge_weight_type == "GEO" and len(cities) <= _DEAR_UP_TO:
        rows = instance.edges(cities[:, None], cities[None, :])
        return Measure(np.ascontiguousarray(rows, dtype=np.float64).ravel(), len(cities), *_CODES["EXPLICIT"])
    coords = instance.measured[cities]
    return Measure(coords.ravel(), coords.shape[1], *_CODES[instance.edge_weight_type])


@inlined
def length(measure: Measure, i: int, j: int) -> float:
    """Length of the edge between cities `i` and `j`."""
    if measure.formula == _REAL:
        return math.sqrt(_square(measure.data, i, j))
    if measure.formula == _MATRIX:
        return measure.data[i * measure.stride + j]
    if measure.formula == _STRAIGHT:
        return _rounded(math.sqrt(_square(measure.data, i, j)), measure.rounding)
    return _rarer(measure, i, j)


class Plane(NamedTuple):
    """Points in the plane; data float64[2 N] as in `Measure`."""

    data: NDArray[np.float64]


class WholePlane(NamedTuple):
    """The same with lengths rounded to the nearest whole number."""

    data: NDArray[np.float64]


class Rows(NamedTuple):
    """A matrix; data float64[N * stride] as in `Measure`."""

    data: NDArray[np.float64]
    stride: int


#: What a search measures with.
AnyMeasure: TypeAlias = Measure | Plane | WholePlane | Rows


def special(measure: Measure) -> AnyMeasure:
    """Give the common metrics types of their own, for `edge` and `is_shorter`."""
    if measure.formula == _REAL:
        return Plane(measure.data)
    if measure.formula == _MATRIX:
        return Rows(measure.data, measure.stride)
    if (measure.formula, measure.rounding) == _CODES["EUC_2D"]:
        return WholePlane(measure.data)
    return measure


@generic
def edge(measure: Any, i: int, j: int) -> float:
    """Length of the edge between two cities."""
    raise NotImplementedError


@generic
def is_shorter(measure: Any, i: int, j: int, limit: float) -> bool:
    """Tell whether the edge is shorter than a positive limit, without a root where none is needed."""
    raise NotImplementedError


@variant(edge, measure=Measure)
def _any_edge(measure: Measure, i: int, j: int) -> float:
    return length(measure, i, j)


@variant(is_shorter, measure=(Measure, Rows, WholePlane))
def _is_shorter(measure: Any, i: int, j: int, limit: float) -> bool:
    return edge(measure, i, j) < limit


@variant(edge, measure=Plane)
def _plane_edge(measure: Plane, i: int, j: int) -> float:
    return math.sqrt(_square(measure.data, i, j))


@variant(is_shorter, measure=Plane)
def _is_shorter_in_plane(measure: Plane, i: int, j: int, limit: float) -> bool:
    return _square(measure.data, i, j) < limit * limit


@variant(edge, measure=WholePlane)
def _whole_edge(measure: WholePlane, i: int, j: int) -> float:
    return np.floor(math.sqrt(_square(measure.data, i, j)) + 0.5)


@variant(edge, measure=Rows)
def _matrix_edge(measure: Rows, i: int, j: int) -> float:
    return measure.data[np.uint64(i) * np.uint64(measure.stride) + np.uint64(j)]


@inlined
def _square(data: NDArray[np.float64], i: int, j: int) -> float:
    # Unsigned indices: Numba need not ask whether they count from the end.
    a, b = np.uint32(2 * i), np.uint32(2 * j)
    dx = data[a] - data[b]
    dy = data[np.uint32(a + 1)] - data[np.uint32(b + 1)]
    return dx * dx + dy * dy


@kernel
def _rarer(measure: Measure, i: int, j: int) -> float:
    """Lengths by the formulas that need not be inlined."""
    data, axes = measure.data, measure.stride
    a, b = i * axes, j * axes
    if measure.formula == _GEO:
        return _great_circle(data[a], data[a + 1], data[b], data[b + 1])
    total = 0.0
    largest = 0.0
    for axis in range(axes):
        difference = data[a + axis] - data[b + axis]
        if measure.formula == _MANHATTAN:
            total += abs(difference)
        elif measure.formula == _CHEBYSHEV:
            rounded = np.floor(abs(difference) + 0.5)
            largest = largest if rounded <= largest else rounded
        else:
            total += difference * difference
    if measure.formula == _CHEBYSHEV:
        return largest
    if measure.formula == _PSEUDO:
        total = math.sqrt(total / 10.0)
    elif measure.formula == _STRAIGHT_3D:
        total = math.sqrt(total)
    return _rounded(total, measure.rounding)


@inlined
def _rounded(x: float, rounding: int) -> float:
    if rounding == _NEAREST:
        return np.floor(x + 0.5)
    if rounding == _UP:
        return np.ceil(x)
    if rounding == _DOWN:
        return np.floor(x)
    return x


@kernel
def _great_circle(latitude: float, longitude: float, latitude2: float, longitude2: float) -> float:
    q1 = math.cos(longitude - longitude2)
    q2 = math.cos(latitude - latitude2)
    q3 = math.cos(latitude + latitude2)
    cosine = min(max(0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3), -1.0), 1.0)
    return np.floor(6378.388 * math.acos(cosine) + 1.0)


@allocating
def lengths(measure: Measure, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """Lengths of many edges, float64 of the shape int64[M] of `i` and `j`."""
    result = np.empty(len(i))
    for k in range(len(i)):
        result[k] = length(measure, i[k], j[k])
    return result


@kernel
def tour_length(measure: AnyMeasure, order: NDArray[np.uint32]) -> float:
    """Length of a closed tour, summed in its order."""
    total = edge(measure, order[-1], order[0])
    for k in range(len(order) - 1):
        total += edge(measure, order[k], order[k + 1])
    return total
