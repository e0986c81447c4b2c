"""Strict JSON: one object, a list of objects, or one object a line; errors with lines."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import replace
from functools import lru_cache
from json import JSONDecodeError
from typing import Any, NamedTuple, NoReturn

from nsa_cli.core.errors import InputError, shown, visible
from nsa_cli.core.record import Record, Source, locator

_WHITESPACE = " \t\n\r"


def looks_like_json(source: Source) -> bool:
    """Recognise JSON by its first character."""
    return source.text.lstrip()[:1] in ("{", "[")


class JsonValue(NamedTuple):
    """One JSON value of a text.

    Attributes
    ----------
    value : object
    source : Source
    start : int
        Position of its first character.
    """

    value: Any
    source: Source
    start: int

    def records(self) -> list[Record]:
        """Give the objects that the value is, or a list of.

        Errors in an object name the line where it begins; of a list its number, and what they say of the key
        and the element.
        """
        value, source = self.value, self.source
        if isinstance(value, dict):
            return [Record(value, source, locator({}, self.line))]
        if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
            return [Record(x, replace(source, name=f"{source.name}[{i}]")) for i, x in enumerate(value, 1)]
        kinds = {list: "a list of something else", str: "a text", bool: "a truth value"}
        what = "an empty list" if value == [] else kinds.get(type(value), "a number")
        raise self.error(f"expected a JSON object or a list of objects, got {what}")

    @property
    def line(self) -> int:
        """Line in which it begins."""
        return _line(self.source.text, self.start)

    def error(self, message: str, **hints: Any) -> InputError:
        """Make an error that points to the value."""
        return self.source.error(message, self.line, **hints)


def read_values(source: Source) -> list[JsonValue | InputError]:
    """Read all values of a JSON text; of one value a line, one that is malformed is an error of its own.

    Raises
    ------
    InputError
        If it is not strict JSON.
    """
    try:
        return [*_values(source)]
    except InputError as error:
        found = _values_by_line(source)
        if found is None:
            raise error from None
        return found


def _values_by_line(source: Source) -> list[JsonValue | InputError] | None:
    """Read a value a line; None unless most of the lines are objects."""
    found: list[JsonValue | InputError] = []
    start, objects = 0, 0
    for number, line in enumerate(source.text.split("\n"), start=1):
        if line.strip():
            try:
                ((value, _, begin),) = _values(replace(source, text=line))
                objects += isinstance(value, dict)
                found.append(JsonValue(value, source, start + begin))
            except InputError as error:
                found.append(source.error(error.message, number))
            except ValueError:
                found.append(source.error("not valid JSON: more than one value in the line", number))
        start += len(line) + 1
    return found if 2 * objects >= len(found) > 1 else None


def read_records(source: Source) -> list[Record]:
    """Read all objects of a JSON text.

    Raises
    ------
    InputError
        If it is not strict JSON, or something in it is no object.
    """
    return [record for value in _values(source) for record in value.records()]


def loads(source: Source) -> Any:
    """Read a text that is one JSON value.

    Raises
    ------
    InputError
        If it is not strict JSON, or more than one value.
    """
    first, *more = _values(source)
    if more:
        raise more[0].error("expected one JSON value, got several")
    return first.value


def _values(source: Source) -> list[JsonValue]:
    """All JSON values of a text."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    text, values = source.text, []
    halves = _HALF_CHARACTER.search(text) is not None
    position = _skip(text, 0)
    while position < len(text):
        start = position
        try:
            value, position = decoder.raw_decode(text, position)
        except JSONDecodeError as error:
            raise source.error(f"not valid JSON: {error.msg}", error.lineno) from None
        except RecursionError:
            raise source.error("not valid JSON: nested too deeply", _line(text, start)) from None
        except ValueError:  # a hook's refusal, or an integer of more digits than Python converts
            message, position = _fault(text, start)
            raise source.error(f"not valid JSON: {message}", _line(text, position)) from None
        if halves:
            _refuse_halves(value, source, start)
        values.append(JsonValue(value, source, start))
        position = _skip(text, position)
    return values


def dumps(value: Any) -> str:
    """Write strict JSON that any reader and any terminal takes; NaN and infinities are errors, not text.

    Halves of characters, which the names of files may hold, are written as `visible` shows them.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if (text.isascii() and "\x7f" not in text) or _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(lambda found: visible(found[0]).replace("\\", "\\\\"), _CONTROL.sub(_escape, text))


def ascii_only(text: str) -> str:
    """Write JSON in ASCII: other characters as escapes."""
    return _FOREIGN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


#: Half of a character, as it is in Python; control characters that JSON lets through, or not; all but ASCII.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")
_FOREIGN = re.compile("[^\x00-\x7f]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("duplicate key")
    return result


#: Half of a character that takes two: no text can hold it alone.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse_halves(value: Any, source: Source, start: int) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        line = _line(source.text, start)
        raise source.error("not valid JSON: a \\u escape that is half a character", line) from None


# --- where a fault stands ---------------------------------------------------------------------------
# The hooks of the standard library's decoder know no positions, so the text is scanned again for a refusal.

_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]++|\\.)*+")(?P<colon>\s*:)?|[{}]|(?P<constant>NaN|-?Infinity)|(?P<digits>[0-9]++)'
)
#: Digits of the longest integer that Python converts.
_MOST_DIGITS = 4300


def _fault(text: str, start: int) -> tuple[str, int]:
    """Find the refused token and its position; the text is well-formed up to there."""
    objects: list[set[str]] = []
    for found in _TOKEN.finditer(text, start):
        token = found.group()
        if token == "{":
            objects.append(set())
        elif token == "}":
            objects.pop()
        elif found["constant"]:
            return f"{token} is not a JSON number", found.start()
        elif found["digits"] and len(token) > _MOST_DIGITS:
            return f"an integer of {len(token)} digits", found.start()
        elif found["colon"]:
            key = json.loads(found["string"])
            if key in objects[-1]:
                return f"key {shown(key)} occurs twice in one object", found.start()
            objects[-1].add(key)
    return "refused", start


_BLANKS = re.compile(f"[{_WHITESPACE}]*")


def _skip(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    assert found is not None
    return found.end()


def _line(text: str, position: int) -> int:
    return bisect_left(_breaks(text), position) + 1


@lru_cache(maxsize=1)
def _breaks(text: str) -> list[int]:
    """Positions of the line breaks of the text that errors are now about."""
    return [found.start() for found in re.finditer("\n", text)]
