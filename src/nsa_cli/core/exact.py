"""Exact sums and capacities: decimals scaled to integers, so that a bin can be filled exactly.

Ten weights of 0.1 sum to 0.9999999999999999 in float64 and to 1.0000001 in float32; both are wrong.
The numbers of a file are decimals, so they are scaled by a common power of ten to int64. Numbers drawn
at random are binary (more than 15 significant digits when printed), multiples of a power of two, and
are scaled by that. Either way sums and comparisons are those of integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Sums of integer weights stay below this, so that int64 arithmetic on loads cannot overflow.
LIMIT = 2**61

#: float64 distinguishes decimals of up to 15 digits; a number that prints with more is binary.
_DIGITS = 15
_DECIMAL_LIMIT = 10**_DIGITS


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """Weights and a capacity in common integer units.

    Attributes
    ----------
    units : int64[N]
        The weights. Where no common unit fits into 64 bits (`rounded`), they are rounded up, so that
        feasibility in units implies feasibility.
    capacity : int
        The capacity in the same units (rounded down where `rounded`), at most `LIMIT`.
    integers : tuple of int, or None
        Weights and, last, capacity in a unit of more than 64 bits; kept only where `rounded`.
    """

    units: NDArray[np.int64]
    capacity: int
    integers: tuple[int, ...] | None = None

    @property
    def rounded(self) -> bool:
        """Whether the integer units are an approximation (from the safe side)."""
        return self.integers is not None

    def fits(self, items: Iterable[int]) -> bool:
        """Tell whether the items together respect the capacity, exactly; equality fits."""
        if self.integers is None:
            return sum(int(self.units[i]) for i in items) <= self.capacity
        return sum(self.integers[i] for i in items) <= self.integers[-1]


def exact_weights(weights: NDArray[np.int64] | NDArray[np.float64], capacity: int | float) -> ExactWeights:
    """Scale weights and capacity to common integers.

    Parameters
    ----------
    weights : int64[N] or float64[N]
        Finite and non-negative.
    capacity : int or float
        Finite and non-negative.
    """
    if isinstance(capacity, np.generic):
        capacity = capacity.item()
    numbers = [*weights.tolist(), capacity]
    if weights.dtype == np.int64:
        return _in_units([*numbers[:-1], math.floor(capacity)])  # whole weights leave the rest of it empty
    scaled = _scaled_decimals(np.array(numbers, dtype=np.float64)) if float(capacity) == capacity else None
    if scaled is not None:
        return _in_units(scaled[0].tolist())
    decimal = all(map(_is_decimal, numbers))
    return _in_units(_common_units([Fraction(repr(x)) for x in numbers] if decimal else numbers))


def _scaled_decimals(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], int] | None:
    """Find the smallest number of decimal places that all numbers have; the numbers in units of the last."""
    if not all(map(_is_decimal, numbers[:8].tolist())):
        return None
    for digits in range(_DIGITS + 1):
        scale = 10.0**digits
        units = np.rint(numbers * scale)
        if np.abs(units).max(initial=0.0) >= _DECIMAL_LIMIT:
            return None
        # The quotient is correctly rounded: it is the float64 that this decimal reads as.
        if np.array_equal(units / scale, numbers):
            return units.astype(np.int64), digits
    return None


def exact_sum(numbers: NDArray[Any]) -> int | float:
    """Sum exactly, integers to an integer and decimals as decimals: 0.1 and 0.2 are 0.3.

    Parameters
    ----------
    numbers : int64[N] or float64[N]
        Finite.

    Returns
    -------
    int or float
        The exact sum; a float is rounded once.
    """
    values = numbers.tolist()
    if numbers.dtype == np.int64:
        return sum(map(int, values))
    if (found := _scaled_decimals(numbers)) is not None:
        units, digits = found
        scale: int = 10**digits
        return sum(map(int, units)) / scale  # a quotient of integers is rounded once
    if all(map(_is_decimal, values)):
        return float(sum(Fraction(repr(x)) for x in values))
    return math.fsum(values)


def _is_decimal(x: int | float) -> bool:
    """Tell whether a number has at most 15 significant decimal digits."""
    return isinstance(x, int) or len(repr(x).partition("e")[0].replace(".", "").strip("0")) <= _DIGITS


def _common_units(numbers: Sequence[int | float | Fraction]) -> list[int]:
    """Scale numbers by the least common multiple of their denominators; integers of any length."""
    ratios = [x.as_integer_ratio() for x in numbers]
    scale = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (scale // denominator) for numerator, denominator in ratios]


def _in_units(integers: Sequence[int]) -> ExactWeights:
    """Keep integers whose sums fit, a capacity above the sum cut to it.

    Others are scaled to the finest unit that fits, weights up and capacity down, beside the exact integers.

    Parameters
    ----------
    integers : sequence of int
        Weights and, last, capacity.
    """
    *weights, capacity = integers
    total = sum(weights)
    if total < LIMIT:
        return ExactWeights(np.array(weights, dtype=np.int64), min(capacity, total))
    units = np.array([-(-w * (LIMIT // 2) // total) for w in weights], dtype=np.int64)
    # Rounding up adds one unit an item at most: a capacity that never binds still does not.
    slack = len(weights) if capacity >= total else 0
    return ExactWeights(units, min(capacity, total) * (LIMIT // 2) // total + slack, tuple(integers))
