"""Configurations: plain names and values, and no more work than their length."""

import time

import pytest

from nsa_cli.core.errors import InputError
from nsa_cli.io.yaml_text import read_yaml

PAIRS = zip("abcdefgh", "bcdefghi", strict=True)
LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in PAIRS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(("a: !!int ''", "not valid YAML"), ("a: !!float ''", "not valid YAML")),
        *(("a: !!bool foo", "not valid YAML"), ("a: !!timestamp foo", "not valid YAML")),
        ("a: !!python/object:os.system x", "could not determine a constructor"),
        ("a: " + "9" * 5000, "not valid YAML"),
        ("a: &a [*a]", "aliases"),
        (LAUGHS, "2: aliases"),
        ("set: &a {b: 1}\nx: *a", "aliases"),
        ("a: " + "[" * 3000, "nested too deeply"),
        ("- " * 3000, "nested too deeply"),
        ("seed: 1\nseed: 2", ":2: 'seed' occurs twice"),
        ("set: {a: 1, a: 2}", "'a' occurs twice"),
        ("{[]: 1}", "not valid YAML"),
        ("a: {b", "not valid YAML"),
        ("[1, 2]", "expected names with values"),
        ("a: 1\n" * 20_000, "too large"),
    ],
)
def test_what_is_no_plain_mapping_is_refused(tmp_path, text, message):
    """In one line, at once."""
    path, begin = tmp_path / "c.yaml", time.monotonic()
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_yaml(str(path))
    assert "\n" not in str(caught.value)
    assert time.monotonic() - begin < 3


def test_names_with_values_are_read(tmp_path):
    """Of any plain kind; an empty file has none."""
    path = tmp_path / "c.yaml"
    path.write_text("steps: 10N\nset: {a: 1.5, b: [1, x]}\nquiet: true\n")
    assert read_yaml(str(path)) == {"steps": "10N", "set": {"a": 1.5, "b": [1, "x"]}, "quiet": True}
    path.write_text("# nothing\n")
    assert read_yaml(str(path)) == {}
