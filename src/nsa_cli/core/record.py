"""Sources and records: a file's text, and an instance's plain data with the line of each element.

Every format is read into records with the keys of the JSON form. An instance is validated when it is built
from a record, whose lines then tell where an error is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, TypedDict, TypeVar

from nsa_cli.core.errors import DataError, InputError, UsageError, shown, visible
from nsa_cli.core.options import READING, parse_separator, parse_sign, parse_words, read_settings, setting
from nsa_cli.core.words import squeezed


class ReadingOptions(TypedDict, total=False):
    """Fields of `Reading` as keyword arguments of Python."""

    columns: str | Sequence[str] | Mapping[str, str] | None
    separator: str | None
    decimal: str | None
    ignore: str | Sequence[str]


def _ignored(option: str, value: Any) -> tuple[str, ...]:
    """Read words to leave out: a text of them between commas, or several such texts."""
    texts = [value] if isinstance(value, str) else parse_words(option, value) or ()
    return tuple(word for text in texts for word in parse_words(option, text) or ())


def _columns(option: str, value: Any) -> tuple[str, ...] | None:
    """Read the words of columns in their order, or ``WORD=HEADER`` for some of them."""
    pairs = [f"{word}={header}" for word, header in value.items()] if isinstance(value, Mapping) else value
    words = parse_words(option, pairs)
    if words and len({"=" in word for word in words}) > 1:
        message = f"expected words in the order of the columns, or WORD=HEADER for each, got {shown(value)}"
        raise UsageError(message, option=option)
    return words


@dataclass(frozen=True)
class Reading:
    """What a user says about a file's form; None is decided from the data.

    Attributes
    ----------
    columns : tuple of str, optional
        Say what the columns of a table are, in order: id,x,y; - leaves one out; matrix: distances. Or name
        some by their headers: lat=Breite,lon=Länge.
    separator : str, optional
        Split the cells of a table at this sign: ; , | tab or blank.
    decimal : str, optional
        Read this as the decimal sign of a table: . or ,; the other one stands between thousands.
    ignore : tuple of str
        Leave these keys and columns of the file out (between commas); may be repeated.
    """

    columns: tuple[str, ...] | None = setting(None, READING, _columns, "WORDS")
    separator: str | None = setting(None, READING, parse_separator, "SIGN")
    decimal: str | None = setting(None, READING, partial(parse_sign, signs=".,"), "SIGN")
    ignore: tuple[str, ...] = setting((), READING, _ignored, "WORDS")

    def __post_init__(self) -> None:
        read_settings(self)

    def leaves_out(self, word: str) -> bool:
        """Tell whether the user wants a key or a column left out, as it is written or shown, or alike."""
        return squeezed(visible(word)) in (squeezed(visible(word)) for word in self.ignore)

    @property
    def of_tables(self) -> dict[str, None]:
        """Options given that only a table can follow, by name."""
        names = ("columns", "separator", "decimal")
        return dict.fromkeys(name for name in names if getattr(self, name) is not None)


T = TypeVar("T")


class OtherTextError(InputError):
    """A text that is no instance of any problem, rather than one with a fault."""


@dataclass(frozen=True)
class Source:
    """A file's text or arrays.

    Attributes
    ----------
    name : str
        File name as the user gave it, or ``<stdin>``.
    suffix : str
        Lower case, with the dot, compression removed; empty for standard input.
    text : str
        Without byte order mark.
    arrays : object
        Contents of a binary data set: an array, nested lists, or either by names.
    reading : Reading
        What the user says about its form.
    first : {0, 1}
        Number of the first element that has no id: 0 of data in memory, which Python counts so.
    """

    name: str
    suffix: str
    text: str
    arrays: Any = None
    reading: Reading = field(default_factory=Reading)
    first: int = 1

    def error(self, message: str, line: int | None = None, **hints: Any) -> InputError:
        """Make an error that points into this text; hints as for `NsaError`."""
        return InputError(message, self.name, line, **hints)

    def other(self, message: str, line: int | None = None, **hints: Any) -> OtherTextError:
        """Make an error of a text that is something else than an instance."""
        return OtherTextError(message, self.name, line, **hints)


#: Finds the line (from 1) of an element: ``locate(key, index)``; either may be None.
Locate = Callable[[str | None, int | None], int | None]


def locator(
    places: Mapping[str, int | Sequence[int] | None] = MappingProxyType({}),
    otherwise: int | Sequence[int] | None = None,
) -> Locate:
    """Make a `Locate` from lines by key: one, or one an element; `otherwise` is for all other keys."""

    def locate(key: str | None, index: int | None) -> int | None:
        place = places.get(key or "", otherwise)
        if place is None or isinstance(place, int):
            return place
        return place[index] if index is not None and index < len(place) else None

    return locate


@dataclass(frozen=True)
class Record:
    """An instance as plain data, with the keys of the JSON form.

    Attributes
    ----------
    data : dict
    source : Source
    locate : callable
        ``locate(key, index) -> line or None``.
    sources : mapping
        Of a file set, the file of each key.
    remarks : tuple of str
        What was decided in reading, and should be said.
    words : mapping of str to str
        The word of the file for each key, once they are understood.
    """

    data: dict[str, Any]
    source: Source
    locate: Locate = field(default_factory=locator)
    sources: Mapping[str, Source] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def build(self, make: Callable[[dict[str, Any]], T]) -> T:
        """Call ``make(data)``; its errors point into the file.

        Raises
        ------
        InputError
            With file and line, if `make` raises a DataError.
        """
        try:
            return make(self.data)
        except DataError as error:
            line = self.locate(error.field, error.index)
            source = self.sources.get(error.field or "", self.source)
            raise source.error(error.message, line, **error.hints) from None
