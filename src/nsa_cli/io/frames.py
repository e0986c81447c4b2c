"""Tables in memory: data frames of pandas, Polars and Arrow, and structured arrays of NumPy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.errors import DataError


class Frame(NamedTuple):
    """A table as text.

    Attributes
    ----------
    headers : list of str
    rows : list of list of str
        Empty texts stand for what is missing.
    """

    headers: list[str]
    rows: list[list[str]]


def frame_of(value: Any, key: str = "data") -> Frame | None:
    """Read a table that has names of columns; None for anything else.

    An index of pandas is the first column, as in a file of ``to_csv``, unless it only counts the rows.

    Parameters
    ----------
    value : object
    key : str
        Its name, for messages.

    Raises
    ------
    DataError
        If it is a graph, has an index of several levels, or shapes among its cells.
    """
    if isinstance(value, Frame):
        return value
    if hasattr(value, "adjacency") and hasattr(value, "nodes"):  # as networkx has them
        advice = "give nx.to_numpy_array(G, nonedge=math.inf) as matrix, and list(G) as names"
        raise DataError(f"{key}: expected an array, got a graph; {advice}", key)
    if isinstance(value, np.ndarray):
        names = value.dtype.names
        return None if names is None else _written([*names], [value[name].tolist() for name in names], key)
    labels = getattr(value, "column_names", getattr(value, "columns", None))
    if labels is None or not hasattr(value, "__getitem__") or isinstance(value, dict):
        return None
    headers = list(labels)
    if all(isinstance(label, int | np.integer) for label in headers):
        return None  # an array in a frame
    columns = [_listed(value[label]) for label in headers if headers.count(label) == 1]
    index = getattr(value, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        raise DataError(f"{key}: has an index of several levels; use reset_index()", key)
    if index is not None and type(index).__name__ != "RangeIndex":
        headers, columns = [index.name or "", *headers], [list(index), *columns]
    return _written(headers, columns, key)


def _listed(column: Any) -> list[Any]:
    """Give the values of a column; Arrow's have a name for it of their own."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _written(headers: list[Any], columns: list[list[Any]], key: str) -> Frame:
    if len(columns) < len(headers):
        raise DataError(f"{key}: two columns have one name; expected one of each", key)
    if any(hasattr(x, "geom_type") for column in columns for x in column[:1]):
        raise DataError(f"{key}: expected numbers, got shapes; give columns of their x and y", key)
    cells = [[_cell(x) for x in column] for column in columns]
    return Frame([str(header) for header in headers], [list(row) for row in zip(*cells, strict=True)])


def _cell(x: Any) -> str:
    """Write a value as a file of it would have it; a number with all its digits."""
    if x is None or type(x).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(x, np.generic):
        x = x.item()
    return "" if isinstance(x, float) and math.isnan(x) else str(x)
