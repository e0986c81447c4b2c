"""JSON is strict both ways, and its errors know their lines."""

from __future__ import annotations

import json
import math
import time

import pytest

from nsa_cli.core.errors import DataError, InputError
from nsa_cli.core.record import Source
from nsa_cli.io.json_text import dumps, loads, looks_like_json, read_records


def source(text: str) -> Source:
    return Source("f.json", ".json", text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('{"name": "a"}', ["a"]),
        ('[{"name": "a"}, {"name": "b"}]', ["a", "b"]),
        ('{"name": "a"}\n{"name": "b"}\n', ["a", "b"]),
        ('\n\n {"name": "a"}\n\n[{"name": "b"}]\n', ["a", "b"]),
        ("{}", [None]),
    ],
    ids=["object", "list", "lines", "mixed", "empty object"],
)
def test_objects_lists_and_lines(text: str, names: list[str | None]) -> None:
    """One object, a list of them, or one a line are the same to a reader."""
    assert [record.data.get("name") for record in read_records(source(text))] == names


@pytest.mark.parametrize(("text", "yes"), [(" \n{", True), ("[1", True), ("1 2", False), ('"a"', False)])
def test_recognised_by_the_first_character(text: str, yes: bool) -> None:
    """Objects and lists are JSON; a number is more likely a text file."""
    assert looks_like_json(source(text)) is yes


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{"a": 1,\n "b" 2}', 2, "not valid JSON: Expecting ':' delimiter"),
        ('{"a": [1,\n2,\n3', 3, "not valid JSON: Expecting ',' delimiter"),
        ('{"a": 1}\n{"a": 01}', 2, "not valid JSON: "),
        ('{"w": [1,\n2,\nNaN]}', 3, "not valid JSON: NaN is not a JSON number"),
        ('{"n": "NaN",\n"w": [1,\n-Infinity]}', 3, "not valid JSON: -Infinity is not a JSON number"),
        ('[{"a": 1},\n{"b": {"a": 1},\n"c": 2,\n"b": 3}]', 4, "not valid JSON: key 'b' occurs twice in one"),
        ('{"a": 1,\n"\\u0061": 2}', 2, "not valid JSON: key 'a' occurs twice in one object"),
        ('{"a":\n' + "1" * 5000 + "}", 2, "not valid JSON: an integer of 5000 digits"),
        ('{}\n{"name": "\\ud800"}', 2, "not valid JSON: a \\u escape that is half a character"),
        ("{}\n" + "[" * 100_000, 2, "not valid JSON: nested too deeply"),
        ('{}\n"a"', 2, "expected a JSON object or a list of objects, got a text"),
        ("{}\n[]", 2, "expected a JSON object or a list of objects, got an empty list"),
        ("[{}, 1]", 1, "expected a JSON object or a list of objects, got a list of something else"),
        ("{}\n\n3", 3, "expected a JSON object or a list of objects, got a number"),
        ("{}\ntrue", 2, "expected a JSON object or a list of objects, got a truth value"),
    ],
)
def test_faults_have_lines(text: str, line: int, message: str) -> None:
    """What is not strict JSON, or no object, is refused in its own line of the file."""
    with pytest.raises(InputError) as caught:
        read_records(source(text))
    assert (caught.value.line, caught.value.message[: len(message)]) == (line, message)
    assert "\n" not in str(caught.value)


def test_a_pair_of_halves_is_a_character() -> None:
    """Two escapes that make one character are fine."""
    assert loads(source('["\\ud83d\\ude00"]')) == ["😀"]


def test_many_keys_take_no_time() -> None:
    """Finding the double key among many is linear."""
    text = "{" + ",".join(f'"k{i}": 0' for i in range(100_000)) + ',\n"k99999": 1}'
    begin = time.perf_counter()
    with pytest.raises(InputError, match=r"^f\.json:2: .*'k99999' occurs twice"):
        read_records(source(text))
    assert time.perf_counter() - begin < 3.0


def test_one_value_only() -> None:
    """A text that should be one value is not two."""
    assert loads(source("[1, 2]\n")) == [1, 2]
    with pytest.raises(InputError, match=r"^f\.json:2: expected one JSON value, got several$"):
        loads(source("[1]\n[2]"))


TWO = """[
  {"name": "one", "weights": [1, 2]},
  {
    "name": "tw[o\\"",
    "nested": {"weights": [
      0, 0]},
    "weights": [
      1,
      [2, 3],
      4, 5,
      6
    ],
    "capacity":
      7
  }
]"""


@pytest.mark.parametrize(
    ("which", "key", "index", "line"),
    [
        *((0, None, None, 2), (0, "weights", 1, 2), (1, None, None, 3), (1, "name", None, 4)),
        *((1, "weights", None, 7), (1, "weights", 0, 8), (1, "weights", 1, 9), (1, "weights", 3, 10)),
        *((1, "weights", 4, 11), (1, "capacity", None, 14), (1, "nothing", 3, 3)),
    ],
)
def test_elements_have_lines(which: int, key: str | None, index: int | None, line: int) -> None:
    """An element of a list is found in the object and the line where it stands."""
    assert read_records(source(TWO))[which].locate(key, index) == line


def test_lines_in_json_lines() -> None:
    """In JSON lines the line is that of the file."""
    records = read_records(source('{"w": [1]}\n\n{"w": [1,\n2]}\n'))
    assert [record.locate("w", len(record.data["w"]) - 1) for record in records] == [1, 4]


def test_build_points_into_the_file() -> None:
    """An objection to the data becomes an error with file and line."""

    def object_to(_data: object) -> None:
        raise DataError("too heavy", "weights", 4)

    with pytest.raises(InputError, match=r"^f\.json:11: too heavy$"):
        read_records(source(TWO))[1].build(object_to)


@pytest.mark.parametrize("value", [math.nan, math.inf, [1, -math.inf]])
def test_writing_is_strict(value: object) -> None:
    """NaN and infinities are never written."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps(value)


def test_writing_keeps_digits_and_letters() -> None:
    """Numbers are written with all their digits, letters as they are."""
    value = {"ö": [0.1, 2**53 + 1, 1e-300, 0.1 + 0.2]}
    assert json.loads(dumps(value)) == value
    assert "ö" in dumps(value)
