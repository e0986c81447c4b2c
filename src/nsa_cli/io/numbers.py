"""Strict parsing of numbers: Python's `float` also takes ``1_000``, ``nan`` and ``infinity``."""

from __future__ import annotations

import math
import re

from nsa_cli.core.exact import whole

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eEdD][+-]?[0-9]{1,5})?")


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
