"""Reference operations of the paper's neighbourhood, on a batch of packings (section 4.3, Appendix A)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.bin.batch import pack
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels.batch import BinBatch


class BinOperations(DiscreteOperations[BinInstance, BinBatch]):
    """The paper's bin packing: an item, then a bin with room for it; two 3-16-1 networks.

    There are as many bins as items; the energy is the number of bins in use.
    """

    def __init__(self) -> None:
        self.feature_sets = {"paper": FeatureSet((Slot("item", 3), Slot("bin", 3)), _paper_features)}

    def arrays(self, instances: Sequence[BinInstance], unit: float | None = None) -> BinBatch:
        return pack(instances, unit)

    def cost(self, batch: BinBatch, x: Tensor) -> Tensor:
        return (sum_by_bin(x, torch.ones_like(x)) > 0).sum(1).double()

    def delta(self, batch: BinBatch, x: Tensor, action: Action) -> Tensor:
        item, target = action
        source = x.gather(1, item[:, None])
        closes = (x == source).sum(1) == 1
        opens = (x == target[:, None]).sum(1) == 0
        return opens.double() - closes.double()

    def apply(self, batch: BinBatch, x: Tensor, action: Action) -> Tensor:
        item, target = action
        return x.scatter(1, item[:, None], target[:, None])

    def allowed(self, batch: BinBatch, x: Tensor, chosen: Action) -> Tensor:
        """Any item; then bins with room for it, but not its own."""
        if not chosen:
            return torch.ones_like(x, dtype=torch.bool)
        item = chosen[0][:, None]
        roomy = free_of(batch, x) >= batch.weights.gather(1, item)
        return roomy.scatter(1, x.gather(1, item), False)


def sum_by_bin(x: Tensor, numbers: Tensor) -> Tensor:
    """Sum the items' numbers by bin: int64[B, N]."""
    return torch.zeros_like(x).scatter_add_(1, x, numbers)


def free_of(batch: BinBatch, x: Tensor) -> Tensor:
    """Free capacity of every bin, in exact units: int64[B, N]."""
    return batch.capacity[:, None] - sum_by_bin(x, batch.weights)


def _paper_features(batch: BinBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
    """Weight of an item, free capacity of its bin and T; then the chosen weight, free capacity and T."""
    unit = batch.unit[:, None]
    weights = (batch.weights / unit).float()
    free = (free_of(batch, x) / unit).float()
    heat = temperature.to(torch.float32).expand(len(x))[:, None].expand_as(weights)
    if not chosen:
        return torch.stack([weights, free.gather(1, x), heat], 2)
    chosen_weight = weights.gather(1, chosen[0][:, None]).expand_as(weights)
    return torch.stack([chosen_weight, free, heat], 2)


operations = BinOperations()
