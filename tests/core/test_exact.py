"""Exact capacities: what integers say is what fractions say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nsa_cli.core.exact import LIMIT, ExactWeights, exact_sum, exact_weights


def floats(*numbers: float) -> Any:
    return np.array(numbers, dtype=np.float64)


@pytest.mark.parametrize(
    ("weights", "capacity", "fits"),
    [
        ([0.1] * 10, 1.0, True),  # float64 adds them up to 0.9999999999999999, float32 to 1.0000001
        ([0.1] * 10, 1, True),
        ([0.7, 0.1, 0.2], 1.0, True),
        ([0.1, 0.2], 0.3, True),  # 0.1 + 0.2 == 0.30000000000000004 in float64
        ([1.1, 2.2], 3.3, True),  # 3.3000000000000003
        ([0.1, 0.2, 0.0000001], 0.3, False),
        ([33.3, 33.3, 33.4], 100.0, True),
        ([33.3, 33.4, 33.4], 100.0, False),
        ([0.1] * 10 + [1e14], 1e14 + 1, True),  # 16 digits in common units
        ([0.1] * 10 + [1e14], 100000000000000.9, False),
        ([0.123456789012345] * 10, 1.23456789012345, True),
        ([0.123456789012345] * 10, 1.23456789012344, False),
        ([1e-300] * 3, 3e-300, True),
        ([1e-300] * 3, 2e-300, False),
        ([1e120, 1e-120], 1e120, False),  # 240 digits apart: in no 64-bit unit
        ([1e120, 1e-120], 1e121, True),
        ([0.0, 0.0], 0.0, True),
        ([5e-324], 0, False),
        ([0.5, 9007199254740992.0], 9007199254740993, True),  # float64 would make the capacity even
    ],
)
def test_decimals(weights: list[float], capacity: float, fits: bool) -> None:
    """Decimals are added as a person adds them, whatever their sizes."""
    assert exact_weights(floats(*weights), capacity).fits(range(len(weights))) is fits


def test_small_numbers_get_small_units() -> None:
    """One decimal gives tenths: nothing is scaled more than it must be."""
    exact = exact_weights(floats(0.5, 1.5, 30.0), 2.5)
    assert (exact.units.tolist(), exact.capacity, exact.rounded) == ([5, 15, 300], 25, False)


def test_binary_numbers_get_binary_units() -> None:
    """Random float32 numbers are multiples of 2^-24 or finer, and stay that."""
    exact = exact_weights(floats(1 + 2**-24, 2**-23), 1.0)
    assert (exact.units.tolist(), exact.capacity) == ([2**24 + 1, 2], 2**24)


def test_a_numpy_capacity_is_a_number() -> None:
    """A capacity that came out of an array changes nothing."""
    assert exact_weights(floats(0.1, 0.2), np.float64(0.3)).fits([0, 1])  # type: ignore[arg-type]


def check(exact: ExactWeights, fractions: list[Fraction], capacity: Fraction, chosen: list[int]) -> None:
    """Compare with fractions; the integer units may only err to the safe side, and only when rounded."""
    total = sum((fractions[i] for i in chosen), Fraction(0))
    in_units = sum(int(exact.units[i]) for i in chosen) <= exact.capacity
    assert exact.fits(chosen) == (total <= capacity)
    assert in_units <= exact.fits(chosen)
    assert exact.rounded or in_units == exact.fits(chosen)
    assert sum(exact.units.tolist()) < LIMIT
    assert 0 <= exact.capacity <= LIMIT


DECIMALS = st.builds(
    lambda digits, exponent: Fraction(digits) * Fraction(10) ** exponent,
    st.one_of(st.integers(0, 20), st.integers(0, 10**15 - 1)),
    st.one_of(st.integers(-3, 0), st.integers(-40, 20)),
)


@given(st.lists(DECIMALS, min_size=1, max_size=6), st.data())
def test_decimals_are_what_was_written(decimals: list[Fraction], data: st.DataObject) -> None:
    """Numbers of up to 15 digits fill a capacity as their decimals do, equality included."""
    numbers = [float(d) for d in decimals]
    exactly = [sum(decimals[:k], Fraction(0)) for k in range(len(decimals) + 1)]
    readable = [
        x for x in exactly if Fraction(repr(float(x))) == x and len(str(x.numerator).strip("0")) <= 15
    ]
    capacity = data.draw(st.one_of(st.sampled_from(readable), DECIMALS) if readable else DECIMALS)
    exact = exact_weights(floats(*numbers), float(capacity))
    if len(repr(float(capacity)).partition("e")[0].replace(".", "").strip("0")) > 15:
        return  # a sum of 16 digits reads as a binary number
    for k in range(len(numbers) + 1):
        check(exact, decimals, capacity, list(range(k)))
    check(exact, decimals, capacity, data.draw(st.lists(st.integers(0, len(numbers) - 1), unique=True)))


#: Prints with more than 15 digits, so that all numbers beside it are binary ones.
BINARY = 0.1 + 0.2

NUMBERS = st.one_of(st.floats(0, 1), st.floats(0, 1e150), st.floats(0, 1, width=32))


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.one_of(NUMBERS, st.integers(0, 2**63 - 1)), st.data())
def test_binary_numbers_are_what_they_are(numbers: list[float], capacity: float, data: st.DataObject) -> None:
    """Drawn numbers fill a capacity as the fractions that they are."""
    numbers = [BINARY, *numbers]
    exactly = [Fraction(x) for x in numbers]
    sums = [float(s) for k in range(len(numbers)) if Fraction(float(s := sum(exactly[:k], Fraction(0)))) == s]
    capacity = data.draw(st.sampled_from([capacity, *sums]))
    exact = exact_weights(floats(*numbers), capacity)
    for k in range(len(numbers) + 1):
        check(exact, exactly, Fraction(capacity), list(range(k)))


@given(
    st.lists(st.one_of(st.integers(0, 100), st.integers(0, 2**63 - 1)), min_size=1, max_size=6),
    st.one_of(st.integers(0, 2**63 - 1), st.floats(0, 1e30), st.floats(0, 300)),
)
@example([2**62, 2**62 - 1], 2**63 - 1)
@example([2**53 + 1], 2.0**53)  # float64 cannot tell the two apart
@example([1, 2, 1], 3.9)
def test_integers_are_integers(numbers: list[int], capacity: float) -> None:
    """Integers of 64 bits fill any capacity as integers do, and keep all their digits."""
    array, fractions, total = np.array(numbers, dtype=np.int64), [*map(Fraction, numbers)], sum(numbers)
    exact = exact_weights(array, capacity)
    for k in range(len(numbers) + 1):
        check(exact, fractions, Fraction(capacity), list(range(k)))
    check(exact_weights(array, total), fractions, Fraction(total), [0])


@given(st.lists(st.integers(-(10**9), 10**9), max_size=20), st.integers(0, 6))
def test_decimals_sum_as_on_paper(units: list[int], digits: int) -> None:
    """The sum of what a file writes is the number that a person would write below it."""
    numbers = floats(*[float(Fraction(x, 10**digits)) for x in units])
    assert exact_sum(numbers) == float(Fraction(sum(units), 10**digits))


def test_sums_are_rounded_once_if_at_all() -> None:
    """Whole numbers of any size are exact, decimals far apart too; binary numbers are what they are."""
    assert exact_sum(np.array([2**62, 2**62, 1])) == 2**63 + 1
    assert exact_sum(floats(0.1, 0.2)) == 0.3
    assert exact_sum(floats(0.2, 0.7)) == 0.9
    assert exact_sum(floats(1e14, 0.1, 0.2, -1e14)) == 0.3
    assert exact_sum(floats(1 / 3, 1e16, -1e16)) == 1 / 3
    assert (exact_sum(floats()), type(exact_sum(floats()))) == (0.0, float)
