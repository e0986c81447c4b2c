"""Means, errors and gaps against values worked out by hand."""

import numpy as np
import pytest
from scipy.special import stdtrit

from nsa_cli.bench import statistics


def test_half_width_of_two_values():
    """With one degree of freedom t is tan(0.475 pi) = 12.7062; the deviation of 0 and 2 is the root of 2."""
    assert statistics.half_width(np.array([0.0, 2.0])) == pytest.approx(np.tan(0.475 * np.pi))


def test_half_width_tends_to_the_normal_quantile():
    """For many values Student's t is 1.96."""
    values = np.tile([-1.0, 1.0], 5000)
    assert statistics.half_width(values) == pytest.approx(1.96 / 100, rel=1e-3)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 99, 1000])
def test_students_quantiles_are_scipys(degrees):
    """Of an even and of an odd number of degrees, from the middle outwards."""
    for probability in (0.5, 0.6, 0.975, 0.9995):
        expected = stdtrit(degrees, probability)
        assert statistics.student_quantile(probability, degrees) == pytest.approx(
            expected, abs=1e-12, rel=1e-11
        )


def test_one_value_has_no_error():
    """Nothing is made up where nothing can be estimated."""
    assert statistics.half_width(np.array([3.0])) is None
    assert statistics.spread(np.array([3.0])) is None


def test_spread_is_the_sample_deviation():
    """The mean squared distance is taken over n - 1."""
    assert statistics.spread(np.array([1.0, 2.0, 3.0])) == 1.0


@pytest.mark.parametrize(("sense", "expected"), [("min", [0.1, -0.5, 0.0]), ("max", [-0.1, 0.5, 0.0])])
def test_gaps_are_positive_where_worse(sense, expected):
    """Above the reference is worse when minimising, and better when maximising."""
    gaps = [statistics.relative(*pair, sense) for pair in ((11.0, 10.0), (5.0, 10.0), (7.0, 7.0))]
    assert gaps == pytest.approx(expected)


def test_gaps_to_zero():
    """Reaching a reference of zero is no distance; anything else has no relative one."""
    assert statistics.relative(0.0, 0.0, "min") == 0
    assert np.isnan(statistics.relative(1.0, 0.0, "min"))


def test_rounding_is_no_gap():
    """A sum of the same numbers in another order."""
    assert statistics.relative(0.1 + 0.2, 0.3, "min") == 0


def test_a_negative_reference_keeps_the_sign():
    """Relative to its size, so that worse is positive for negative objectives too."""
    assert statistics.relative(-9.0, -10.0, "min") == pytest.approx(0.1)


def test_a_missing_value_makes_a_mean_unknown():
    """And the error of the mean."""
    values = np.array([1.0, np.nan])
    assert statistics.mean(values) is None
    assert statistics.half_width(values) is None


def test_means_by_key():
    """Of equal keys, in their order."""
    means = statistics.means_by(np.array([2, 1, 2]), np.array([1.0, 5.0, 3.0]))
    assert means.tolist() == [5.0, 2.0]


def test_mean_of_nothing_is_none():
    """No instances, no mean."""
    assert statistics.mean(np.array([])) is None
    assert statistics.mean(np.array([1.0, 3.0])) == 2


@pytest.mark.parametrize(("sense", "expected"), [("min", 2.0), ("max", -2.0)])
def test_better_is_positive(sense, expected):
    """Three against five is better when minimising."""
    assert statistics.better_by(3.0, 5.0, sense) == expected
