"""Temperatures: over steps and time, and as policies see them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsa_cli.anneal.schedule import KINDS, Schedule, TemperatureHold, TimedSchedule
from nsa_cli.core.errors import UsageError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [1, 2, 3, 1000])
def test_the_first_temperature_is_t_start_and_the_last_t_end(kind, steps):
    """Of K steps the first sees T0 and the last TK; a constant schedule stays at T0."""
    temperatures = Schedule(steps, 0.7, 0.01, kind).temperatures(0, steps)
    assert len(temperatures) == steps
    assert temperatures[0] == 0.7
    if steps > 1:
        assert temperatures[-1] == (0.7 if kind == "constant" else 0.01)


def test_geometric_falls_by_one_factor_and_linear_by_one_difference():
    """Neighbouring temperatures have a constant ratio, or a constant difference."""
    geometric = Schedule(50, 1.0, 0.1, "geometric").temperatures(0, 50)
    np.testing.assert_allclose(geometric[1:] / geometric[:-1], 0.1 ** (1 / 49))
    linear = Schedule(11, 1.0, 0.0, "linear").temperatures(0, 11)
    np.testing.assert_allclose(linear, np.arange(10, -1, -1) / 10)


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_join_to_the_whole(kind):
    """A schedule cut anywhere is the same schedule."""
    schedule = Schedule(37, 2.0, 0.05, kind)
    parts = [schedule.temperatures(a, b) for a, b in ((0, 1), (1, 20), (20, 36), (36, 37))]
    np.testing.assert_array_equal(np.concatenate(parts), schedule.temperatures(0, 37))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((-1,), "steps"),
        ((10, -1.0, 0.1), "t_start"),
        ((10, 1.0, float("nan")), "t_end"),
        ((10, 1.0, 0.0), "geometric"),
        ((10, 1.0, 0.1, "quadratic"), "schedule"),
    ],
)
def test_impossible_schedules_are_refused_by_name(arguments, word):
    """The message says which number is wrong."""
    with pytest.raises(UsageError, match=word):
        Schedule(*arguments)


def test_a_span_of_time_goes_on_at_the_pace_so_far(monkeypatch):
    """After 100 steps in a quarter of the time, 400 take it all; before the first there is no pace."""
    monkeypatch.setattr("nsa_cli.anneal.schedule.time.monotonic", lambda: 12.5)
    timed = TimedSchedule.of(Schedule(1, 1.0, 0.01), began=10.0, until=20.0)
    expected = Schedule(401, 1.0, 0.01).temperatures(100, 116)
    np.testing.assert_allclose(timed.temperatures(100, 116), expected)
    many = timed.temperatures(100, 1000)
    assert (np.diff(many) <= 0).all()
    np.testing.assert_allclose([many[0], many[-1]], [0.01**0.25, 0.01])
    assert len(set(timed.temperatures(0, 50))) == 1
    assert len(timed.temperatures(100, 100)) == 0


@given(
    steps=st.integers(1, 20),
    cuts=st.lists(st.integers(0, 100), max_size=8),
)
def test_it_is_that_of_every_so_many_steps_whatever_the_chunks(steps, cuts):
    temperatures, held = np.geomspace(1.0, 0.1, 100), TemperatureHold(steps)
    begins = [0, *sorted(cuts)]
    shown = [held.shown(a, t) for a, t in zip(begins, np.split(temperatures, sorted(cuts)), strict=True)]
    assert np.concatenate(shown) == pytest.approx(temperatures[np.arange(100) // steps * steps], abs=0)


def test_steps_that_begin_in_the_middle_are_shown_the_first_that_is_known():
    assert (TemperatureHold(4).shown(6, np.array([0.5, 0.4, 0.3, 0.2])) == [0.5, 0.5, 0.3, 0.3]).all()
