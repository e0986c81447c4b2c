"""Numbers, and tokens between blanks with their lines, for the field's plain text formats.

Numbers are strict: Python's `float` also takes ``1_000``, ``nan`` and ``infinity``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from nsa_cli.core.errors import shown
from nsa_cli.core.exact import whole
from nsa_cli.core.record import Record, Source

PieceT = TypeVar("PieceT")

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eEdD][+-]?[0-9]{1,5})?")

#: What plain numbers consist of, with line breaks between them; and exponents that are too long.
_PLAIN, _LONG_EXPONENT = b"0123456789+-.eE\n", re.compile(rb"[eE][+-]?[0-9]{6}")


def read_number(token: str) -> int | float | None:
    """Read an integer or a finite decimal (``12``, ``-3.5``, ``1e3``; Fortran's ``1D3`` too).

    What is whole is an integer, however it is written: ``4.0``, ``1.000e+00``.

    Returns
    -------
    int, float or None
        None if the token is no finite number.
    """
    if _INTEGER.fullmatch(token):
        return int(token)
    if _REAL.fullmatch(token):
        value = float(token.replace("D", "e").replace("d", "e"))
        return whole(value) if math.isfinite(value) else None
    return None


def read_all(tokens: Sequence[str]) -> list[int | float] | None:
    """Read many tokens, each as `read_number` does, in a tenth of the time where all are plain numbers.

    Returns
    -------
    list or None
        None if one is no number, or is written in a way that has to be looked at.
    """
    text = "\n".join(tokens).encode("ascii", "replace")
    if text.translate(None, _PLAIN) or text.count(b"\n") >= len(tokens) > 0 or _LONG_EXPONENT.search(text):
        return None
    try:
        if not any(sign in text for sign in b".eE"):
            return list(map(int, tokens))
        values: list[int | float] = list(map(float, tokens))
    except ValueError:
        return None
    array = np.array(values)
    if not np.isfinite(array).all():
        return None
    for i in np.flatnonzero(array == np.rint(array)).tolist():
        x = values[i]
        values[i] = int(x) if abs(x) < 2**53 else read_number(tokens[i]) or x
    return values


# --- tokens ------------------------------------------------------------------------------------------

#: Where a remark begins: not within a token, which may be a name.
_REMARK = re.compile(r"(?:^|(?<=\s))#")


class Line(NamedTuple):
    """The tokens of one line that is not blank.

    Attributes
    ----------
    tokens : list of str
    number : int
        From 1.
    """

    tokens: list[str]
    number: int


def without_remark(line: str) -> str:
    """Cut off what follows ``#``."""
    return _REMARK.split(line, maxsplit=1)[0] if "#" in line else line


def split_lines(source: Source, limit: int | None = None) -> list[Line]:
    """Split a text, or its first `limit` lines, into tokens at blanks; ``#`` begins a remark.

    Raises
    ------
    InputError
        If the whole text holds nothing but remarks.
    """
    lines = source.text.split("\n") if limit is None else source.text.split("\n", limit)[:limit]
    rows = (without_remark(line).split() for line in lines)
    found = [Line(tokens, i) for i, tokens in enumerate(rows, start=1) if tokens]
    if not found and limit is None:
        raise source.error("holds nothing but remarks; expected numbers")
    return found


def shape(source: Source, lines: int) -> tuple[int, ...]:
    """Count the tokens of the first lines that are not blank; 0 for a line that is not all numbers.

    A file that calls itself a table has no such lines: its first rows are rows.
    """
    if source.suffix in (".csv", ".tsv"):
        return ()
    head = split_lines(source, 4 * lines)[:lines]
    return tuple(0 if any(read_number(t) is None for t in line.tokens) else len(line.tokens) for line in head)


def read_numbers(source: Source, what: str) -> tuple[list[int | float], list[int]]:
    """Read a text of numbers only, with the line of each.

    Raises
    ------
    InputError
        If a token is no number.
    """
    lines = split_lines(source)
    tokens, at = [token for line in lines for token in line.tokens], [n for row, n in lines for _ in row]
    return to_numbers(source, tokens, lambda: at, what), at


def to_numbers(
    source: Source, tokens: Sequence[str], lines: Callable[[], Sequence[int]], what: str
) -> list[int | float]:
    """Read tokens; their lines are asked for where one is no plain number.

    Raises
    ------
    InputError
        If one is no number; names its line and what it should be.
    """
    found = read_all(tokens)
    if found is None:
        found = [to_number(source, *pair, what) for pair in zip(tokens, lines(), strict=True)]
    return found


def to_number(source: Source, token: str, line: int, what: str) -> int | float:
    """Read a token.

    Raises
    ------
    InputError
        If it is no number; names the line and what it should be.
    """
    value = read_number(token)
    if value is None:
        raise source.error(f"{what}: expected a number, got {shown(token)}", line)
    return value


def to_count(source: Source, token: str, line: int | None, what: str) -> int:
    """Read a token that is a number of things.

    Raises
    ------
    InputError
        If it is no integer above 0.
    """
    value = read_number(token)
    if not isinstance(value, int) or value < 1:
        raise source.error(f"{what}: expected a positive integer, got {shown(token)}", line)
    return value


def read_one_by_one(
    source: Source,
    pieces: Sequence[PieceT],
    begin: int,
    read: Callable[[Source, Sequence[PieceT], int], tuple[Record, int]],
) -> list[Record]:
    """Read instances that follow each other in a file.

    Parameters
    ----------
    source : Source
    pieces : sequence
        Lines or tokens.
    begin : int
        Position of the first instance in `pieces`.
    read : callable
        ``read(source, pieces, at)``: the instance that begins at a position, and the position after it.
    """
    records = []
    while begin < len(pieces):
        record, begin = read(source, pieces, begin)
        records.append(record)
    return records
