"""Strict parsing of numbers: Python's `float` also takes ``1_000``, ``nan`` and ``infinity``."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from nsa_cli.core.exact import whole

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eEdD][+-]?[0-9]{1,5})?")

#: What plain numbers consist of, with line breaks between them; and exponents that are too long.
_PLAIN, _LONG_EXPONENT = b"0123456789+-.eE\n", re.compile(rb"[eE][+-]?[0-9]{6}")

#: Below it, each whole float is one integer only.
_TOLD_APART = 2**53


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
    try:
        text = "\n".join(tokens).encode("ascii")
    except UnicodeEncodeError:
        return None
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
        values[i] = int(x) if abs(x) < _TOLD_APART else read_number(tokens[i]) or x
    return values
