"""Data in memory as plain lists and numbers, as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError, shown

#: Types of what lists may hold as it is.
_PLAIN = {int, float, str, bool, type(None)}


def plain_data(value: Any, key: str = "data") -> Any:
    """Turn arrays, and whatever can be one (tensors, series), into lists; mappings and sequences within, too.

    Parameters
    ----------
    value : object
    key : str
        Its name, for messages.

    Raises
    ------
    DataError
        If it cannot be an array, or a mapping has keys that are no names.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        if odd := [name for name in value if not isinstance(name, str)]:
            raise DataError(f"{key}: expected names as keys, got {shown(odd[0])}", key)
        return {name: plain_data(inner, name) for name, inner in value.items()}
    if hasattr(value, "tocsr"):  # as SciPy has them
        advice = "of distances give an array, with infinity where there is no edge; of other data toarray()"
        raise DataError(f"{key}: expected an array, got a sparse matrix; {advice}", key)
    if hasattr(value, "__array__"):
        try:
            return np.asarray(value).tolist()
        except Exception as error:  # of the library that made it
            raise DataError(f"{key}: cannot be made an array: {shown(error, 120)}", key) from None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        if set(map(type, value)) <= _PLAIN:
            return list(value)
        return [plain_data(inner, key) for inner in value]
    return value
