"""Texts of options become typed values, or an error that names the option."""

import numpy as np
import pytest

from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import (
    Patience,
    Steps,
    parse_chains,
    parse_choice,
    parse_count,
    parse_gap,
    parse_number,
    parse_patience,
    parse_seconds,
    parse_seed,
    parse_steps,
    parse_temperature,
    parse_text,
)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        *(("20000", 20000), (" 2_000 ", 2000), ("0", 0), ("1e6", 1_000_000), ("2.5E3", 2500)),
        *((1e6, 1_000_000), ("10N", 500), ("10n", 500), ("N2", 2500), ("10N2", 25000), ("10N^2", 25000)),
        *(("10*N**2", 25000), ("0.5N", 25), ("2N3", 250000), (7, 7), (np.int64(7), 7)),
    ],
)
def test_steps_are_read_in_terms_of_the_size(text, steps):
    """Numbers, and multiples of N, N^2 and N^3 with N = 50; what is read reads back as the same."""
    found = parse_steps("steps", text)
    assert found.of(50) == steps
    assert parse_steps("steps", found.plain()) == found
    assert parse_steps("steps", found) is found


@pytest.mark.parametrize(
    "text", ["", "ten", "-5", "10M2", "1e99", "1e-3", "N5", "10N2x", "1.5", -5, True, 2.5]
)
def test_other_steps_are_refused(text):
    """What is no number of steps is shown to the user."""
    with pytest.raises(UsageError, match=r"^steps: expected"):
        parse_steps("steps", text)


@pytest.mark.parametrize(
    ("text", "patience"),
    [
        *(("5000", Patience(Steps(5000))), ("10N", Patience(Steps(10.0, 1))), (40, Patience(Steps(40)))),
        *(("2s", Patience(seconds=2.0)), (".5 s", Patience(seconds=0.5))),
    ],
)
def test_patience_is_steps_or_seconds(text, patience):
    """An ``s`` behind the number makes it seconds."""
    assert parse_patience("no_improvement", text) == patience
    assert parse_patience("no_improvement", patience.plain()) == patience


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2m", 120), ("1h", 3600), (".5s", 0.5), ("3", 3), (3, 3), (None, None)],
)
def test_times_have_units(text, seconds):
    """Seconds without one."""
    assert parse_seconds("time_limit", text) == seconds


@pytest.mark.parametrize(
    ("text", "value"), [("1%", 0.01), ("0.01", 0.01), (0.5, 0.5), ("0", 0.0), (None, None)]
)
def test_gaps_are_shares_or_per_cents(text, value):
    """As people write them."""
    assert parse_gap("gap", text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("parse", "bad"),
    [
        *((parse_chains, "many"), (parse_chains, 0), (parse_count, "0"), (parse_count, 1.5)),
        *((parse_gap, "-1%"), (parse_gap, "near"), (parse_number, float("nan")), (parse_number, "soon")),
        *((parse_patience, "s"), (parse_patience, "soon"), (parse_seconds, -1)),
        *((parse_seconds, float("inf")), (parse_seconds, "nan"), (parse_seed, -1)),
        *((parse_seed, 2**63), (parse_seed, True)),
        *((parse_temperature, "hot"), (parse_temperature, float("nan")), (parse_temperature, -1.0)),
        (parse_text, 5),
        (lambda option, value: parse_choice(option, value, ("a", "b")), "c"),
    ],
)
def test_an_error_names_the_option_and_what_was_expected(parse, bad):
    """In Python's spelling, with the value that was given."""
    with pytest.raises(UsageError, match=r"^some_option: expected .*, got ") as caught:
        parse("some_option", bad)
    assert caught.value.option == "some_option"


def test_auto_leaves_the_choice_to_the_solver():
    """Of chains, as nothing does; of temperatures it is a wish."""
    assert parse_chains("chains", "auto") is None
    assert parse_temperature("t_start", "auto") == "auto"
    assert parse_temperature("t_start", "0.5") == 0.5
