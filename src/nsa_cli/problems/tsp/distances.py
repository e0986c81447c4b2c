"""Edge lengths of TSPLIB, one formula each, for NumPy arrays and torch tensors alike.

Formulas are those of the TSPLIB 95 documentation (Reinelt), with its rounding ``nint(x) = (int)(x + 0.5)``:
not Python's or NumPy's, which round halves to even. Lengths come back as float64 whole numbers where the
type rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

ArrayT = TypeVar("ArrayT", NDArray[np.float64], "torch.Tensor")


def _namespace(x: object) -> ModuleType:
    if isinstance(x, np.ndarray | np.generic):
        return np
    import torch

    return torch


def _nint(x: Any) -> Any:
    return _namespace(x).floor(x + 0.5)


def _norm(a: Any, b: Any) -> Any:
    difference = a - b
    return _namespace(a).sqrt((difference * difference).sum(-1))


def _manhattan(a: Any, b: Any) -> Any:
    return _nint(abs(a - b).sum(-1))


def _chebyshev(a: Any, b: Any) -> Any:
    per_axis = _nint(abs(a - b))
    xp = _namespace(a)
    largest = per_axis[..., 0]
    for axis in range(1, per_axis.shape[-1]):
        largest = xp.maximum(largest, per_axis[..., axis])
    return largest


def _pseudo_euclidean(a: Any, b: Any) -> Any:
    # nint, and one more where that rounded down: the ceiling.
    difference = a - b
    xp = _namespace(a)
    return xp.ceil(xp.sqrt((difference * difference).sum(-1) / 10.0))


def _geographical(a: Any, b: Any) -> Any:
    """Great-circle kilometres between (latitude, longitude) in TSPLIB's radians, see `prepare`."""
    xp = _namespace(a)
    q1 = xp.cos(a[..., 1] - b[..., 1])
    q2 = xp.cos(a[..., 0] - b[..., 0])
    q3 = xp.cos(a[..., 0] + b[..., 0])
    cosine = (0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)).clip(-1.0, 1.0)
    return xp.floor(6378.388 * xp.arccos(cosine) + 1.0)


@dataclass(frozen=True)
class Metric:
    """A way to measure edges between coordinates.

    Attributes
    ----------
    label : str
        The convention, as the result states it.
    axes : int
        Coordinates a city.
    rounded : bool
        Whether lengths are whole numbers.
    per_unit : float or None
        Length of an edge that is 1 long in coordinates; None where coordinates are angles.
    lengths : callable
        ``lengths(a, b)`` of float64 ``[..., axes]`` gives float64 ``[...]``.
    """

    label: str
    axes: int
    rounded: bool
    per_unit: float | None
    lengths: Callable[[Any, Any], Any]


METRICS = {
    "EUC_2D": Metric("EUC_2D (rounded)", 2, True, 1.0, lambda a, b: _nint(_norm(a, b))),
    "EUC_3D": Metric("EUC_3D (rounded)", 3, True, 1.0, lambda a, b: _nint(_norm(a, b))),
    "CEIL_2D": Metric("CEIL_2D (rounded up)", 2, True, 1.0, lambda a, b: _namespace(a).ceil(_norm(a, b))),
    "FLOOR_2D": Metric(
        "FLOOR_2D (rounded down)", 2, True, 1.0, lambda a, b: _namespace(a).floor(_norm(a, b))
    ),
    "EXACT_2D": Metric("EXACT_2D (real)", 2, False, 1.0, _norm),
    "EXACT_3D": Metric("EXACT_3D (real)", 3, False, 1.0, _norm),
    "MAN_2D": Metric("MAN_2D (rounded)", 2, True, 1.0, _manhattan),
    "MAN_3D": Metric("MAN_3D (rounded)", 3, True, 1.0, _manhattan),
    "MAX_2D": Metric("MAX_2D (rounded)", 2, True, 1.0, _chebyshev),
    "MAX_3D": Metric("MAX_3D (rounded)", 3, True, 1.0, _chebyshev),
    "ATT": Metric("ATT (pseudo-Euclidean, rounded up)", 2, True, 10.0**-0.5, _pseudo_euclidean),
    "GEO": Metric("GEO (km, rounded)", 2, True, None, _geographical),
}


def prepare(kind: str, coords: NDArray[Any]) -> NDArray[np.float64]:
    """Turn a file's coordinates into those that `METRICS[kind].lengths` measures.

    Parameters
    ----------
    kind : str
        A key of `METRICS`.
    coords : int64 or float64 [N, axes]
        GEO: latitude and longitude as degrees and minutes, DDD.MM.

    Returns
    -------
    float64[N, axes]
        GEO: radians, with TSPLIB's value of pi.
    """
    coords = coords.astype(np.float64)
    if kind != "GEO":
        return coords
    degrees = np.trunc(coords)
    minutes = coords - degrees
    return 3.141592 * (degrees + 5.0 * minutes / 3.0) / 180.0
