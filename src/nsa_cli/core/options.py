"""Options as typed values: how the text of each is read, and their declaration as fields of dataclasses.

A ``parse_`` function takes the option's name, for its error, and a text or an already typed value; every
error says what was expected and what was got. What `setting` notes beside a field's default makes the option
of the command line, the key of a configuration file, and the check of a value, wherever it comes from. The
help of the option is what the docstring of the class says of the attribute.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np

from nsa_cli.core.errors import UsageError, shown

#: A temperature, or that it is to be estimated from a sample of the instance's moves.
Temperature: TypeAlias = float | Literal["auto"]

_STEPS = re.compile(r"(\d{1,18})|(\d{1,18}(?:\.\d{1,18})?)?\s*\*?\s*[nN](?:\s*(?:\^|\*\*)?\s*([123]))?")
_SCIENTIFIC = re.compile(r"\d{1,18}(?:\.\d{0,18})?[eE]\+?\d{1,2}")
_TIME = re.compile(r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})\s*(us|ms|s|min|m|h)?")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, None: 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_SIGNS = {
    "tab": "\t",
    "\\t": "\t",
    "blank": " ",
    "space": " ",
    "comma": ",",
    "semicolon": ";",
    "bar": "|",
    "point": ".",
}


#: A number with a decimal comma.
_COMMA = re.compile(r"\s*[-+]?[0-9]+,[0-9]+\s*")

#: One number, or a first and a last one.
_RANGE = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")
_MOST_NUMBERS = 10_000


@dataclass(frozen=True)
class Steps:
    """A number of steps, in terms of the size N: ``factor * N**power``.

    Attributes
    ----------
    factor : int or float
        Whole if `power` is 0.
    power : {0, 1, 2, 3}
    """

    factor: int | float
    power: int = 0

    def of(self, size: int) -> int:
        """Give the number of steps for an instance of a size."""
        return round(self.factor * int(size**self.power))

    def plain(self) -> int | str:
        """Give the number, or the text, that reads back as this."""
        if self.power == 0:
            return round(self.factor)
        return f"{self.factor:g}N{self.power if self.power > 1 else ''}"


@dataclass(frozen=True)
class Patience:
    """Steps or seconds without improvement after which a search stops; one of the two.

    Attributes
    ----------
    steps : Steps, optional
    seconds : float, optional
    """

    steps: Steps | None = None
    seconds: float | None = None

    def plain(self) -> int | str:
        """Give the number, or the text, that reads back as this."""
        return f"{self.seconds:g}s" if self.steps is None else self.steps.plain()


def _unexpected(option: str, expected: str, got: object) -> UsageError:
    return UsageError(f"expected {expected}, got {shown(got)}", option=option)


def _whole(value: object) -> int | None:
    """Give a whole number of any type as an int; None if it is none."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def parse_choice(option: str, value: Any, choices: Sequence[str]) -> str:
    """Insist on one of some words.

    Raises
    ------
    UsageError
        If it is none of them; so do all parsers below.
    """
    if not isinstance(value, str) or value not in choices:
        raise _unexpected(option, f"one of {', '.join(choices)}", value)
    return value


def parse_flag(option: str, value: Any) -> bool:
    """Insist on True or False, NumPy's as well."""
    if not isinstance(value, bool | np.bool_):
        raise _unexpected(option, "True or False", value)
    return bool(value)


def parse_text(option: str, value: Any) -> str | None:
    """Insist on a text or a path, or None."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if value is not None and not isinstance(value, str):
        raise _unexpected(option, "a text or a path", value)
    return value


def parse_device(option: str, value: Any) -> str:
    """Insist on ``auto``, ``cpu``, ``cuda`` or ``cuda:1``; whether it is there is another question."""
    if not isinstance(value, str) or not re.fullmatch(r"auto|cpu|cuda(:\d{1,4})?", value):
        raise _unexpected(option, "auto, cpu, cuda or cuda:N", value)
    return value


def parse_count(option: str, value: Any, minimum: int = 1) -> int | None:
    """Read a whole number from `minimum` on, or None."""
    if value is None:
        return None
    number = int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value) else _whole(value)
    if number is None or number < minimum:
        raise _unexpected(option, f"a whole number from {minimum} on", value)
    return number


def parse_chains(option: str, value: Any) -> int | None:
    """Read a number of chains; None for ``auto``."""
    if value is None or value == "auto":
        return None
    try:
        return parse_count(option, value)
    except UsageError:
        raise _unexpected(option, "a number from 1 on, or auto", value) from None


def parse_seed(option: str, value: Any) -> int | None:
    """Insist on a seed in range, or None."""
    try:
        seed = parse_count(option, value, 0)
    except UsageError:
        seed = 2**63
    if seed is not None and seed >= 2**63:
        raise _unexpected(option, "0 <= seed < 2^63", value)
    return seed


def parse_number(
    option: str, value: Any, minimum: float = -math.inf, expected: str = "a number"
) -> float | None:
    """Read a finite number from `minimum` on, or None; whole ones stay so."""
    if value is None:
        return None
    whole = _whole(value)
    number = float(value) if whole is None and isinstance(value, Real) else whole
    if number is None or not max(minimum, -sys.float_info.max) <= number < math.inf:
        raise _unexpected(option, expected, value)
    return number


def parse_target(option: str, value: Any) -> float | None:
    """Read an objective, every digit of a whole one; or None."""
    return parse_number(option, parse_amount(option, value) if isinstance(value, str) else value)


def parse_unit(option: str, value: Any) -> float | None:
    """Read a cost above 0; or None."""
    given = parse_amount(option, value) if isinstance(value, str) else value
    return parse_number(option, given, sys.float_info.min, "a number above 0")


def parse_amount(option: str, value: str) -> int | float:
    """Read a finite number from a text; whole ones stay so."""
    try:
        number = int(value) if re.fullmatch(r"\s*[-+]?[0-9]{1,4000}\s*", value) else float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        point = f" with a point, {value.replace(',', '.')}" if _COMMA.fullmatch(value) else ""
        raise _unexpected(option, f"a number{point}", value)
    return number


def parse_seconds(option: str, value: Any) -> float | None:
    """Read a span of time: seconds, or a text with a unit (``500ms``, ``90s``, ``2m``, ``1h``); or None."""
    expected = "seconds >= 0, or a time such as 500ms, 90s, 2m, 1h"
    if not isinstance(value, str):
        return parse_number(option, value, 0.0, expected)
    found = _TIME.fullmatch(value.strip())
    if found is None:
        raise _unexpected(option, expected, value)
    return float(found[1]) * _UNITS[found[2]]


def parse_steps(option: str, value: Any) -> Steps | None:
    """Read a number of steps: ``20000``, ``1e6``, with the size N ``10N``, ``10N2`` for 10 N^2; or None."""
    if value is None or isinstance(value, Steps):
        return value
    if (whole := _whole(value)) is not None and whole >= 0:
        return Steps(whole)
    if isinstance(value, float) or (isinstance(value, str) and _SCIENTIFIC.fullmatch(value.strip())):
        number = float(value)
        if 0 <= number < 10**18 and number == int(number):
            return Steps(int(number))
    found = _STEPS.fullmatch(value.strip().replace("_", "")) if isinstance(value, str) else None
    if found is None:
        raise _unexpected(option, "a number of steps such as 20000, 1e6, 10N or 10N2", value)
    if found[1]:
        return Steps(int(found[1]))
    return Steps(float(found[2] or 1), int(found[3] or 1))


def parse_patience(option: str, value: Any) -> Patience | None:
    """Read steps (``5000``, ``10N``) or a time (``2s``, ``500ms``, ``2m``) without improvement; or None."""
    if value is None or isinstance(value, Patience):
        return value
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if found and found[2]:
        return Patience(seconds=float(found[1]) * _UNITS[found[2]])
    try:
        return Patience(steps=parse_steps(option, value))
    except UsageError:
        raise _unexpected(option, "steps such as 5000 or 10N, or seconds such as 2s", value) from None


def parse_limit(option: str, value: Any) -> float:
    """Read a span of time above 0, in seconds."""
    if not (seconds := parse_seconds(option, value)):
        raise _unexpected(option, "seconds above 0", value)
    return seconds


def parse_budgets(option: str, value: Any) -> tuple[float, ...] | None:
    """Read spans of time in seconds, sorted: ``5ms,20ms,1s``; a number alone is seconds; or None."""
    if not isinstance(value, str):
        return value
    return tuple(sorted({parse_limit(option, part) for part in value.split(",")}))


def parse_gap(option: str, value: Any) -> float | None:
    """Read a relative gap below 1: ``1%`` or ``0.01``; or None."""
    if value is None:
        return None
    number, hundred = str(value).strip(), 1.0
    if number.endswith("%"):
        number, hundred = number[:-1], 100.0
    try:
        gap = float(number) / hundred  # a quotient rounds to the decimal: 7 % is 0.07
    except ValueError:
        gap = math.nan
    if not 0 <= gap < 1:
        meant = f", or {number}%" if hundred == 1.0 and 1 <= gap < 100 else ""
        raise _unexpected(option, f"a share below 1 such as 1% or 0.01{meant}", value)
    return gap


def parse_temperature(option: str, value: Any) -> Temperature | None:
    """Read a finite temperature >= 0, or ``auto`` for one that the run finds; or None."""
    if value is None or value == "auto":
        return value
    try:
        temperature = float(value)
    except (TypeError, ValueError):
        temperature = math.nan
    if not 0 <= temperature < math.inf:
        raise _unexpected(option, "a temperature >= 0, or auto", value)
    return temperature


def parse_words(option: str, value: Any) -> tuple[str, ...] | None:
    """Read a list of words, or a text of them between commas; or None."""
    if value is None:
        return None
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise _unexpected(option, "words between commas", value)
    return tuple(word.strip() for word in words)


def parse_sign(option: str, value: Any, signs: Sequence[str]) -> str | None:
    """Read one of some signs, as itself or by name; or None."""
    sign = _SIGNS.get(value, value) if isinstance(value, str) else value
    if sign is not None and sign not in tuple(signs):
        names = {"\t": "tab", " ": "blank"}
        raise _unexpected(option, f"one of {' '.join(names.get(s, s) for s in signs)}", value)
    return sign


def parse_separator(option: str, value: Any) -> str | None:
    """Read what separates the cells of a table, as itself or by name; or None."""
    return parse_sign(option, value, ";,|\t ")


def parse_numbers(option: str, value: Any, minimum: int = 1) -> tuple[int, ...] | None:
    """Read whole numbers from `minimum` on, each once: ``50,100`` or ``1..5`` or both; or None."""
    if not isinstance(value, str):
        return value
    numbers: list[int] = []
    for part in value.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if not minimum <= first <= last < first + _MOST_NUMBERS:
            raise _unexpected(option, f"whole numbers from {minimum} on, as 1,2,5 or 1..5", value)
        numbers += range(first, last + 1)
    return tuple(dict.fromkeys(numbers))


def parse_pairs(option: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` pairs; a value is JSON, or a text if it is none."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise _unexpected(option, "KEY=VALUE", pair)
        if key.strip() in found:
            raise UsageError(f"{key.strip()} is given twice; give it once", option=option)
        try:
            found[key.strip()] = json.loads(text)
        except RecursionError:
            raise _unexpected(option, "a value that is not nested so deeply", pair) from None
        except ValueError:
            found[key.strip()] = text
    return found


#: Headings of the help; the first one is for what belongs to no group.
OPTIONS = "Options"
READING, SEARCH, STOPPING, ANNEALING, OUTPUT = "Reading", "Search", "Stopping", "Annealing", "Output"

#: An attribute in a docstring, as numpydoc has it: its name, and the indented lines about it.
_ATTRIBUTE = re.compile(r"^(\w+) : .*\n((?:    .+\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Declared:
    """What is known of a field.

    Attributes
    ----------
    group : str
        Heading of the help; the command line has no option for a setting without.
    read : callable, optional
        Reads a value, ``read(name, value)``, and raises `UsageError` for what cannot be. What it gives, it
        reads as the same. Without it, one of the `words` is expected, if there are any.
    metavar : str, optional
        What stands for the value in the help; by default its `words`.
    words : iterable of str, or callable
        That the shell completes.
    short : tuple of str
        Shorter names of the option.
    """

    group: str = ""
    read: Callable[[str, Any], Any] | None = None
    metavar: str | None = None
    words: Iterable[str] | Callable[[], Iterable[str]] = ()
    short: tuple[str, ...] = ()


def setting(
    default: Any = MISSING, group: str = "", read: Any = None, metavar: Any = None, **known: Any
) -> Any:
    """Make a field of a dataclass that is a setting; see `Declared`.

    A default that is True makes a flag ``--no-…``, for what it makes False; a tuple makes an option that may
    be repeated. Without one the option has to be given.
    """
    return field(default=default, metadata={"setting": Declared(group, read, metavar, **known)})


def settings_of(owner: type) -> dict[str, tuple[Any, Declared]]:
    """Settings of a dataclass by name, each with its default."""
    return {f.name: (f.default, f.metadata["setting"]) for f in fields(owner) if "setting" in f.metadata}


def help_of(owner: type, name: str) -> str | None:
    """Find what the docstring of a class says of an attribute."""
    found = {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(inspect.getdoc(owner) or "")}
    return found.get(name)


def read_settings(owner: Any) -> None:
    """Read the settings of a frozen dataclass, in place.

    Raises
    ------
    UsageError
        For the first that cannot be.
    """
    for name, (default, declared) in settings_of(type(owner)).items():
        read, words, value = declared.read, declared.words, getattr(owner, name)
        if read is None and isinstance(words, tuple) and words and (default, value) != (None, None):
            read = partial(parse_choice, choices=words)
        if read is not None:
            object.__setattr__(owner, name, read(name.strip("_"), value))
