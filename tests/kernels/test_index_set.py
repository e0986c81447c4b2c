"""Unordered sets of indices in compiled code."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from nsa_cli.kernels.index_set import toggle_member


@njit
def toggle_all(members, place, counts, indices):
    """Toggle one after the other."""
    for k in indices:
        toggle_member(members, place, counts, 1, k)


@given(st.lists(st.integers(0, 9), max_size=60))
@settings(max_examples=50, deadline=None)
def test_members_are_those_toggled_an_odd_number_of_times(indices: list[int]) -> None:
    """And each knows its place."""
    members, place, counts = np.zeros(10, np.int64), np.full(10, -1), np.zeros(2, np.int64)
    toggle_all(members, place, counts, np.array(indices, dtype=np.int64))
    expected = sorted(k for k in range(10) if indices.count(k) % 2)
    found = members[: counts[1]].tolist()
    assert sorted(found) == expected
    assert counts[0] == 0
    assert [place[k] for k in found] == list(range(len(found)))
    assert (place >= 0).sum() == len(found)
