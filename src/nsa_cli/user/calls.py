"""Calls of a user's methods: a mistake in one is named with file and line, and is no fault of ours."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from nsa_cli.core.errors import NsaError, UsageError, cut, shown
from nsa_cli.core.words import nearest

#: Characters that a line of a message has for an error of another program.
LINE = 200


class Data(SimpleNamespace):
    """What a user's functions get as ``data``: an attribute for each key."""

    def __getattr__(self, name: str) -> Any:
        there = [key for key in vars(self) if key not in ("scale", "scratch", "lowest", "highest")]
        near = nearest(name, there)
        hint = f"the nearest is {near}" if near else f"there are {', '.join(there) or 'none'}"
        raise AttributeError(f"there is no key {name!r}; {hint}")

    def __getitem__(self, key: object) -> Any:
        raise TypeError(f"keys are attributes; write data.{key}")


class MistakeError(UsageError):
    """A method of a user's problem that fails, or gives something else than it should."""


class _Overflows:
    """Where NumPy notes that a number is too large, which it says of float64 arrays as of whole numbers."""

    @staticmethod
    def write(message: str) -> None:
        if " in scalar " in message:
            raise OverflowError("a number gets too large; a whole number has 64 bits, make it a float")


def quiet() -> Any:
    """Have NumPy say nothing of what is looked at anyway, but raise where a whole number overflows."""
    return np.errstate(divide="ignore", invalid="ignore", under="ignore", over="log", call=_Overflows)


def call(names: Mapping[Any, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a user's problem.

    Parameters
    ----------
    names : mapping
        See `failure`.
    function : callable
    *arguments
        Its arguments.

    Raises
    ------
    MistakeError
        If it fails; names the line of the user's file.
    """
    try:
        with quiet():
            return function(*arguments)
    except (Exception, SystemExit) as error:
        raise failure(error, names) from error


def failure(error: BaseException, names: Mapping[Any, str]) -> BaseException:
    """Make the error of the user's function that an exception came through; another one stays as it is.

    Parameters
    ----------
    error : BaseException
    names : mapping
        Names for the message, with the class, by the functions' code.
    """
    if isinstance(error, NsaError | MemoryError):
        return error
    codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    code = next((code for code in codes if code in names), None)
    if code is None:
        return error
    place = line_of(error, code.co_filename) or code.co_filename
    if isinstance(error, ValueError) and "read-only" in str(error):
        what = "changes the data, which are the same for all solutions; change x only"
        return MistakeError(f"{place}: {names[code]}: {what}")
    return MistakeError(f"{place}: {names[code]} fails: {reason(error)}")


def reason(error: BaseException) -> str:
    """Name an error as Python does, on one line."""
    return f"{type(error).__name__}: {cut(error, LINE)}" if str(error) else type(error).__name__


def line_of(error: BaseException, file: str) -> str | None:
    """Find the last line of a file that an error came through; of a syntax error, where it is."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{frames[-1].lineno}" if frames else None


def mistake(function: Callable[..., Any], what: str, expected: str, got: object) -> MistakeError:
    """Make the error of a function that gives something else than it should.

    Parameters
    ----------
    function : callable
    what : str
        Its name for the message, with the class.
    expected : str
    got : object
        What it gave, or a text that says so.
    """
    told = got if isinstance(got, str) else kind_of(got)
    hint = "; is its return missing?" if told == "None" else ""
    return MistakeError(f"{definition_of(function)}: {what}: expected {expected}, got {told}{hint}")


def kind_of(value: object) -> str:
    """Describe a value by its type, and its shape if it has one."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{type(value).__name__} of {dtype}{list(shape)}"
    return "None" if value is None else f"{type(value).__name__} {shown(value)}"


def definition_of(function: Callable[..., Any]) -> str:
    """Tell where a function is defined, as file and line."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def class_place(owner: type) -> str:
    """Tell where a class is defined, as file and line where that is known."""
    try:
        _, line = inspect.getsourcelines(owner)
        return f"{inspect.getsourcefile(owner)}:{line}"
    except (TypeError, OSError):  # a class that was typed in
        return owner.__name__
