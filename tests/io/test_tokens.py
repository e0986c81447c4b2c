"""Numbers and tokens as old text files have them."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsa_cli.core.errors import InputError
from nsa_cli.core.record import Source
from nsa_cli.io.tokens import read_all, read_number, shape, split_lines, to_count, to_number


@pytest.mark.parametrize(
    ("token", "value"),
    [
        *(("12", 12), ("+7", 7), ("-3", -3), ("007", 7), ("3.", 3), (".5", 0.5), ("-0.25", -0.25)),
        *(("1e3", 1000), ("1.11630e+03", 1116.3), ("1D3", 1000), ("4.0", 4), ("1.000e+00", 1)),
        *(("1e17", 1e17), ("2.5d-1", 0.25), ("1e-400", 0), ("12345678901234567890", 12345678901234567890)),
        ("1" * 50, int("1" * 50)),
    ],
)
def test_numbers(token: str, value: float) -> None:
    """A token is the number it spells, an integer where it is whole, however written."""
    assert read_number(token) == value
    assert type(read_number(token)) is type(value)


@pytest.mark.parametrize(
    "token",
    [
        *("", "-", ".", "e5", "1e", "nan", "NaN", "inf", "-Infinity", "1_000", "0x10", "1,5", "1 2", "٣"),
        *("²", "1e400", "1e99999", "1e999999", "1.2.3", "--1", "1-2", "9" * 4001),
    ],
)
def test_not_numbers(token: str) -> None:
    """What Python might read but no file means, or what is no finite number, is none."""
    assert read_number(token) is None


@pytest.mark.parametrize("token", ["1" * 200_000 + "x", "1." + "1" * 200_000 + "x", "1e" + "1" * 200_000])
def test_long_tokens_take_no_time(token: str) -> None:
    """Refusing a token is linear in its length."""
    begin = time.perf_counter()
    assert read_number(token) is None
    assert time.perf_counter() - begin < 1.0


def test_lines_are_counted_from_one_and_blank_ones_skipped() -> None:
    """Blank lines hold no tokens but count."""
    lines = split_lines(Source("f", "", "\n 1\t2 \n\n3\n"))
    assert [(line.tokens, line.number) for line in lines] == [(["1", "2"], 2), (["3"], 4)]


@pytest.mark.parametrize(
    ("text", "suffix", "expected"),
    [
        *(("3 4\n1 2 3\n", "", (2, 3)), ("3 x\n1\n", "", (0, 1)), ("\n\n5\n", ".txt", (1,))),
        ("3 4\n1 2\n", ".csv", ()),
    ],
)
def test_shape(text: str, suffix: str, expected: tuple[int, ...]) -> None:
    """Lines of numbers have their width, others 0; a table is not taken for a list."""
    assert shape(Source("f", suffix, text), 2) == expected


def test_errors_name_line_and_meaning() -> None:
    """A token that is no number, or no count, is named with what it should be."""
    source = Source("f.txt", "", "x")
    with pytest.raises(InputError, match=r"^f\.txt:7: weight: expected a number, got 'x'$"):
        to_number(source, "x", 7, "weight")
    for token in ("0", "-1", "1.5", "x"):
        with pytest.raises(InputError, match=r"^f\.txt:2: n: expected a positive integer, got "):
            to_count(source, token, 2, "n")
    assert [to_count(source, token, 2, "n") for token in ("3", "3.0", "3.000e+00")] == [3, 3, 3]
    assert math.isclose(to_number(source, "1e-1", 1, "x"), 0.1)


# --- all at once ---------------------------------------------------------------------------------------

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
