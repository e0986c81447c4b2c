"""Strict JSON: one object, a list of objects, or one object a line; errors with lines."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from json import JSONDecodeError
from typing import Any, NamedTuple, NoReturn

from nsa_cli.core.errors import InputError, shown, visible
from nsa_cli.core.record import Locate, Record, Source

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
        """Give the objects that the value is, or a list of."""
        return _records(self.value, self.source, self.start)

    @property
    def line(self) -> int:
        """Line in which it begins."""
        return _line(self.source.text, self.start)

    def line_of(self, element: int) -> int:
        """Line in which an element of a list begins."""
        text = self.source.text
        return _line(text, next(islice(_elements(text, self.start), element, None)))

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
        return [JsonValue(value, source, start) for value, start in _values(source)]
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
                ((value, _),) = _values(replace(source, text=line))
                objects += isinstance(value, dict)
                found.append(JsonValue(value, source, start + len(line) - len(line.lstrip(_WHITESPACE))))
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
    return [record for value, start in _values(source) for record in _records(value, source, start)]


def loads(source: Source) -> Any:
    """Read a text that is one JSON value.

    Raises
    ------
    InputError
        If it is not strict JSON, or more than one value.
    """
    (value, _), *more = _values(source)
    if more:
        raise source.error("expected one JSON value, got several", _line(source.text, more[0][1]))
    return value


def _values(source: Source) -> list[tuple[Any, int]]:
    """All JSON values of a text, each with its position."""
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
        values.append((value, start))
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


def _records(value: Any, source: Source, start: int) -> list[Record]:
    if isinstance(value, dict):
        return [Record(value, source, _locator(source.text, lambda: start))]
    if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
        elements = _Elements(source.text, start)
        return [
            Record(x, source, _locator(source.text, partial(elements.begin, i))) for i, x in enumerate(value)
        ]
    what = {list: "a list of something else", str: "a text", bool: "a truth value"}.get(
        type(value), "a number"
    )
    raise source.error(
        f"expected a JSON object or a list of objects, got {'an empty list' if value == [] else what}",
        _line(source.text, start),
    )


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


# --- where an element stands -----------------------------------------------------------------------
# The decoder of the standard library keeps no positions, so the text is scanned again after an error.

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


class _Elements:
    """Positions of a list's elements, found in one pass over the text when the first one is asked for."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._start = text, start
        self._found: list[int] | None = None

    def begin(self, number: int) -> int:
        """Position of an element."""
        if self._found is None:
            self._found = list(_elements(self._text, self._start))
        return self._found[number]


def _locator(text: str, begin: Callable[[], int]) -> Locate:
    """Locate values of the object that begins at a position."""

    def locate(key: str | None, index: int | None) -> int | None:
        position = begin()
        try:
            if key is not None and (at := _member(text, position, key)) is not None:
                position = at
                if index is not None and text[position] == "[":
                    position = next(islice(_elements(text, position), index, None))
        except (JSONDecodeError, IndexError, RecursionError, StopIteration):
            pass
        return _line(text, position)

    return locate


def _member(text: str, position: int, key: str) -> int | None:
    """Position of the value under `key` in the object that starts at `position`."""
    decoder = json.JSONDecoder()
    position = _skip(text, position + 1)
    while text[position] == '"':
        name, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)  # over the colon
        if name == key:
            return position
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)  # over the comma, or out of the object
    return None


def _elements(text: str, position: int) -> Iterator[int]:
    """Positions of the elements of the list that starts at `position`."""
    decoder = json.JSONDecoder()
    position = _skip(text, position + 1)
    while text[position] != "]":
        yield position
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)


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
