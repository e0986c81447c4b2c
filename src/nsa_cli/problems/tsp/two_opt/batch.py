"""Batches of instances as arrays, for torch operations and kernels alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.problems.tsp.closed import ClosedTour
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.starts import edge_matrix

#: Mean distance of two uniform points in the unit square: 0.5214.
MEAN_DISTANCE = (2 + 2**0.5 + 5 * float(np.log(1 + 2**0.5))) / 15

#: Cities up to which all pairs are looked at.
_SMALL = 64

#: Multiple of the median of a matrix from which on a length is an outlier.
_OUTLYING = 10.0

#: Share of the longest length below which none is an outlier: in units of it float32 holds all of them.
_SMALLEST = 1e-30

#: Pairs that the mean distance of a metric without a plane is estimated from.
_SAMPLED_PAIRS = 200_000


class TspBatch(NamedTuple):
    """Instances of one size and one metric, as arrays or as tensors.

    Attributes
    ----------
    kind : str
        Metric, or ``EXPLICIT``.
    coords : float64[B, N, axes], or None
        As the metric measures them.
    matrix : float64[B, N, N], or None
    points : float32[B, N, 2]
        Features of policies: the cities in about the unit square.
    nearest : float64[B, N]
        Length of the edge to each city's nearest neighbour.
    scale : float64[B]
        Length, in file units, of the side of that square.
    candidates : int64[B, N, k], or None
        Candidate lists: the nearest other cities of each city, nearest first.
    """

    kind: str
    coords: Any
    matrix: Any
    points: Any
    nearest: Any
    scale: Any
    candidates: Any = None


def pack(instances: Sequence[TspInstance], unit: float | None = None) -> TspBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    distinct = {id(instance): instance for instance in instances}
    made = {key: _arrays(instance, unit) for key, instance in distinct.items()}
    rows = [made[id(instance)] for instance in instances]
    measured, points, nearest, scale = zip(*rows, strict=True)
    data = np.stack(measured)
    explicit = instances[0].matrix is not None
    return TspBatch(
        kind=instances[0].edge_weight_type,
        coords=None if explicit else data,
        matrix=data if explicit else None,
        points=np.stack(points),
        nearest=np.stack(nearest),
        scale=np.array(scale, dtype=np.float64),
    )


def _arrays(instance: TspInstance, unit: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Coordinates or matrix, points, nearest edges and scale of one instance."""
    if isinstance(
        instance, ClosedTour
    ):  # penalties are no distances; policies, which look at some, have none
        scale, size = _arrays(instance.outer, unit)[3], instance.size
        assert instance.matrix is not None
        return instance.matrix, np.zeros((size, 2), np.float32), np.zeros(size), scale
    points = _plane(instance)
    low, side = (np.zeros(2), unit) if unit is not None else _square(points)
    metric = instance.metric
    if metric is not None and metric.per_unit is not None:
        scale = side * metric.per_unit
    elif unit is not None:
        scale = unit
    else:
        scale = _mean_length(instance) / MEAN_DISTANCE
    measured = instance.measured if instance.matrix is None else instance.matrix.astype(np.float64)
    seen = ((points - low) / side).astype(np.float32)
    return measured, seen, _nearest_edges(instance), scale if scale > 0 else 1.0


def _nearest_edges(instance: TspInstance) -> np.ndarray:
    """Length of each city's shortest edge, float64[N]; memory linear in N."""
    size = instance.size
    if size < 2:
        return np.zeros(size)
    if instance.matrix is not None or size <= _SMALL:
        lengths = edge_matrix(instance)
        np.fill_diagonal(lengths, np.inf)
        return np.asarray(lengths.min(1))
    from nsa_cli.problems.tsp.neighbour_lists import nearest_points

    return np.asarray(instance.edges(np.arange(size), nearest_points(instance.points, 1)[:, 0]))


def _square(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Corner and side of the square that uniform points seem to come from.

    The range of n uniform numbers is short of the true side by (n - 1) / (n + 1) on average; undoing that
    makes the paper's instances come out as what they are, on average.
    """
    low, high = points.min(0), points.max(0)
    size = len(points)
    side = float((high - low).max()) * ((size + 1) / (size - 1) if size > 1 else 1.0)
    if side == 0:
        return low, 1.0
    return (low + high - side) / 2, side


def _mean_length(instance: TspInstance) -> float:
    """Mean edge length, of all pairs or of many."""
    size = instance.size
    if size < 2:
        return 1.0
    if size * (size - 1) // 2 <= _SAMPLED_PAIRS:
        i, j = np.triu_indices(size, 1)
    else:
        rng = np.random.default_rng(0)
        i, shift = rng.integers(0, size, _SAMPLED_PAIRS), rng.integers(1, size, _SAMPLED_PAIRS)
        j = (i + shift) % size
    lengths = np.abs(instance.edges(i, j).astype(np.float64))
    return float(np.minimum(lengths, _outlying(lengths)).mean())


def _outlying(lengths: np.ndarray) -> float:
    """Length from which on others say nothing of a typical change: marks of edges that are not there."""
    return max(_OUTLYING * float(np.median(lengths)), _SMALLEST * float(lengths.max())) or np.inf


def _plane(instance: TspInstance) -> np.ndarray:
    """Two coordinates a city: the file's own, or for a matrix those that reproduce it best.

    The latter is classical multidimensional scaling: the two leading eigenvectors of the doubly centred
    squared distances (Torgerson 1952).
    """
    if instance.coords is not None:
        return instance.coords[:, :2].astype(np.float64)
    assert instance.matrix is not None
    lengths = instance.matrix.astype(np.float64)
    if instance.route.directed:
        lengths = (lengths + lengths.T) / 2
    squared = np.minimum(lengths, _outlying(np.abs(lengths))) ** 2
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    if len(values) < 2:
        return np.zeros((len(values), 2))
    return vectors[:, :-3:-1] * np.sqrt(values[:-3:-1].clip(0.0))
