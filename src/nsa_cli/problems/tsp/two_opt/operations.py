"""2-opt on a batch of tours (section 4.4 and Appendix A of the paper).

An action is a pair of tour *positions* (i, j). It replaces the edges (i-1, i) and (j-1, j) by (i-1, j-1)
and (i, j): the cities between are visited backwards, all others as before, so a tour keeps its direction
outside the reversed part. Direction matters because a policy sees a city's predecessor and successor.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.two_opt.batch import TspBatch, pack


class TspOperations(DiscreteOperations[TspInstance, TspBatch]):
    """The paper's TSP: 2-opt over pairs of cities, 7-16-1 and 13-16-1 networks."""

    def __init__(self) -> None:
        self.feature_sets = {
            "paper": FeatureSet((Slot("first city", 7), Slot("second city", 13)), _paper_features),
            "relative": FeatureSet((Slot("first city", 5), Slot("second city", 6)), _relative_features),
        }

    def arrays(self, instances: Sequence[TspInstance], unit: float | None = None) -> TspBatch:
        return pack(instances, unit)

    def cost(self, batch: TspBatch, x: Tensor) -> Tensor:
        return tour_lengths(batch, x)

    def delta(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        first, last = _ends(action)
        size = x.shape[1]
        around = torch.stack([(first - 1) % size, first, last, (last + 1) % size], 1)
        before, a, b, after = x.gather(1, around).unbind(1)
        old_new = edge_lengths(
            batch, torch.stack([before, a, before, b], 1), torch.stack([b, after, a, after], 1)
        )
        return old_new[:, 0] + old_new[:, 1] - old_new[:, 2] - old_new[:, 3]

    def apply(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        first, last = _ends(action)
        position = torch.arange(x.shape[1], device=x.device)
        first, last = first[:, None], last[:, None]
        inside = (position >= first) & (position <= last)
        return x.gather(1, torch.where(inside, first + last - position, position))

    def allowed(self, batch: TspBatch, x: Tensor, chosen: Action) -> Tensor:
        """Any first city; any second but the first and its tour neighbours, which change nothing."""
        size = x.shape[1]
        if not chosen or size < 4:
            return torch.full(x.shape, size >= 4, device=x.device)
        ahead = (torch.arange(size, device=x.device) - chosen[0][:, None]) % size
        return (ahead > 1) & (ahead < size - 1)


def _ends(action: Action) -> tuple[Tensor, Tensor]:
    """First and last position of the segment that an action reverses."""
    i, j = action
    # Of an action that is not possible (up to three cities) only the index must be in range.
    return torch.minimum(i, j), (torch.maximum(i, j) - 1).clamp(min=0)


def tour_lengths(batch: TspBatch, x: Tensor) -> Tensor:
    """Lengths of closed tours, int64[B, N]: float64[B]."""
    return edge_lengths(batch, x, x.roll(-1, 1)).sum(1)


def edge_lengths(batch: TspBatch, u: Tensor, v: Tensor) -> Tensor:
    """Edge lengths between cities `u` and `v`, int64[B, K]: float64[B, K]."""
    rows = torch.arange(len(u), device=u.device)[:, None]
    if batch.matrix is not None:
        return batch.matrix[rows, u, v]
    assert batch.coords is not None
    return METRICS[batch.kind].lengths(batch.coords[rows, u], batch.coords[rows, v])


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

    First city i: edges (i-1, i) and (i, i+1), distances to the nearest neighbours of i and of i-1, log T / 2.
    Second city j: the added edges (i, j) and (i-1, j-1), the removed ones (j-1, j) and (i-1, i), log T / 2,
    and the gain per temperature, squashed to (-1, 1).
    """
    size = x.shape[1]
    spacing = (batch.scale / size**0.5)[:, None]
    heat = (temperature.expand(len(x)) * size**0.5)[:, None]
    log_heat = (0.5 * heat.clamp(min=1e-30).log()).expand(-1, size)
    before = x.roll(1, 1)
    edge = edge_lengths(batch, before, x) / spacing
    if not chosen:
        nearest = batch.nearest.gather(1, x) / spacing
        parts = [edge, edge.roll(-1, 1), nearest, nearest.roll(1, 1), log_heat]
        return torch.stack(parts, 2).float()
    first = chosen[0][:, None]
    new_here = edge_lengths(batch, x.gather(1, first).expand(-1, size), x) / spacing
    new_before = edge_lengths(batch, before.gather(1, first).expand(-1, size), before) / spacing
    old_first = edge.gather(1, first).expand(-1, size)
    gain = (edge + old_first - new_here - new_before) / heat
    parts = [new_here, new_before, edge, old_first, log_heat, gain / (1 + gain.abs())]
    return torch.stack(parts, 2).float()
