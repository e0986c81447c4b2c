"""2-opt on a batch of tours in torch (section 4.4 and Appendix A of the paper), and with candidate lists.

An action is a pair of tour *positions* (i, j). It replaces the edges (i-1, i) and (j-1, j) by (i-1, j-1)
and (i, j): the cities between are visited backwards, all others as before, so a tour keeps its direction
outside the reversed part. Direction matters because a policy sees a city's predecessor and successor. For
the moves with candidate lists see `nsa_cli.problems.tsp.kernels.candidates`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.candidates import WINDOW, stride_of
from nsa_cli.problems.tsp.neighbour_lists import candidate_lists
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
        u, v = torch.stack([before, a, before, b], 1), torch.stack([b, after, a, after], 1)
        old_new = edge_lengths(batch, u, v)
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


# --- candidate lists ---------------------------------------------------------------------------------


class NearestOperations(TspOperations):
    """2-opt with candidate lists, 5-16-1 and 6-16-1 networks.

    Parameters
    ----------
    count : int
        k, of the largest lists.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        slots = (Slot("window", 0), Slot("first city", 5), Slot("candidate", 6))
        self.feature_sets = {"nearest": FeatureSet(slots, self._features)}

    def arrays(self, instances: Sequence[TspInstance], unit: float | None = None) -> TspBatch:
        made = {id(i): candidate_lists(i, self._count).astype(np.int64) for i in instances}
        candidates = np.stack([made[id(i)] for i in instances])
        return super().arrays(instances, unit)._replace(candidates=candidates)

    def delta(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        return super().delta(batch, x, self._places(batch, x, action))

    def apply(self, batch: TspBatch, x: Tensor, action: Action) -> Tensor:
        size = x.shape[1]
        first, last = (end[:, None] for end in _ends(self._places(batch, x, action)))
        position = torch.arange(size, device=x.device)
        inside = (position >= first) & (position <= last)
        turned = inside == (2 * (last - first + 1) <= size)  # the shorter segment: inside, or the rest
        return x.gather(1, torch.where(turned, (first + last - position) % size, position))

    def allowed(self, batch: TspBatch, x: Tensor, chosen: Action) -> Tensor:
        """Any first city; any candidate but its tour neighbours, which change nothing."""
        rows, size = x.shape
        if len(chosen) == 0 or size < 4:
            return torch.full((rows, size), size >= 4, device=x.device)
        if len(chosen) == 1:
            return torch.ones((rows, min(WINDOW, size)), dtype=torch.bool, device=x.device)
        city = _city(x, *chosen)[:, None]
        near = batch.candidates[torch.arange(len(x), device=x.device), city[:, 0]]
        free: Tensor = (near[:, :, None] != _beside(x, city)[:, None, :]).all(2)
        return free.repeat(1, 2)

    def _places(self, batch: TspBatch, x: Tensor, action: Action) -> tuple[Tensor, Tensor]:
        """Turn actions, int64[B] or candidates int64[B, M], into positions as in `TspOperations`."""
        window, offset, m = action
        rows, size = torch.arange(len(x), device=x.device), x.shape[1]
        if size < 4:
            return window, window
        rows = rows.reshape(-1, *[1] * (m.dim() - 1))
        city, width = _city(x, window, offset).reshape(rows.shape), batch.candidates.shape[2]
        where = _positions(x)
        other = where[rows, batch.candidates[rows, city, m % width]]
        after = (m >= width).long()
        return (where[rows, city] + after) % size, (other + after) % size

    def _exchange(self, batch: TspBatch, x: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
        """Lengths of the edges removed, (i-1, i), (j-1, j), and added, (i, j), (i-1, j-1): each [B, …, 2]."""
        rows, size = torch.arange(len(x), device=x.device).reshape(-1, *[1] * (i.dim() - 1)), x.shape[1]
        a, before_a = x[rows, i], x[rows, (i - 1) % size]
        c, before_c = x[rows, j], x[rows, (j - 1) % size]
        u = torch.stack([before_a, before_c, a, before_a], -1)
        v = torch.stack([a, c, c, before_c], -1)
        lengths = edge_lengths(batch, u.reshape(len(x), -1), v.reshape(len(x), -1)).reshape(u.shape)
        return lengths[..., :2], lengths[..., 2:]

    def _features(self, batch: TspBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        """Lengths in units of the spacing of N cities.

        First city a: both its edges, those to its two nearest cities, log T / 2. Candidate c: the added
        edges, (a, c) and the other one; the removed edge of c, and that of a; log T / 2; and the gain per
        temperature, squashed to (-1, 1).
        """
        rows, size = x.shape
        spacing = (batch.scale / size**0.5)[:, None]
        heat = (temperature.expand(rows) * size**0.5)[:, None]
        log_heat = 0.5 * heat.clamp(min=1e-30).log()
        if not chosen:
            return x.new_zeros((rows, size, 0), dtype=torch.float32)
        if size < 4:
            return x.new_zeros((rows, size, 5 + len(chosen) - 1), dtype=torch.float32)
        if len(chosen) == 1:
            offsets = torch.arange(min(WINDOW, size), device=x.device)
            city = _city(x, chosen[0][:, None], offsets)
            near = batch.candidates.gather(1, city[:, :, None].expand(-1, -1, 2))
            ends = (*_beside(x, city).chunk(2, 1), *near.unbind(2))
            parts = [edge_lengths(batch, city, end) / spacing for end in ends]
            return torch.stack([*parts, log_heat.expand_as(city)], 2).float()
        width = batch.candidates.shape[2]
        m = torch.arange(2 * width, device=x.device).expand(rows, -1)
        i, j = self._places(batch, x, (*chosen, m))
        old, new = (lengths / spacing[:, :, None] for lengths in self._exchange(batch, x, i, j))
        # In the second variant, i and j are the successors of the two cities: their edge is the other one.
        new = torch.where((m >= width)[:, :, None], new.flip(2), new)
        gain = (old.sum(2) - new.sum(2)) / heat
        log_heat = log_heat.expand_as(gain)
        parts = [new[..., 0], new[..., 1], old[..., 1], old[..., 0], log_heat, gain / (1 + gain.abs())]
        return torch.stack(parts, 2).float()


def _city(x: Tensor, window: Tensor, offset: Tensor) -> Tensor:
    """Give the cities at some offsets of some windows."""
    size = x.shape[1]
    return (window + offset * stride_of(size)) % size


def _positions(x: Tensor) -> Tensor:
    """Position of each city in its tour, int64[B, N]: the inverse permutation."""
    return torch.empty_like(x).scatter_(1, x, torch.arange(x.shape[1], device=x.device).expand_as(x))


def _beside(x: Tensor, cities: Tensor) -> Tensor:
    """Give predecessors, then successors, of some cities int64[B, M]: int64[B, 2 M]."""
    place, size = _positions(x).gather(1, cities), x.shape[1]
    return x.gather(1, torch.cat([(place - 1) % size, (place + 1) % size], 1))
