"""Declarations of settings: what a field of a dataclass reads, and is on the command line.

What `setting` notes beside a field's default makes the option of the command line with its help, the key of a
configuration file, and the check of a value, wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

#: Headings of the help.
READING, SEARCH, STOPPING, ANNEALING, OUTPUT = "Reading", "Search", "Stopping", "Annealing", "Output"


@dataclass(frozen=True)
class Declared:
    """What is known of a field.

    Attributes
    ----------
    group : str
        Heading of the help; the command line has no option for a setting without.
    text : str
        Help of the option. Where the default is True, it is a flag ``--no-…`` that makes it False.
    metavar : str, optional
        What stands for the value in the help; by default its `words`.
    words : iterable of str, or callable
        That the shell completes.
    read : callable, optional
        Reads a value, ``read(name, value)``, and raises `UsageError` for what cannot be. What it gives, it
        reads as the same.
    kind : type
        Of a word on the command line: str, int, or list where the option may be repeated.
    short : tuple of str
        Shorter names of the option.
    """

    group: str = ""
    text: str = ""
    metavar: str | None = None
    words: Iterable[str] | Callable[[], Iterable[str]] = ()
    read: Callable[[str, Any], Any] | None = None
    kind: type = str
    short: tuple[str, ...] = ()


def setting(default: Any, group: str = "", text: str = "", **known: Any) -> Any:
    """Make a field of a dataclass that is a setting; see `Declared`."""
    return field(default=default, metadata={"setting": Declared(group, text, **known)})


def settings_of(owner: type) -> dict[str, tuple[Any, Declared]]:
    """Settings of a dataclass by name, each with its default."""
    return {f.name: (f.default, f.metadata["setting"]) for f in fields(owner) if "setting" in f.metadata}


def read_settings(owner: Any) -> None:
    """Read the settings of a frozen dataclass, in place.

    Raises
    ------
    UsageError
        For the first that cannot be.
    """
    for name, (_, declared) in settings_of(type(owner)).items():
        if declared.read is not None:
            object.__setattr__(owner, name, declared.read(name, getattr(owner, name)))
