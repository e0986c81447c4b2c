"""Exact capacities: weights as integers, so that what fills a bin exactly fits it.

Ten weights of 0.1 sum to 0.9999999999999999 in float64 and to 1.0000001 in float32; both are wrong.
The numbers of a file are decimals, so they are scaled by a common power of ten to int64. Numbers drawn
at random are binary (more than 15 significant digits when printed), multiples of a power of two, and
are scaled by that. Either way sums and comparisons are those of integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

#: Sums of integer weights stay below this, so that int64 arithmetic on loads cannot overflow.
LIMIT = 2**61

#: Decimals up to this size are told apart by float64; beyond it a printed number is a binary one.
_DECIMAL_LIMIT = 10**15


@dataclass(frozen=True, eq=False)
class ExactWeights:
    """Weights and a capacity in common integer units.

    Attributes
    ----------
    units : int64[N]
        The weights. Where no common unit fits into 64 bits (`rounded`), they are rounded up, so that
        whatever fits in units fits in truth.
    capacity : int
        The capacity in the same units (rounded down where `rounded`), at most `LIMIT`.
    fractions : tuple of Fraction, or None
        Weights and, last, capacity without rounding; kept only where `rounded`.
    """

    units: NDArray[np.int64]
    capacity: int
    fractions: tuple[Fraction, ...] | None = None

    @property
    def rounded(self) -> bool:
        """Whether the integer units are an approximation (from the safe side)."""
        return self.fractions is not None

    def fits(self, items: Iterable[int]) -> bool:
        """Tell whether the items together respect the capacity, exactly; equality fits."""
        if self.fractions is None:
            return sum(int(self.units[i]) for i in items) <= self.capacity
        return sum((self.fractions[i] for i in items), Fraction(0)) <= self.fractions[-1]


def exact_weights(weights: NDArray[np.int64] | NDArray[np.float64], capacity: int | float) -> ExactWeights:
    """Scale weights and capacity to common integers.

    Parameters
    ----------
    weights : int64[N] or float64[N]
        Finite and non-negative.
    capacity : int or float
        Finite and non-negative.
    """
    units = _decimal_units(weights, capacity) or _binary_units(weights, capacity)
    return units or _rounded_units(weights, capacity)


def _within_limit(units: NDArray[np.int64], capacity: int) -> ExactWeights | None:
    """Accept integer units if their sums fit; a capacity that never binds is cut to fit."""
    total = sum(units.tolist())  # Python integers: the sum itself may not fit
    return ExactWeights(units, min(capacity, total)) if total < LIMIT else None


def _decimal_units(weights: NDArray[np.generic], capacity: int | float) -> ExactWeights | None:
    """Scale by the smallest power of ten that makes all numbers integers."""
    if weights.dtype == np.int64 and isinstance(capacity, int):
        return _within_limit(weights.astype(np.int64), capacity)
    numbers = np.append(weights.astype(np.float64), float(capacity))
    for digits in range(16):
        scale = 10.0**digits
        units = np.rint(numbers * scale)
        if units.max(initial=0.0) >= _DECIMAL_LIMIT:
            return None
        # The quotient is correctly rounded: it is the float64 that this decimal reads as.
        if np.array_equal(units / scale, numbers):
            return _within_limit(units[:-1].astype(np.int64), int(units[-1]))
    return None


def _binary_units(weights: NDArray[np.generic], capacity: int | float) -> ExactWeights | None:
    """Scale by the smallest power of two that makes all numbers integers."""
    numbers = np.append(weights.astype(np.float64), float(capacity))
    mantissas, exponents = np.frexp(numbers)
    integers = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.where(integers == 0, 0, np.log2((integers & -integers).clip(1)).astype(np.int64))
    places = np.where(integers == 0, 0, 53 - trailing - exponents)
    scale = max(int(places.max(initial=0)), 0)
    if scale > 1000 or float(np.ldexp(numbers.max(initial=0.0), scale)) >= LIMIT:
        return None
    units = np.ldexp(numbers, scale).astype(np.int64)
    return _within_limit(units[:-1], int(units[-1]))


def _rounded_units(weights: NDArray[np.generic], capacity: int | float) -> ExactWeights:
    """Scale to the finest unit that fits, weights up and capacity down; keep the exact fractions."""
    *exact, exact_capacity = (Fraction(x) for x in [*weights.tolist(), capacity])
    largest = max(sum(exact, Fraction(0)), Fraction(1, 2**1000))
    ratio = Fraction(LIMIT // 2) / largest
    units = np.array([-((-f * ratio).__floor__()) for f in exact], dtype=np.int64)
    cut = min(exact_capacity, largest)
    # One unit an item is what rounding up may have added: a capacity that never binds still does not.
    slack = len(exact) if exact_capacity >= largest else 0
    return ExactWeights(units, (cut * ratio).__floor__() + slack, (*exact, exact_capacity))
