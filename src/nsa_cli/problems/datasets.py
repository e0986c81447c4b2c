"""Binary data sets as records: arrays with an axis of instances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, NoReturn

import numpy as np

from nsa_cli.core.problem import Problem
from nsa_cli.core.record import Record, Source
from nsa_cli.io.arrays import plain_data
from nsa_cli.problems.vocabulary import axes_of, candidates, recognise, vocabulary

#: Keys of any data set beside its problem's, with their axes: one number an instance.
_EVERYWHERE = {"best_known": 0}


def read_arrays(source: Source, problem: Problem[Any] | None) -> list[Record]:
    """Split a data set into one record an instance.

    Parameters
    ----------
    source : Source
        With `arrays`.
    problem : Problem, optional
        Recognised by the names of the arrays, or the number of their axes.

    Raises
    ------
    InputError
        If the arrays are of no problem, of several lengths, or there is one too many.
    """
    if isinstance(source.arrays, Mapping):
        arrays = source.arrays
        problem = problem or recognise(Record(dict(arrays), source))
    else:
        problem, arrays = _unnamed(source, problem)
    axes = {**problem.arrays, **_EVERYWHERE}

    def fail(message: str, _: str, **hints: Any) -> NoReturn:
        raise source.error(message, **hints)

    names = vocabulary(problem).bind(arrays, fail, source.reading, axes)
    counts = {key: _count(source, key, arrays[name], axes[key]) for key, name in names.items()}
    several = {count for count in counts.values() if count is not None}
    if len(several) > 1:
        sizes = ", ".join(f"{key} {count}" for key, count in counts.items() if count is not None)
        raise source.error(f"expected arrays of equally many instances, got {sizes}")
    stem, records = PurePath(source.name).name.split(".")[0], []
    for i in range(1, max(several, default=1) + 1):
        data: dict[str, Any] = {"problem": problem.name, **({"name": f"{stem}-{i}"} if several else {})}
        for key, name in names.items():
            value = arrays[name] if counts[key] is None else arrays[name][i - 1]
            single = axes[key] == 0 and np.size(value) == 1
            data[key] = np.asarray(value).item() if single else plain_data(value, key)
        records.append(Record(data, replace(source, name=f"{source.name}[{i}]") if several else source))
    return records


def _unnamed(source: Source, given: Problem[Any] | None) -> tuple[Problem[Any], dict[str, Any]]:
    """Choose the problem by the number of axes; a plain list of numbers needs the user's word."""
    depth, hints = axes_of(source.arrays), dict[str, Any]()
    for problem in candidates(given):
        key, axes = next(iter(problem.arrays.items()), ("", -2))
        if depth not in (axes, axes + 1):
            continue
        hints = {"use": {"problem": None}}
        if axes > 1 or given is not None:
            square = "matrix" in problem.arrays and _is_square(source.arrays)
            return problem, {"matrix" if square else key: source.arrays}
    message = f"expected named arrays (.npz), got one without a name, of {depth} axes"
    raise source.other(f"cannot tell the problem: {message}", **hints)


def _is_square(arrays: Any) -> bool:
    """Tell a matrix of distances, or several, from coordinates: as many columns as rows, a zero diagonal."""
    try:
        array = np.asarray(arrays, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return False
    square = array.ndim >= 2 and array.shape[-1] == array.shape[-2] > 2
    return square and not np.diagonal(array, axis1=-2, axis2=-1).any()


def _count(source: Source, key: str, value: Any, axes: int) -> int | None:
    """Count the instances of an array; None if it is one instance's, or all instances'."""
    depth = axes_of(value)
    if depth == axes:
        return None
    column = isinstance(value, np.ndarray) and axes == 0 and depth == 2 and value.shape[1] == 1
    if depth != axes + 1 and not column:
        raise source.error(f"{key}: expected an array of {axes} or {axes + 1} axes, got {depth}")
    if len(value) == 0:
        raise source.error(f"{key}: holds no instances")
    return len(value)
