"""What is shown of a user's text."""

import pytest

from nsa_cli.core.errors import visible
from nsa_cli.core.record import Source
from nsa_cli.io.json_text import ascii_only, dumps, loads


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(("Zoë 😀 a\u00a0b", "Zoë 😀 a\u00a0b"), ("\x1b[31mred", r"\x1b[31mred")),
        *(("a\nb\tc\x07", r"a\nb\tc\x07"), ("\x9b31m\x7f", r"\x9b31m\x7f"), ("ab\u202edc", r"ab\u202edc")),
        *(("b\udce9r", r"b\xe9r"), ("\ud800", r"\ud800")),
    ],
)
def test_what_steers_a_terminal_is_shown_as_an_escape(text, shown):
    """And half a character, which none can show; the rest stays as it is."""
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize("text", ["é😀", "\x1b\x7f\x9b\u2028", "plain", 'a"b\\c', "\n"])
def test_json_is_safe_and_loses_nothing(text):
    """On a terminal, and in ASCII."""
    written = dumps([text])
    assert all(c not in written for c in "\x1b\x7f\x9b\u2028")
    assert loads(Source("f", "", written)) == loads(Source("f", "", ascii_only(written))) == [text]
    assert ascii_only(written).isascii()


def test_json_of_half_a_character_can_be_written_and_read():
    """As the name of a file may have it."""
    assert loads(Source("f", "", dumps({"file": "b\udce9r"}))) == {"file": r"b\xe9r"}
    dumps(["\ud83d"]).encode()
