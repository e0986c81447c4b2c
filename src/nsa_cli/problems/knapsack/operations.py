"""Single flips on a batch of selections (section 4.2 and Appendix A of the paper)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.knapsack.instance import KnapsackInstance


class KnapsackBatch(NamedTuple):
    """Instances of one size.

    Attributes
    ----------
    values : float64[B, N]
        In file units.
    weights : int64[B, N]
        In exact integer units.
    capacity : int64[B]
        In the same units.
    items : float32[B, N, 3]
        What a policy sees and what does not change: weight and value, about in (0, 1], and capacity a
        item (C / N, in the unit of the weights).
    scale : float64[B]
        Value, in file units, that is 1 to the policy.
    """

    values: Tensor
    weights: Tensor
    capacity: Tensor
    items: Tensor
    scale: Tensor


class KnapsackOperations(DiscreteOperations[KnapsackInstance, KnapsackBatch]):
    """The paper's knapsack: feasible flips of one item, a 5-16-1 network."""

    def __init__(self) -> None:
        self.feature_sets = {
            "paper": FeatureSet((Slot("item", 5),), _paper_features),
            "relative": FeatureSet((Slot("item", 6),), _relative_features),
        }

    def group(self, instance: KnapsackInstance) -> Hashable:
        return instance.size

    def pack(
        self,
        instances: Sequence[KnapsackInstance],
        device: torch.device | str = "cpu",
        unit: float | None = None,
    ) -> KnapsackBatch:
        exact = [instance.exact for instance in instances]
        values = torch.stack([torch.from_numpy(i.values).double() for i in instances])
        weights = torch.stack([torch.from_numpy(i.weights).double() for i in instances])
        capacity = torch.tensor([float(i.capacity) for i in instances], dtype=torch.float64)
        scale, weight_unit = _unit(values, unit), _unit(weights, unit)
        size = values.shape[1]
        per_item = (capacity / weight_unit / size)[:, None].expand_as(weights)
        items = torch.stack([weights / weight_unit[:, None], values / scale[:, None], per_item], 2)
        return KnapsackBatch(
            values=values.to(device),
            weights=torch.stack([torch.from_numpy(e.units) for e in exact]).to(device),
            capacity=torch.tensor([e.capacity for e in exact]).to(device),
            items=items.float().to(device),
            scale=scale.to(device),
        )

    def cost(self, batch: KnapsackBatch, x: Tensor) -> Tensor:
        return -(batch.values * x).sum(1)

    def delta(self, batch: KnapsackBatch, x: Tensor, action: Action) -> Tensor:
        item = action[0][:, None]
        value = batch.values.gather(1, item)
        return torch.where(x.gather(1, item), value, -value)[:, 0]

    def apply(self, batch: KnapsackBatch, x: Tensor, action: Action) -> Tensor:
        item = action[0][:, None]
        return x.scatter(1, item, ~x.gather(1, item))

    def reverse(self, batch: KnapsackBatch, x: Tensor, action: Action) -> Action:
        return action

    def allowed(self, batch: KnapsackBatch, x: Tensor, chosen: Action) -> Tensor:
        """Items that can leave, and items that still fit."""
        free = batch.capacity - (batch.weights * x).sum(1)
        return x | (batch.weights <= free[:, None])


def _paper_features(batch: KnapsackBatch, x: Tensor, _: Action, temperature: Tensor) -> Tensor:
    """Occupancy, weight, value, capacity, temperature of every item."""
    heat = temperature.to(torch.float32).expand(len(x))[:, None, None].expand(-1, x.shape[1], 1)
    return torch.cat([x[:, :, None].float(), batch.items, heat], 2)


def _relative_features(batch: KnapsackBatch, x: Tensor, _: Action, temperature: Tensor) -> Tensor:
    """Occupancy, weight, value, log of the ratio of both, free capacity in weights, temperature.

    The free capacity, which the paper's policy does not see (its figure 3), tells filling from exchanging.
    """
    weight, value = batch.items[:, :, 0], batch.items[:, :, 1]
    ratio = (value.clamp(min=1e-6) / weight.clamp(min=1e-6)).log().clamp(-4.0, 4.0)
    free = (batch.capacity - (batch.weights * x).sum(1)) * (
        weight.max(1).values / batch.weights.max(1).values.clamp(min=1)
    )
    room = free.float().clamp(max=4.0)[:, None].expand_as(weight)
    heat = temperature.to(torch.float32).expand(len(x))[:, None].expand_as(weight)
    return torch.stack([x.float(), weight, value, ratio, room, heat], 2)


def _unit(numbers: Tensor, unit: float | None) -> Tensor:
    """The upper end of the range that uniform numbers seem to come from; see `Operations.pack`."""
    if unit is not None:
        return torch.full_like(numbers[:, 0], unit)
    size = numbers.shape[1]
    top = numbers.max(1).values * ((size + 1) / size)
    return torch.where(top > 0, top, torch.ones_like(top))
