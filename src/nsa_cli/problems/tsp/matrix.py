"""Matrices of edge lengths from files: edges that are not there, and symmetry up to rounding.

An edge that is not there is ``null`` or ``"inf"``, or a number that stands for it: the one that the user
names, or one that is recognised, such as 10^9 or the largest integer of 64 bits beside ordinary lengths. An
instance's matrix has for it a length above what any tour of other edges costs. So searches avoid it, and a
shortest tour has one only where every tour has.
"""

from __future__ import annotations

import math
import re
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import DataError, shown
from nsa_cli.core.instance import Number, number_array
from nsa_cli.core.words import NO_NUMBER

#: Numbers from here on are no lengths: the largest integer of 64 bits.
_ENDLESS = 2**63 - 1

#: Whole numbers that programs take for infinity: a digit and zeros, or nines; powers of two, and one less;
#: and 0x3f3f3f3f.
_ROUND = re.compile(r"[1-9]0+|9+")
_LEAST, _FAMOUS = 9_999, 0x3F3F3F3F

#: Relative difference of two entries that are one length, rounded in two ways.
_ROUNDING = 1e-9

#: Zeros whose cities are compared, at most.
_LOOKED_AT = 1_000

#: Whole lengths stay below this.
_LIMIT = 2**62


class LengthMatrix(NamedTuple):
    """A matrix of edge lengths.

    Attributes
    ----------
    lengths : int64 or float64 [N, N]
        With a zero diagonal, and a large number for edges that are not there.
    absent : bool[N, N], or None
        Edges that are not there.
    notes : tuple of str
        Warnings, one line each.
    """

    lengths: NDArray[Any]
    absent: NDArray[np.bool_] | None
    notes: tuple[str, ...]


def read_matrix(
    rows: list[Any], no_edge: Number | str | None = None, symmetric: bool | None = None
) -> LengthMatrix:
    """Check a square list of rows.

    Parameters
    ----------
    rows : list of lists
        Numbers, and what stands for an edge that is not there.
    no_edge : int, float or 'none', optional
        The number that stands for it, or that none does; recognised if not given.
    symmetric : bool, optional
        Whether lengths are to be the same in both directions; as they are if not given.

    Raises
    ------
    DataError
        If rows are ragged, an entry is no number, or the matrix is not symmetric and is to be.
    """
    size, notes = len(rows), list[str]()
    flat = flattened(rows, "matrix", size)
    absent = np.zeros((size, size), dtype=bool)
    if not _are_plain(flat, no_edge):
        marks = [_is_absent(x, no_edge) for x in flat]
        absent = np.array(marks, dtype=bool).reshape(size, size)
        np.fill_diagonal(absent, False)
        numbers = {x for x, mark in zip(flat, marks, strict=True) if mark and isinstance(x, int | float)}
        if no_edge is None and (found := sorted(numbers - {math.inf})):
            notes.append(_recognised(" and ".join(map(str, found)), absent))
        flat = [0 if mark else x for x, mark in zip(flat, marks, strict=True)]
    lengths = number_array(flat, "matrix", width=size).reshape(size, size).copy()
    np.fill_diagonal(lengths, 0)  # it means nothing: 0, 9999 and 10^8 all occur
    if no_edge is None and (number := _sentinel(lengths, absent)) is not None:
        absent |= lengths == number
        notes.append(_recognised(str(number), absent))
    if no_edge is None and not absent.any():
        notes += _doubtful_zeros(lengths)
    lengths[absent] = 0
    if symmetric is not False:
        lengths, more = _symmetric(lengths, absent, insist=bool(symmetric))
        notes += more
    if absent.any():
        lengths[absent] = penalty(lengths, absent)
    return LengthMatrix(lengths, absent if absent.any() else None, tuple(notes))


def flattened(rows: list[Any], field: str, width: int) -> list[Any]:
    """Check a list of rows of `width` each, and join them."""
    plain = set(map(type, rows)) <= {list, tuple} and set(map(len, rows)) <= {width}
    for i, row in enumerate(rows) if not plain else ():
        if not isinstance(row, list | tuple) or len(row) != width:
            got = len(row) if isinstance(row, list | tuple) else shown(row)
            raise DataError(f"{field}, element {i + 1}: expected {width} numbers, got {got}", field, i)
    return list(chain.from_iterable(rows))


def _are_plain(flat: list[Any], no_edge: Number | str | None) -> bool:
    """Tell whether all entries are lengths, at a glance."""
    plain = set(map(type, flat)) <= {int, float} and not isinstance(no_edge, int | float)
    return plain and (not flat or max(flat) < (math.inf if no_edge else _ENDLESS))


def _is_absent(x: Any, no_edge: Number | str | None) -> bool:
    if x is None or isinstance(x, str):
        return x is None or x.strip().lower() in NO_NUMBER
    if isinstance(x, bool) or not isinstance(x, int | float):
        return False
    return x == math.inf or (x >= _ENDLESS if no_edge is None else x == no_edge)


def _sentinel(lengths: NDArray[Any], absent: NDArray[np.bool_]) -> int | None:
    """Find a number that can only mean that there is no edge.

    It is one that programs take for infinity, and larger than N of any other length together, so that every
    tour with it is longer than every tour without; or -1 where nothing else is negative.
    """
    there = lengths[~absent & ~np.eye(len(lengths), dtype=bool)]
    if not len(there):
        return None
    if there.min() == -1 and there.max() > 0 and (there[there < 0] == -1).all():
        return -1
    top = there.max()
    others = there[there < top]
    if top < _LEAST or top != np.floor(top) or not len(others):
        return None
    dominant = float(top) > len(lengths) * float(others.max()) > 0 and others.min() >= 0
    return int(top) if dominant and _is_round(int(top)) else None


def _is_round(x: int) -> bool:
    return bool(_ROUND.fullmatch(str(x))) or x & (x - 1) == 0 or x & (x + 1) == 0 or x == _FAMOUS


def _recognised(number: str, absent: NDArray[np.bool_]) -> str:
    count = int((absent | absent.T).sum()) // 2
    otherwise = "if it is a length, set no_edge to none, and null says that there is no edge"
    return f"matrix: {number} is taken for no edge ({count} of them); {otherwise}"


def _doubtful_zeros(lengths: NDArray[Any]) -> list[str]:
    """Ask whether zeros mean that there is no edge, where they are unlikely to be lengths.

    They are a quarter of all entries, or two cities at no distance are unlike: their distances to a third one
    differ by more than half the mean (and 1, by which whole lengths of near places may). Rows and columns of
    zeros alone do not count: such a city makes a path of a round trip.
    """
    zero = lengths == 0
    zero &= ~(zero.all(axis=1)[:, None] | zero.all(axis=0) | np.eye(len(lengths), dtype=bool))
    if not (count := np.count_nonzero(zero)):
        return []
    these, those = (cities[:_LOOKED_AT] for cities in np.nonzero(zero))
    apart = np.abs(lengths[these] - lengths[those]).max() - (lengths.dtype == np.int64)
    if apart <= np.abs(lengths[lengths != 0]).mean() / 2 and 4 * count < zero.size - len(zero):
        return []
    note = f"matrix: {count} of {zero.size - len(zero)} lengths between different cities are 0"
    return [f"{note}; if 0 says that there is no edge, set no_edge to 0, and if it is a length to none"]


def _symmetric(
    lengths: NDArray[Any], absent: NDArray[np.bool_], *, insist: bool
) -> tuple[NDArray[Any], list[str]]:
    """Of floats that differ by rounding, let the upper triangle count; say whether others differ.

    Raises
    ------
    DataError
        If others do, and symmetry is insisted on.
    """
    apart = (lengths != lengths.T) | (absent != absent.T)
    if not apart.any():
        return lengths, []
    near = np.zeros_like(apart)
    if lengths.dtype == np.float64:
        near = np.abs(lengths - lengths.T) <= _ROUNDING * np.maximum(np.abs(lengths), np.abs(lengths.T))
    count = int(apart.sum()) // 2
    if (wrong := apart & ~near | (absent != absent.T)).any():
        i, j = np.argwhere(wrong)[0]
        this, other = ("no edge" if absent[k, m] else lengths[k, m] for k, m in ((i, j), (j, i)))
        first = f"entry ({i + 1}, {j + 1}) is {this}, entry ({j + 1}, {i + 1}) is {other}"
        if insist:
            message = f"matrix is not symmetric: {first}"
            message += "; an asymmetric one is to be called so (asymmetric, ATSP)"
            raise DataError(message, "matrix", int(i))
        pairs = "pair of entries differs" if count == 1 else "pairs of entries differ"
        note = f"matrix is not symmetric: {count} {pairs} ({first})"
        return lengths, [f"{note}; lengths count from row to column"]
    upper = np.triu(lengths)
    note = f"matrix: {count} pairs of entries differ by rounding; the upper triangle counts"
    return upper + upper.T, [note]


def penalty(lengths: NDArray[Any], absent: NDArray[np.bool_], known: float | None = None) -> Number:
    """A length for edges that are not there, so large that a tour of others is shorter, if there is one.

    Parameters
    ----------
    lengths : int64 or float64 [N, N]
    absent : bool[N, N]
    known : float, optional
        Length of a tour of other edges; else the longest one that might be.

    Raises
    ------
    DataError
        If it does not fit into 64 bits.
    """
    there = np.where(absent | np.eye(len(lengths), dtype=bool), np.nan, lengths.astype(np.float64))
    ordered = np.sort(there, axis=1)  # what is not there comes last
    lightest = np.nan_to_num(ordered[:, :2])
    if known is None:
        heaviest = np.nan_to_num(-np.sort(-there, axis=1)[:, :2])
        known = float(heaviest.sum()) / 2
    # A tour has two edges at each city, but for the ends of those that are not there.
    most = known - float(lightest.sum()) / 2 + float(np.abs(lightest).max())
    if lengths.dtype == np.int64:
        whole = math.ceil(most * (1 + _ROUNDING)) + 1
        if whole >= _LIMIT:
            raise DataError("matrix: lengths are too long beside edges that are not there", "matrix")
        return max(whole, 1)
    if most <= 0:
        return 1.0
    # Two digits, so that decimals stay decimals.
    power = math.floor(math.log10(most)) - 1
    return float(f"{math.ceil(most / 10.0**power) + 1}e{power}")
