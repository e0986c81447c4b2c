"""JSON, strict both ways: one object, a list of objects, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from json import JSONDecodeError
from typing import Any, NoReturn

from nsa_cli.core.record import Locate, Record, Source

_WHITESPACE = " \t\n\r"


def looks_like_json(source: Source) -> bool:
    """Tell by the first character."""
    return source.text.lstrip()[:1] in ("{", "[")


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
    position = _skip(text, 0)
    while position < len(text):
        start = position
        try:
            value, position = decoder.raw_decode(text, position)
        except JSONDecodeError as error:
            raise source.error(f"not valid JSON: {error.msg}", error.lineno) from None
        except _Refused as error:
            raise source.error(f"not valid JSON: {error}", _line(text, start)) from None
        except RecursionError:
            raise source.error("not valid JSON: nested too deeply", _line(text, start)) from None
        except ValueError as error:  # an integer of more digits than Python converts
            raise source.error(f"not valid JSON: {error}", _line(text, start)) from None
        values.append((value, start))
        position = _skip(text, position)
    return values


def dumps(value: Any, *, indent: int | None = None) -> str:
    """Write strict JSON; NaN and infinities are errors, not text."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=indent)


def _records(value: Any, source: Source, start: int) -> list[Record]:
    if isinstance(value, dict):
        return [Record(value, source, _locator(source.text, start))]
    if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
        text = source.text
        places = (partial(_element, text, start, i) for i in range(len(value)))
        return [Record(x, source, _locator(text, place)) for x, place in zip(value, places, strict=True)]
    what = {list: "a list of something else", str: "a text", bool: "a truth value"}.get(
        type(value), "a number"
    )
    raise source.error(
        f"expected a JSON object or a list of objects, got {'an empty list' if value == [] else what}",
        _line(source.text, start),
    )


class _Refused(Exception):  # noqa: N818 - internal signal
    pass


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not a JSON number")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [k for k, _ in pairs]
        twice = next(k for k in keys if keys.count(k) > 1)
        raise _Refused(f"key {twice!r} occurs twice in one object")
    return result


# --- where an element stands -----------------------------------------------------------------------
# The decoder of the standard library keeps no positions. Errors are rare, so the text is walked again
# when one happens.


def _locator(text: str, start: int | Callable[[], int]) -> Locate:
    def locate(key: str | None, index: int | None) -> int | None:
        position = start if isinstance(start, int) else start()
        try:
            if key is not None and (at := _member(text, position, key)) is not None:
                position = at
                if index is not None and text[position] == "[":
                    position = _element(text, position, index)
        except (JSONDecodeError, IndexError):
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


def _element(text: str, position: int, index: int) -> int:
    """Position of element `index` of the list that starts at `position`."""
    decoder = json.JSONDecoder()
    position = _skip(text, position + 1)
    for _ in range(index):
        _, position = decoder.raw_decode(text, position)
        position = _skip(text, _skip(text, position) + 1)
    return position


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _WHITESPACE:
        position += 1
    return position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
