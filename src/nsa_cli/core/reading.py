"""How a file is to be read, where the file alone does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from nsa_cli.core.errors import visible
from nsa_cli.core.options import parse_separator, parse_sign, parse_words
from nsa_cli.core.words import squeezed


class ReadingOptions(TypedDict, total=False):
    """Fields of `Reading` as keyword arguments of Python."""

    columns: str | Sequence[str] | None
    separator: str | None
    decimal: str | None
    ignore: str | Sequence[str]


@dataclass(frozen=True)
class Reading:
    """What a user says about a file's form; None is decided from the data.

    Attributes
    ----------
    columns : tuple of str, optional
        What the columns of a table are, in their order; ``-`` leaves one out, and ``matrix`` alone makes all
        of them distances. A text ``id,x,y`` is split.
    separator : str, optional
        Between the cells of a table: ``;``, ``,``, ``|``, a tab, or a blank for any number of blanks.
    decimal : {'.', ','}, optional
        The other one stands between thousands.
    ignore : tuple of str
        Keys and columns to leave out; a text is split at commas.
    """

    columns: tuple[str, ...] | None = None
    separator: str | None = None
    decimal: str | None = None
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = {
            "columns": parse_words("columns", self.columns),
            "separator": parse_separator("separator", self.separator),
            "decimal": parse_sign("decimal", self.decimal, ".,"),
            "ignore": parse_words("ignore", self.ignore) or (),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def leaves_out(self, word: str) -> bool:
        """Tell whether the user wants a key or a column left out, as it is written or shown, or alike."""
        return squeezed(visible(word)) in (squeezed(visible(word)) for word in self.ignore)

    @property
    def of_tables(self) -> dict[str, None]:
        """Options given that only a table can follow, by name."""
        names = ("columns", "separator", "decimal")
        return dict.fromkeys(name for name in names if getattr(self, name) is not None)
