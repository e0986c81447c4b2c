"""Edge lengths: the formulas of `nsa_cli.problems.tsp.distances`, a pair at a time, equal to the last bit.

One function with a branch on an integer serves all metrics: the branch always goes the same way, and kernels
are compiled once, not once a metric, which would gain the local search four per cent.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import inlined, kernel

#: Arrays of numbers: lengths and potentials, indices, and cities of tours.
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint32]

_REAL, _WHOLE, _MATRIX, _STRAIGHT, _STRAIGHT_3D, _MANHATTAN, _CHEBYSHEV, _PSEUDO, _GEO = range(9)
_AS_IT_IS, _NEAREST, _UP, _DOWN = range(4)

#: Formula and rounding of each key of `nsa_cli.problems.tsp.distances.METRICS`.
CODES = {
    "EXPLICIT": (_MATRIX, _AS_IT_IS),
    "EUC_2D": (_WHOLE, _NEAREST),
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


class KernelMetric(NamedTuple):
    """A metric with its coordinates or its matrix.

    Attributes
    ----------
    data : float64[N * stride]
        Rows of coordinates (as `TspInstance.measured`) or of the matrix, flat: one multiplication an index.
    stride : int
        Numbers a row.
    formula, rounding : int
    """

    data: Floats
    stride: int
    formula: int
    rounding: int

    @property
    def is_matrix(self) -> bool:
        """Whether lengths are in a matrix."""
        return self.formula == _MATRIX


@inlined
def length(metric: KernelMetric, i: int, j: int) -> float:
    """Length of the edge between cities `i` and `j`."""
    if metric.formula == _REAL:
        return math.sqrt(_square(metric.data, i, j))
    if metric.formula == _WHOLE:
        return np.floor(math.sqrt(_square(metric.data, i, j)) + 0.5)
    if metric.formula == _MATRIX:
        return metric.data[np.uint64(i) * np.uint64(metric.stride) + np.uint64(j)]
    if metric.formula == _STRAIGHT:
        return _rounded(math.sqrt(_square(metric.data, i, j)), metric.rounding)
    return _rarer(metric, i, j)


@inlined
def is_shorter(metric: KernelMetric, i: int, j: int, limit: float) -> bool:
    """Tell whether an edge is shorter than a positive limit, without a root where none is needed."""
    if metric.formula == _REAL:
        return _square(metric.data, i, j) < limit * limit
    return length(metric, i, j) < limit


@inlined
def _square(data: Floats, i: int, j: int) -> float:
    # Unsigned indices: Numba need not ask whether they count from the end.
    a, b = np.uint32(2 * i), np.uint32(2 * j)
    dx = data[a] - data[b]
    dy = data[np.uint32(a + 1)] - data[np.uint32(b + 1)]
    return dx * dx + dy * dy


@kernel
def _rarer(metric: KernelMetric, i: int, j: int) -> float:
    """Lengths by the formulas that need not be inlined."""
    data, axes = metric.data, metric.stride
    a, b = i * axes, j * axes
    if metric.formula == _GEO:
        return _great_circle(data[a], data[a + 1], data[b], data[b + 1])
    total = 0.0
    largest = 0.0
    for axis in range(axes):
        difference = data[a + axis] - data[b + axis]
        if metric.formula == _MANHATTAN:
            total += abs(difference)
        elif metric.formula == _CHEBYSHEV:
            rounded = np.floor(abs(difference) + 0.5)
            largest = largest if rounded <= largest else rounded
        else:
            total += difference * difference
    if metric.formula == _CHEBYSHEV:
        return largest
    if metric.formula == _PSEUDO:
        total = math.sqrt(total / 10.0)
    elif metric.formula == _STRAIGHT_3D:
        total = math.sqrt(total)
    return _rounded(total, metric.rounding)


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


def lengths(metric: KernelMetric, i: Ints, j: Ints) -> Floats:
    """Lengths of many edges, float64 of the shape int64[M] of `i` and `j`."""
    result = np.empty(len(i))
    _put_lengths(metric, i, j, result)
    return result


@kernel
def _put_lengths(metric: KernelMetric, i: Ints, j: Ints, result: Floats) -> None:
    for k in range(len(i)):
        result[k] = length(metric, i[k], j[k])


@kernel
def tour_length(metric: KernelMetric, order: Words) -> float:
    """Length of a closed tour, summed in its order."""
    total = length(metric, order[-1], order[0])
    for k in range(len(order) - 1):
        total += length(metric, order[k], order[k + 1])
    return total
