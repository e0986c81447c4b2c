"""Means, errors and gaps against values worked out by hand."""

import numpy as np
import pytest

from nsa_cli.bench import statistics


def test_half_width_of_two_values():
    """With one degree of freedom t is tan(0.475 pi) = 12.7062; the deviation of 0 and 2 is the root of 2."""
    assert statistics.half_width(np.array([0.0, 2.0])) == pytest.approx(np.tan(0.475 * np.pi))


def test_half_width_tends_to_the_normal_quantile():
    """For many values Student's t is 1.96."""
    values = np.tile([-1.0, 1.0], 5000)
    assert statistics.half_width(values) == pytest.approx(1.96 / 100, rel=1e-3)


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
    gaps = statistics.relative_gaps(np.array([11.0, 5.0, 7.0]), np.array([10.0, 10.0, 7.0]), sense)
    assert gaps == pytest.approx(expected)


def test_gaps_to_zero():
    """Reaching a reference of zero is no distance; anything else has no relative one."""
    gaps = statistics.relative_gaps(np.array([0.0, 1.0]), np.array([0.0, 0.0]), "min")
    assert gaps[0] == 0
    assert np.isnan(gaps[1])
    assert statistics.mean(gaps) is None


def test_a_negative_reference_keeps_the_sign():
    """Relative to its size, so that worse is positive for negative objectives too."""
    assert statistics.relative_gaps(np.array([-9.0]), np.array([-10.0]), "min") == pytest.approx([0.1])


def test_mean_of_nothing_is_none():
    """No instances, no mean."""
    assert statistics.mean(np.array([])) is None
    assert statistics.mean(np.array([1.0, 3.0])) == 2


@pytest.mark.parametrize(("sense", "expected"), [("min", 2.0), ("max", -2.0)])
def test_better_is_positive(sense, expected):
    """Three against five is better when minimising."""
    assert statistics.better_by(3.0, 5.0, sense) == expected


def test_best_of_several_runs():
    """Instance by instance."""
    runs = [np.array([1.0, 5.0]), np.array([2.0, 4.0])]
    assert statistics.best_of(runs, "min").tolist() == [1, 4]
    assert statistics.best_of(runs, "max").tolist() == [2, 5]
