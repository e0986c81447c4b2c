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
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Sums of integer weights stay below this, so that int64 arithmetic on loads cannot overflow.
LIMIT = 2**61

#: Bits of a unit in an array of int64: twice as much still fits.
_WORD = 62

#: A number without rounding; a float is the binary number that it is.
Exact: TypeAlias = int | float | Fraction

#: Size up to which each integer is a float64.
_TOLD_APART = 2**53

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
        chosen = np.fromiter(items, dtype=np.int64)
        if total_of(self.units[chosen]) <= self.capacity:
            return True  # in exact units, or rounded from the safe side
        return self.integers is not None and sum(map(self.integers.__getitem__, chosen)) <= self.integers[-1]


def exact_weights(weights: NDArray[np.int64] | NDArray[np.float64], capacity: int | float) -> ExactWeights:
    """Scale weights and capacity to common integers.

    Parameters
    ----------
    weights : int64[N] or float64[N]
        Finite and non-negative.
    capacity : int or float
        Finite and non-negative.
    """
    numbers = [*weights.tolist(), capacity]
    if weights.dtype == np.int64:
        return _in_units([*numbers[:-1], math.floor(capacity)])  # whole weights leave the rest of it empty
    if float(capacity) == capacity:
        return _in_units(exact_numbers(np.array(numbers, dtype=np.float64)).units.tolist())
    decimal = all(map(_is_decimal, numbers))
    return _in_units(_common_units([Fraction(repr(x)) for x in numbers] if decimal else numbers)[0])


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


@dataclass(frozen=True, eq=False)
class ExactNumbers:
    """Numbers as whole multiples of a common unit, so that their sums are exact.

    Attributes
    ----------
    units : int64[N], or Python integers where those are too short
    denominator : int
        Units in 1.
    whole : bool
        Whether the numbers were given as integers.
    """

    units: NDArray[Any]
    denominator: int = 1
    whole: bool = False

    def total(self, chosen: Any = ...) -> int | Fraction:
        """Sum the chosen numbers, by an index as NumPy takes it; an int of integers, else a Fraction."""
        units = total_of(self.units[chosen])
        return units if self.whole else Fraction(units, self.denominator)


def exact_numbers(numbers: NDArray[Any], *, decimal: bool = True) -> ExactNumbers:
    """Find a common unit of numbers.

    Parameters
    ----------
    numbers : int64 or float64 [...]
        Finite.
    decimal : bool
        Whether floats that all print with at most 15 digits are those decimals, as numbers of a file are;
        else they are the binary numbers that they are, as computed lengths are.
    """
    if numbers.dtype == np.int64:
        return ExactNumbers(numbers, whole=True)
    flat = numbers.ravel()
    if decimal and (found := _scaled_decimals(flat)) is not None:
        return ExactNumbers(found[0].reshape(numbers.shape), 10 ** found[1])
    if decimal and all(map(_is_decimal, flat.tolist())):
        units, denominator = _common_units([Fraction(repr(x)) for x in flat.tolist()])
        return ExactNumbers(_integers(units).reshape(numbers.shape), denominator)
    if flat.any():
        places, exponent = _places(flat), int(np.frexp(np.abs(flat).max())[1])
        if exponent + places <= _WORD:
            return ExactNumbers(np.ldexp(numbers, places).astype(np.int64), 2**places)
    units, denominator = _common_units(flat.tolist())
    return ExactNumbers(_integers(units).reshape(numbers.shape), denominator)


def total_of(units: NDArray[Any]) -> int:
    """Sum integers, int64 or Python's, to one of any length."""
    if units.dtype != np.int64:
        return sum(units.ravel().tolist())
    # By halves: sums of them do not overflow.
    return (int((units >> 32).sum()) << 32) + int((units & 0xFFFFFFFF).sum())


def binary_total(numbers: NDArray[np.float64]) -> Fraction:
    """Sum floats as the binary numbers that they are, without rounding, those of one exponent at a time."""
    mantissa, exponent = np.frexp(numbers)
    whole, low, total = (mantissa * 2.0**53).astype(np.int64), int(exponent.min(initial=0)), 0
    for e in np.unique(exponent).tolist():
        total += total_of(whole[exponent == e]) << (e - low)
    return Fraction(total) * Fraction(2) ** (low - 53)


def _integers(units: Sequence[int]) -> NDArray[Any]:
    """Make an array: int64 if all fit, else of Python integers."""
    short = max(map(abs, units), default=0) < 2**_WORD
    return np.array(units, dtype=np.int64 if short else object)


def _places(numbers: NDArray[np.float64]) -> int:
    """Binary places after the point that the numbers have."""
    mantissa, exponent = np.frexp(numbers[numbers != 0])
    whole = (mantissa * 2.0**53).astype(np.int64)
    _, trailing = np.frexp((whole & -whole).astype(np.float64))
    return max(int((54 - exponent - trailing).max(initial=0)), 0)


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
    return rounded(exact_numbers(numbers).total())


def exact_number(x: int | float) -> Exact:
    """Read a number as a file's: a float of at most 15 digits is that decimal."""
    return Fraction(repr(x)) if isinstance(x, float) and math.isfinite(x) and _is_decimal(x) else x


def whole(x: float) -> int | float:
    """Give a whole float as the integer that it is, up to where floats tell integers apart."""
    return int(x) if abs(x) <= _TOLD_APART and x == int(x) else x


def rounded(x: Exact) -> int | float:
    """Round a fraction to the nearest float; other numbers are what they are."""
    return float(x) if isinstance(x, Fraction) else x


def _is_decimal(x: int | float) -> bool:
    """Tell whether a number is the decimal that it prints as: of 15 digits at most, or equal to it anyway."""
    if isinstance(x, int) or len(repr(abs(x)).partition("e")[0].replace(".", "").strip("0")) <= _DIGITS:
        return True
    return Fraction(repr(x)) == x


def _common_units(numbers: Sequence[int | float | Fraction]) -> tuple[list[int], int]:
    """Scale numbers by the least common multiple of their denominators; integers of any length, and that."""
    ratios = [x.as_integer_ratio() for x in numbers]
    scale = math.lcm(*{denominator for _, denominator in ratios})
    return [numerator * (scale // denominator) for numerator, denominator in ratios], scale


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
