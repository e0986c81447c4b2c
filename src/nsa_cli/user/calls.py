"""Calls of a user's methods: a mistake in one is named with file and line, and is no fault of ours."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

from nsa_cli.core.errors import NsaError, UsageError, shown


class MistakeError(UsageError):
    """A method of a user's problem that fails, or gives something else than it should."""


def call(owner: object, name: str, *arguments: Any) -> Any:
    """Call a method of a user's problem.

    Parameters
    ----------
    owner : UserProblem
    name : str
        Of the method.
    *arguments
        Its arguments.

    Raises
    ------
    MistakeError
        If it fails; names the line of the user's file.
    """
    return attempt(lambda: getattr(owner, name)(*arguments), type(owner), f"{type(owner).__name__}.{name}")


def attempt(work: Callable[[], Any], owner: type, what: str) -> Any:
    """Do something that runs a user's code.

    Parameters
    ----------
    work : callable
    owner : type
        The user's class.
    what : str
        For the message.

    Raises
    ------
    MistakeError
        If it fails.
    """
    try:
        return work()
    except (NsaError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        place = line_of(error, _file(owner)) or f"{_file(owner)}"
        raise MistakeError(f"{place}: {what} fails: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """Name an error as Python does, on one line."""
    return f"{type(error).__name__}: {shown_line(str(error))}" if str(error) else type(error).__name__


def shown_line(text: str, limit: int = 200) -> str:
    """Cut a message to a line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def line_of(error: BaseException, file: str) -> str | None:
    """Find the last line of a file that an error came through; of a syntax error, where it is."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{frames[-1].lineno}" if frames else None


def mistake(owner: object, name: str, expected: str, got: object) -> MistakeError:
    """Make the error of a method that gives something else than it should.

    Parameters
    ----------
    owner : UserProblem
    name : str
        Of the method.
    expected : str
    got : object
        What it gave, or a text that says so.
    """
    hint = "; is its return missing?" if got is None else ""
    told = got if isinstance(got, str) else kind_of(got)
    return MistakeError(
        f"{_definition(owner, name)}: {type(owner).__name__}.{name}: expected {expected}, got {told}{hint}"
    )


def kind_of(value: object) -> str:
    """Describe a value by its type, and its shape if it has one."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{type(value).__name__} of {dtype}{list(shape)}"
    return "None" if value is None else f"{type(value).__name__} {shown(value)}"


def _definition(owner: object, name: str) -> str:
    """Find where a method is defined, as file and line; the file of the class where it has no line."""
    function = getattr(owner, name)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return _file(type(owner)) if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _file(owner: type) -> str:
    try:
        return inspect.getsourcefile(owner) or owner.__name__
    except (TypeError, OSError):  # a class that was typed in
        return owner.__name__
