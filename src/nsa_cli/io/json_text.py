"""Strict JSON: one object, a list of objects, or one object a line; errors with lines."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from dataclasses import replace
from functools import lru_cache
from json import JSONDecodeError
from typing import Any, NamedTuple, NoReturn

from nsa_cli.core.errors import InputError, shown, visible
from nsa_cli.core.record import Record, Source

_BLANKS = re.compile(r"[ \t\n\r]*")


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
    line : int
        Line in which it begins.
    """

    value: Any
    source: Source
    start: int
    line: int

    def line_of(self, *path: Hashable) -> int:
        """Line of a part, by keys of objects and positions in lists; of what there is of its path."""
        lines = _lines(self.source, self.start, self.line)
        while path not in lines:
            path = path[:-1]
        return lines[path]

    def record(self, *path: Hashable) -> Record:
        """Give the object in a place as a record."""
        data = self.value
        for key in path:
            data = data[key]

        def locate(key: str | None, index: int | None) -> int:
            return self.line_of(*path) if key is None else self.line_of(*path, key, index)

        return Record(data, self.source, locate)

    def records(self) -> list[Record]:
        """Give the objects that the value is, or a list of.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.value
        if isinstance(value, dict):
            return [self.record()]
        if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
            return [self.record(i) for i in range(len(value))]
        names = {list: "a list of something else", str: "a text", bool: "a truth value"}
        got = "an empty list" if value == [] else names.get(type(value), "a number")
        raise self.error(f"expected a JSON object or a list of objects, got {got}")

    def error(self, message: str) -> InputError:
        """Make an error that points to the value."""
        return self.source.error(message, self.line)


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
        found: list[JsonValue | InputError] = []
        for number, line in enumerate(source.text.split("\n"), start=1):
            try:
                found += _values(replace(source, text=line), number)
            except InputError as fault:  # made anew: what was raised holds on to all that it met
                found.append(source.error(fault.message, fault.line))
        objects = sum(isinstance(x, JsonValue) and isinstance(x.value, dict) for x in found)
        if 2 * objects >= len(found) > 1:
            return found
        raise error from None


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
    value, *more = _values(source)
    if more:
        raise more[0].error("expected one JSON value, got several")
    return value.value


def _values(source: Source, line: int = 1) -> list[JsonValue]:
    """All JSON values of a text that begins in a line."""
    decoder = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_refuse_duplicates)
    text, values, end = source.text, [], 0
    halves = _HALF_CHARACTER.search(text) is not None
    while (start := _BLANKS.match(text, end).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", end, start)
        try:
            value, end = decoder.raw_decode(text, start)
            if halves:
                json.dumps(value, ensure_ascii=False).encode()
        except JSONDecodeError as error:
            at = line + text.count("\n", start, error.pos)
            raise source.error(f"not valid JSON: {error.msg}", at) from None
        except UnicodeEncodeError:
            raise source.error("not valid JSON: a \\u escape that is half a character", line) from None
        except RecursionError:
            raise source.error("not valid JSON: nested too deeply", line) from None
        except ValueError:  # a hook's refusal, or an integer of more digits than Python converts
            _lines(source, start, line)
            raise source.error("not valid JSON", line) from None
        values.append(JsonValue(value, source, start, line))
        line += text.count("\n", start, end)
    return values


#: Half of a character that takes two: no text can hold it alone.
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def _refuse(*_: object) -> NoReturn:
    raise ValueError


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    return result if len(result) == len(pairs) else _refuse()


# --- where a part stands -----------------------------------------------------------------------------
# The decoder of the standard library keeps no positions, so the text is scanned again after an error.

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[][{},]|[^][{},:"\s]++')
#: Digits of the longest integer that Python converts.
_MOST_DIGITS = 4300
#: Keys and positions that lead to an element of a list of an object in a list.
_DEEPEST = 3


@lru_cache(maxsize=1)
def _lines(source: Source, start: int, line: int) -> dict[tuple[Hashable, ...], int]:
    """Find the line of each part of a value, by its path.

    Raises
    ------
    InputError
        If a number, or a key that occurs twice, is refused.
    """
    lines: dict[tuple[Hashable, ...], int] = {}
    path: list[Hashable] = []  # a key, None before one, or a position in a list
    keys: list[set[str]] = []

    def refuse(message: str) -> NoReturn:
        raise source.error(f"not valid JSON: {message}", line)

    for found in _TOKEN.finditer(source.text, start):
        token = found.group()
        line += source.text.count("\n", start, found.start())
        start = found.start()
        if token == ",":
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else None
        elif token in "]}":
            path.pop()
            keys.pop()
        elif path and path[-1] is None:
            path[-1] = key = json.loads(token)
            if key in keys[-1]:
                refuse(f"key {shown(key)} occurs twice in one object")
            keys[-1].add(key)
        else:
            if len(path) <= _DEEPEST:
                lines[tuple(path)] = line
            if token in "[{":
                path.append(0 if token == "[" else None)
                keys.append(set())
            elif token in ("NaN", "Infinity", "-Infinity"):
                refuse(f"{token} is not a JSON number")
            elif len(token) > _MOST_DIGITS and token.lstrip("-").isdecimal():
                refuse(f"an integer of {len(token)} digits")
        if not path:
            break
    return lines


# --- writing -----------------------------------------------------------------------------------------

#: Half of a character, as it is in Python; control characters that JSON lets through, or not; all but ASCII.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL = re.compile("[\x7f-\x9f\u2028\u2029]")
_FOREIGN = re.compile("[^\x00-\x7f]")


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
