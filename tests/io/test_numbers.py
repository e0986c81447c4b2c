"""Numbers that are read together are what they are one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsa_cli.io.tokens import read_all, read_number

#: What numbers are made of, and nearly.
PIECES = st.sampled_from(
    ["0", "1", "9", ".", "-", "+", "e", "E", "d", "_", " ", "\n", "inf", "nan", "5", "00000"]
)
TOKENS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-(10**6), 10**6).map(lambda x: f"{x}.0"),
    st.lists(PIECES, max_size=6).map("".join),
)


@given(st.lists(TOKENS, max_size=8))
def test_all_at_once_is_one_by_one(tokens):
    """The same numbers of the same types, or nothing."""
    found, expected = read_all(tokens), [read_number(token) for token in tokens]
    if found is not None:
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))


@pytest.mark.parametrize(
    "tokens",
    [["1", "-2", "+3"], ["0.5", "1e3", ".5", "5."], ["9007199254740993", "0.5"], ["-0.0", "4.0"], []],
)
def test_plain_numbers_are_read_at_once(tokens):
    """Integers stay exact beside decimals, and whole decimals are integers."""
    assert read_all(tokens) == [read_number(token) for token in tokens]


@pytest.mark.parametrize(
    "token", ["", "1_0", "nan", "1e999", "1d3", "1 ", "1\n2", "٣", "1e0000001", "--1", "1-2"]
)
def test_what_is_not_plain_is_left(token):
    """To be looked at one by one."""
    assert read_all(["1", token, "2.5"]) is None
