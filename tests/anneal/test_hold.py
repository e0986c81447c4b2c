"""What policies are shown of the temperatures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsa_cli.anneal.schedule import TemperatureHold


def test_a_policy_is_shown_each_steps_own_temperature_unless_told_otherwise():
    temperatures = np.geomspace(1.0, 0.1, 50)
    assert (TemperatureHold(1).shown(7, temperatures) == temperatures).all()


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
