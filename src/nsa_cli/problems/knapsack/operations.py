"""Reference operations of the paper's neighbourhood, on a batch of selections (section 4.2, Appendix A)."""

from __future__ import annotations

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.knapsack.fused import pack
from nsa_cli.problems.knapsack.instance import KnapsackInstance
from nsa_cli.problems.knapsack.kernels.flip import KnapsackBatch


class KnapsackOperations(DiscreteOperations[KnapsackInstance, KnapsackBatch]):
    """The paper's knapsack: feasible flips of one item, a 5-16-1 network."""

    def __init__(self) -> None:
        self.feature_sets = {
            "paper": FeatureSet((Slot("item", 5),), _paper_features),
            "relative": FeatureSet((Slot("item", 6),), _relative_features),
        }

    arrays = staticmethod(pack)

    def cost(self, batch: KnapsackBatch, x: Tensor) -> Tensor:
        return -(batch.values * x).sum(1)

    def delta(self, batch: KnapsackBatch, x: Tensor, action: Action) -> Tensor:
        item = action[0][:, None]
        value = batch.values.gather(1, item)
        return torch.where(x.gather(1, item), value, -value)[:, 0]

    def apply(self, batch: KnapsackBatch, x: Tensor, action: Action) -> Tensor:
        item = action[0][:, None]
        return x.scatter(1, item, ~x.gather(1, item))

    def allowed(self, batch: KnapsackBatch, x: Tensor, chosen: Action) -> Tensor:
        """Items that can leave, and items that still fit."""
        free = batch.capacity - (batch.weights * x).sum(1)
        fits: Tensor = batch.weights <= free[:, None]
        return x | fits


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
    free = (batch.capacity - (batch.weights * x).sum(1)) * batch.per_weight
    room = free.float().clamp(max=4.0)[:, None].expand_as(weight)
    heat = temperature.to(torch.float32).expand(len(x))[:, None].expand_as(weight)
    return torch.stack([x.float(), weight, value, ratio, room, heat], 2)


operations = KnapsackOperations()
