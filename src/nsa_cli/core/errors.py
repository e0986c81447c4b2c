"""Errors a user can cause, each one line long: what, where, expected, got, what to do.

Every one carries the exit code of the contract, so that the command line has a single place
(`nsa_cli.cli.console`) where an exception becomes a message.
"""

from __future__ import annotations


def shown(value: object, limit: int = 40) -> str:
    """Quote what a user gave us, cut to `limit` characters and without line breaks."""
    text = repr(value) if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


class NsaError(Exception):
    """Base of all expected errors."""

    exit_code = 2


class UsageError(NsaError):
    """An option, or a combination of options, that cannot be served."""


class InputError(NsaError):
    """A file that cannot be read as what it should be.

    Parameters
    ----------
    message : str
        What was expected and what was found.
    source : str
        The file's name as the user gave it, or ``<stdin>``.
    line : int, optional
        Line number, counted from 1.
    """

    def __init__(self, message: str, source: str, line: int | None = None) -> None:
        self.message, self.source, self.line = message, source, line
        super().__init__(f"{source}:{line}: {message}" if line else f"{source}: {message}")


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
    """

    def __init__(self, message: str, field: str | None = None, index: int | None = None) -> None:
        self.field, self.index = field, index
        super().__init__(message)


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
