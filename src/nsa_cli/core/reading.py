"""How a file is to be read, where the file alone does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict

from nsa_cli.core.errors import visible
from nsa_cli.core.options import parse_separator, parse_sign, parse_words
from nsa_cli.core.setting import READING, read_settings, setting
from nsa_cli.core.words import squeezed


class ReadingOptions(TypedDict, total=False):
    """Fields of `Reading` as keyword arguments of Python."""

    columns: str | Sequence[str] | None
    separator: str | None
    decimal: str | None
    ignore: str | Sequence[str]


def _ignored(option: str, value: Any) -> tuple[str, ...]:
    """Read words to leave out: a text of them between commas, or several such texts."""
    texts = [value] if isinstance(value, str) else parse_words(option, value) or ()
    return tuple(word for text in texts for word in parse_words(option, text) or ())


@dataclass(frozen=True)
class Reading:
    """What a user says about a file's form; None is decided from the data.

    Attributes
    ----------
    columns : tuple of str, optional
        Columns of a table in their order: id,x,y; - leaves one out; matrix: distances.
    separator : str, optional
        Sign between the cells of a table: ; , | tab or blank.
    decimal : str, optional
        Decimal sign of a table: . or ,; the other one is between thousands.
    ignore : tuple of str
        Keys and columns of the file to leave out, between commas; may be repeated.
    """

    columns: tuple[str, ...] | None = setting(None, READING, parse_words, "WORDS")
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
