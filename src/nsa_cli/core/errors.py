"""Errors a user can cause, each one line long: what, where, expected, got, what to do.

Every one carries the exit code of the contract, so that the command line has a single place
(`nsa_cli.cli.console`) where an exception becomes a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

#: Spells an option with its value, or alone for None: ``--time-limit 3`` or ``time_limit=3``.
Spelling: TypeAlias = Callable[[str, Any], str]


def keyword(name: str, value: Any = None) -> str:
    """Spell an option as Python does."""
    return name if value is None else f"{name}={value!r}"


def shown(value: object, limit: int = 40) -> str:
    """Quote a user's value, cut to `limit` characters and without line breaks."""
    return cut(repr(value) if isinstance(value, str) else value, limit)


def cut(text: object, limit: int) -> str:
    """Shorten a text to one line of some characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


#: Characters that tell a terminal something, turn the direction of writing, or are half a character.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Write characters that steer a terminal, or cannot be written at all, as escapes: ``\x1b``.

    Bytes of a file name that are no UTF-8, which Python keeps as halves of characters, are shown as bytes.
    """
    return text if _UNSEEN.search(text) is None else _UNSEEN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return repr(chr(code))[1:-1] if code < 0x80 else f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class NsaError(Exception):
    """Base of all expected errors.

    Parameters
    ----------
    message : str
        What was expected and what was found.
    option : str, optional
        The option at fault, by its name in Python (``time_limit``).
    use, drop : mapping, optional
        Options that help, one of them is enough; and those to leave out. By their names in Python, with
        their values, or None for an option alone.
    """

    exit_code = 2

    def __init__(
        self,
        message: str = "",
        *,
        option: str | None = None,
        use: Mapping[str, Any] | None = None,
        drop: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.option, self.use, self.drop = message, option, use or {}, drop or {}

    def __reduce__(self) -> Any:
        return _again, (type(self), self.args, vars(self))

    @property
    def hints(self) -> dict[str, Mapping[str, Any]]:
        """`use` and `drop`, for an error made of this one."""
        return {"use": self.use, "drop": self.drop}

    def text(self, spell: Spelling = keyword) -> str:
        """Write the error as one line, with options spelt as the reader knows them."""
        place = f"{place}: " if (place := self._place(spell)) else ""
        hints = [f"; use {' or '.join(spell(*pair) for pair in self.use.items())}" if self.use else ""]
        hints += [f"; leave out {', '.join(spell(*pair) for pair in self.drop.items())}" if self.drop else ""]
        return place + self.message + "".join(hints)

    def _place(self, spell: Spelling) -> str:
        return spell(self.option, None) if self.option else ""

    def __str__(self) -> str:
        return self.text()


def _again(cls: type[NsaError], arguments: tuple[Any, ...], state: dict[str, Any]) -> NsaError:
    """Make an error that has travelled in a pickle, whatever its constructor takes."""
    error = cls.__new__(cls)
    error.args = arguments
    vars(error).update(state)
    return error


class UsageError(NsaError):
    """An option, or a combination of options, that cannot be served."""


class UncompiledError(UsageError):
    """A function of the user's that cannot be compiled; it may run in Python all the same."""


class InputError(NsaError):
    """A file that cannot be read as an instance, a solution or a policy.

    Parameters
    ----------
    message : str
        What was expected and what was found.
    source : str
        The file's name as the user gave it, or ``<stdin>``.
    line : int, optional
        Line number, counted from 1.
    **hints
        As for `NsaError`.
    """

    def __init__(self, message: str, source: str, line: int | None = None, **hints: Any) -> None:
        self.source, self.line = source, line
        super().__init__(message, **hints)

    def _place(self, spell: Spelling) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class DataError(NsaError, ValueError):
    """Data that make no valid instance or solution.

    Instances raise it without knowing about files; a reader adds the place (see `Record.build`).

    Parameters
    ----------
    message : str
        What was expected and what was found.
    field : str, optional
        The key of the offending data, as in the JSON form (``weights``).
    index : int, optional
        Position of the offending element, counted from 0.
    **hints
        As for `NsaError`.
    """

    def __init__(
        self,
        message: str,
        field: str | None = None,
        index: int | None = None,
        **hints: Any,
    ) -> None:
        self.field, self.index = field, index
        super().__init__(message, **hints)


class InfeasibleError(NsaError):
    """No feasible solution exists, or none was found."""

    exit_code = 3


class NoMemoryError(NsaError):
    """The machine has not the memory that was asked for."""

    exit_code = 1

    def __init__(self) -> None:
        super().__init__("out of memory; give fewer chains, fewer instances, or smaller ones")


class StoppedError(NsaError):
    """The user asked to stop before there was anything to show."""

    exit_code = 130
