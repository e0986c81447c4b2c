"""Edge lengths as whole numbers, so that sums and comparisons of them are exact.

Lengths are rounded down to whole multiples of ``2 ** -scale``, so bounds computed from them stay valid.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.exact import Exact
from nsa_cli.problems.tsp.closed import WholeLengths
from nsa_cli.problems.tsp.instance import TspInstance

#: Scaled lengths have at most so many bits: float64 still holds sums of some of them exactly.
_LENGTH_BITS = 46

#: Bits of a whole number in a matrix.
_WHOLE_BITS = 62


def is_whole(instance: TspInstance) -> bool:
    """Tell whether all edge lengths are whole numbers."""
    if instance.matrix is not None:
        return bool(instance.matrix.dtype == np.int64)
    return instance.metric is not None and instance.metric.rounded


def scale_of(instance: TspInstance) -> int:
    """The finest scale at which no length has more than its bits."""
    if instance.matrix is not None:
        longest = float(abs(instance.matrix.astype(np.float64)).max(initial=0.0))
    else:
        assert instance.metric is not None
        corners = [f(instance.measured, axis=0, keepdims=True) for f in (np.min, np.max)]
        if instance.metric.per_unit is None:
            longest = 2e4 * 1.1  # half around the globe, in km
        else:
            longest = 2.0 + float(abs(corners[1] - corners[0]).sum())
            longest = longest if instance.metric.rounded else max(longest - 2.0, 5e-324)
    if longest == 0.0:
        return 0
    scale = _LENGTH_BITS - math.frexp(longest)[1]
    # Whole lengths need no finer unit than potentials make use of.
    return min(scale, 16) if is_whole(instance) else min(scale, 1000)


def scaled(instance: TspInstance, scale: int, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.int64]:
    """Lengths of edges in whole multiples of ``2 ** -scale``, rounded down."""
    lengths = instance.edges(i, j)
    if lengths.dtype == np.int64:
        return np.asarray(lengths << scale if scale >= 0 else lengths >> -scale)
    return np.floor(np.ldexp(lengths, scale)).astype(np.int64)


def in_file_units(instance: TspInstance, total: int, scale: int) -> Exact:
    """Turn a scaled bound into one on tours: up to a whole number where lengths are whole."""
    value = Fraction(total) / Fraction(2) ** scale
    return math.ceil(value) if is_whole(instance) else value


def whole_matrix(instance: TspInstance) -> WholeLengths:
    """Make an instance with a matrix whole, so that bounds compare with tours exactly."""
    numbers = instance.exact_matrix
    units, shift = numbers.units, 0
    if units.dtype != np.int64:
        shift = max(int(abs(units).max()).bit_length() - _WHOLE_BITS, 0)
        units = (units >> shift).astype(np.int64)
    whole = TspInstance(edge_weight_type="EXPLICIT", matrix=units)
    return WholeLengths(whole, Fraction(1 << shift, numbers.denominator))
