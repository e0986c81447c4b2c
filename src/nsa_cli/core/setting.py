"""Declarations of settings: what a field of a dataclass reads, and is on the command line.

What `setting` notes beside a field's default makes the option of the command line, the key of a configuration
file, and the check of a value, wherever it comes from. The help of the option is what the docstring of the
class says of the attribute.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Any

from nsa_cli.core.options import parse_choice

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
    for name, (_, declared) in settings_of(type(owner)).items():
        read, words = declared.read, declared.words
        if read is None and isinstance(words, tuple) and words:
            read = partial(parse_choice, choices=words)
        if read is not None:
            object.__setattr__(owner, name, read(name.strip("_"), getattr(owner, name)))
