"""2-opt on a batch of tours (section 4.4 and Appendix A of the paper).

An action is a pair of tour *positions* (i, j). It replaces the edges (i-1, i) and (j-1, j) by (i-1, j-1)
and (i, j): the cities between are visited backwards, all others as before, so a tour keeps its direction
outside the reversed part. Direction matters because a policy sees a city's predecessor and successor.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.heuristics import neighbours
from nsa_cli.problems.tsp.instance import TspInstance

#: Mean distance of two uniform points in the unit square: 0.5214.
MEAN_DISTANCE = (2 + 2**0.5 + 5 * float(np.log(1 + 2**0.5))) / 15

#: Cities up to which all pairs are looked at.
_SMALL = 64

#: Pairs that the mean distance of a metric without a plane is estimated from.
_SAMPLED_PAIRS = 200_000


class TspBatch(NamedTuple):
    """Instances of one size and one metric.

    Attributes
    ----------
    kind : str
        Metric, or ``EXPLICIT``.
    coords : float64[B, N, axes], or None
        As the metric measures them.
    matrix : float64[B, N, N], or None
    points : float32[B, N, 2]
        What a policy sees: the cities in about the unit square.
    nearest : float64[B, N]
        Length of the edge to each city's nearest neighbour.
    scale : float64[B]
        Length, in file units, of the side of that square.
    """

    kind: str
    coords: Tensor | None
    matrix: Tensor | None
    points: Tensor
    nearest: Tensor
    scale: Tensor


class TspOperations(DiscreteOperations[TspInstance, TspBatch]):
    """The paper's TSP: 2-opt over pairs of cities, 7-16-1 and 13-16-1 networks."""

    def __init__(self) -> None:
        self.feature_sets = {
            "paper": FeatureSet((Slot("first city", 7), Slot("second city", 13)), _paper_features),
            "relative": FeatureSet((Slot("first city", 5), Slot("second city", 6)), _relative_features),
        }

    def group(self, instance: TspInstance) -> Hashable:
        return instance.size, instance.edge_weight_type

    def pack(
        self, instances: Sequence[TspInstance], device: torch.device | str = "cpu", unit: float | None = None
    ) -> TspBatch:
        distinct = {id(instance): instance for instance in instances}
        made = {key: _tensors(instance, unit) for key, instance in distinct.items()}
        rows = [made[id(instance)] for instance in instances]
        measured, points, nearest, scale = zip(*rows, strict=True)
        data = torch.stack(measured).to(device)
        explicit = instances[0].matrix is not None
        return TspBatch(
            kind=instances[0].edge_weight_type,
            coords=None if explicit else data,
            matrix=data if explicit else None,
            points=torch.stack(points).to(device),
            nearest=torch.stack(nearest).to(device),
            scale=torch.tensor(scale, dtype=torch.float64, device=device),
        )

    def cost(self, batch: TspBatch, x: Tensor) -> Tensor:
        return _lengths(batch, x, x.roll(-1, 1)).sum(1)

    def delta(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        first, last = _ends(action)
        size = x.shape[1]
        around = torch.stack([(first - 1) % size, first, last, (last + 1) % size], 1)
        before, a, b, after = x.gather(1, around).unbind(1)
        old_new = _lengths(
            batch, torch.stack([before, a, before, b], 1), torch.stack([b, after, a, after], 1)
        )
        return old_new[:, 0] + old_new[:, 1] - old_new[:, 2] - old_new[:, 3]

    def apply(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        first, last = _ends(action)
        position = torch.arange(x.shape[1], device=x.device)
        first, last = first[:, None], last[:, None]
        inside = (position >= first) & (position <= last)
        return x.gather(1, torch.where(inside, first + last - position, position))

    def reverse(self, batch: TspBatch, x: Tensor, action: Action) -> Action:
        return action  # the same positions, where other cities now stand

    def allowed(self, batch: TspBatch, x: Tensor, chosen: Action) -> Tensor:
        """Any first city; any second but the first and its tour neighbours, which change nothing."""
        size = x.shape[1]
        if not chosen or size < 4:
            return torch.full(x.shape, size >= 4, device=x.device)
        ahead = (torch.arange(size, device=x.device) - chosen[0][:, None]) % size
        return (ahead > 1) & (ahead < size - 1)


def _ends(action: Action) -> tuple[Tensor, Tensor]:
    """First and last position of the part that an action reverses."""
    i, j = action
    # Of an action that is not possible (up to three cities) only the index must be in range.
    return torch.minimum(i, j), (torch.maximum(i, j) - 1).clamp(min=0)


def _lengths(batch: TspBatch, u: Tensor, v: Tensor) -> Tensor:
    """Edge lengths between cities `u` and `v`, int64[B, K]: float64[B, K]."""
    rows = torch.arange(len(u), device=u.device)[:, None]
    if batch.matrix is not None:
        return batch.matrix[rows, u, v]
    assert batch.coords is not None
    lengths: Tensor = METRICS[batch.kind].lengths(batch.coords[rows, u], batch.coords[rows, v])
    return lengths


def _paper_features(batch: TspBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
    """Coordinates of a city and its tour neighbours, and T; for the second city those of both."""
    here = batch.points.gather(1, x[:, :, None].expand(-1, -1, 2))
    around = torch.cat([here.roll(1, 1), here, here.roll(-1, 1)], 2)
    heat = temperature.to(torch.float32).expand(len(x))[:, None, None].expand(-1, x.shape[1], 1)
    if not chosen:
        return torch.cat([around, heat], 2)
    first = around.gather(1, chosen[0][:, None, None].expand(-1, 1, 6)).expand_as(around)
    return torch.cat([first, around, heat], 2)


def _relative_features(batch: TspBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
    """Lengths in units of the spacing of N cities, so that a policy means the same at every size.

    First city i: edges (i-1, i) and (i, i+1), what their cities have as nearest neighbours (i's own and
    that of i-1), log T / 2. Second city j: the edges (i, j) and (i-1, j-1) that come, (j-1, j) and
    (i-1, i) that go, log T / 2, and the gain per temperature, squashed to (-1, 1).
    """
    size = x.shape[1]
    spacing = (batch.scale / size**0.5)[:, None]
    heat = (temperature.expand(len(x)) * size**0.5)[:, None]
    log_heat = (0.5 * heat.clamp(min=1e-30).log()).expand(-1, size)
    before = x.roll(1, 1)
    edge = _lengths(batch, before, x) / spacing
    if not chosen:
        nearest = batch.nearest.gather(1, x) / spacing
        parts = [edge, edge.roll(-1, 1), nearest, nearest.roll(1, 1), log_heat]
        return torch.stack(parts, 2).float()
    first = chosen[0][:, None]
    new_here = _lengths(batch, x.gather(1, first).expand(-1, size), x) / spacing
    new_before = _lengths(batch, before.gather(1, first).expand(-1, size), before) / spacing
    old_first = edge.gather(1, first).expand(-1, size)
    gain = (edge + old_first - new_here - new_before) / heat
    parts = [new_here, new_before, edge, old_first, log_heat, gain / (1 + gain.abs())]
    return torch.stack(parts, 2).float()


# --- packing ---------------------------------------------------------------------------------------


def _tensors(instance: TspInstance, unit: float | None) -> tuple[Tensor, Tensor, Tensor, float]:
    """What is measured (coordinates or matrix), what is seen, nearest edges and scale of one instance."""
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
    nearest = torch.from_numpy(_nearest_edges(instance))
    return torch.from_numpy(measured), torch.from_numpy(seen), nearest, scale if scale > 0 else 1.0


def _nearest_edges(instance: TspInstance) -> np.ndarray:
    """Length of each city's shortest edge, float64[N]; memory linear in N."""
    size = instance.size
    if size < 2:
        return np.zeros(size)
    if instance.matrix is not None:
        lengths = instance.matrix.astype(np.float64)
        np.fill_diagonal(lengths, np.inf)
        return np.asarray(lengths.min(1))
    if size <= _SMALL:
        i, j = (index.ravel() for index in np.indices((size, size)))
        lengths = instance.edges(i, j).reshape(size, size)
        np.fill_diagonal(lengths, np.inf)
        return np.asarray(lengths.min(1))
    _, near = neighbours(instance, np.arange(size), 1)
    return np.asarray(instance.edges(np.arange(size), near[:, 0]))


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
    return float(np.abs(instance.edges(i, j)).mean())


def _plane(instance: TspInstance) -> np.ndarray:
    """Two coordinates a city: the file's own, or for a matrix those that reproduce it best.

    The latter is classical multidimensional scaling: the two leading eigenvectors of the doubly centred
    squared distances (Torgerson 1952).
    """
    if instance.coords is not None:
        return instance.coords[:, :2].astype(np.float64)
    assert instance.matrix is not None
    squared = instance.matrix.astype(np.float64) ** 2
    centred = squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    if len(values) < 2:
        return np.zeros((len(values), 2))
    plane: np.ndarray = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1].clip(0.0))
    return plane
