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
    """What a user says about a file's form; None is decided from the data."""

    columns: tuple[str, ...] | None = setting(
        None,
        READING,
        "Columns of a table in their order: id,x,y; - leaves one out; matrix: distances.",
        metavar="WORDS",
        read=parse_words,
    )
    separator: str | None = setting(
        None,
        READING,
        "Sign between the cells of a table: ; , | tab or blank.",
        metavar="SIGN",
        read=parse_separator,
    )
    decimal: str | None = setting(
        None,
        READING,
        "Decimal sign of a table: . or ,; the other one is between thousands.",
        metavar="SIGN",
        read=partial(parse_sign, signs=".,"),
    )
    ignore: tuple[str, ...] = setting(
        (),
        READING,
        "Keys and columns of the file to leave out, between commas; may be repeated.",
        metavar="WORDS",
        read=_ignored,
        kind=list,
    )

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
