"""Reference operations of both neighbourhoods, on a batch of packings (section 4.3, Appendix A)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.problems.bin.fused import bins_of, pack, pack_squares
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.kernels.move import BinBatch, SquaresBatch


class BinOperations(DiscreteOperations[BinInstance, BinBatch]):
    """The paper's bin packing: an item, then a bin with room for it; two 3-16-1 networks.

    There are as many bins as items; the energy is the number of bins in use.
    """

    def __init__(self) -> None:
        self.feature_sets = {"paper": FeatureSet((Slot("item", 3), Slot("bin", 3)), _paper_features)}

    arrays = staticmethod(pack)

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


class SquaresOperations(DiscreteOperations[BinInstance, SquaresBatch]):
    """Choice of an item, then of a bin with room for it or of an item in another bin to swap with.

    Candidates of the second choice are N bins and then N items. No move opens a bin. The energy is the number
    of bins less the sum of squared loads over 2 N: fewer bins come first, and a larger sum of squares second.
    In normalised units, those of the temperature, a bin is 2 N and the squared load of a full bin is 1.
    """

    def __init__(self) -> None:
        self.feature_sets = {"squares": FeatureSet((Slot("item", 3), Slot("other", 6)), _squares_features)}

    arrays = staticmethod(pack_squares)

    def cost(self, batch: SquaresBatch, x: Tensor) -> Tensor:
        bins: Tensor = (sum_by_bin(x, torch.ones_like(x)) > 0).sum(1)
        return bins - (_loads(batch, x) ** 2).sum(1) * batch.scale

    def objectives(self, energy: NDArray[np.float64]) -> NDArray[np.float64]:
        return bins_of(energy)

    def losses(self, energy: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """Bins less squared loads: a bin and the load of a full one count alike."""
        bins = bins_of(energy / (2 * size))
        return energy - (2 * size - 1) * bins

    def delta(self, batch: SquaresBatch, x: Tensor, action: Action) -> Tensor:
        move, loads = _move(batch, x, action), _loads(batch, x)
        shift = (batch.weights.gather(1, move.item) - move.back) / _whole(batch)
        source, target = loads.gather(1, move.source), loads.gather(1, move.target)
        rise = 2.0 * shift * (shift + target - source)
        closes = ~move.swaps & ((x == move.source).sum(1, keepdim=True) == 1)
        return (-closes.double() - rise * batch.scale[:, None])[:, 0]

    def apply(self, batch: SquaresBatch, x: Tensor, action: Action) -> Tensor:
        move = _move(batch, x, action)
        y = x.scatter(1, move.item, move.target)
        return y.scatter(1, move.other, torch.where(move.swaps, move.source, y.gather(1, move.other)))

    def allowed(self, batch: SquaresBatch, x: Tensor, chosen: Action) -> Tensor:
        """Any item; then bins in use with room for it, and items in other bins that it can swap with."""
        if not chosen:
            return torch.ones_like(x, dtype=torch.bool)
        item, free = chosen[0][:, None], free_of(batch, x)
        weight, source = batch.weights.gather(1, item), x.gather(1, item)
        used = sum_by_bin(x, torch.ones_like(x)) > 0
        bins = (used & (weight <= free)).scatter(1, source, False)
        there = weight <= free.gather(1, x) + batch.weights
        here = batch.weights <= free.gather(1, source) + weight
        return torch.cat([bins, there & here & (x != source)], 1)


class _Move(NamedTuple):
    """Action on a packing; int64[B, 1] but for `swaps`, bool[B, 1].

    Attributes
    ----------
    item, source, target
        The item, its bin, and the bin that it goes to.
    swaps, other, back
        Whether two items swap, the other item and its weight; 0 if they do not.
    """

    item: Tensor
    source: Tensor
    target: Tensor
    swaps: Tensor
    other: Tensor
    back: Tensor


def _move(batch: SquaresBatch, x: Tensor, action: Action) -> _Move:
    item, second = (part[:, None] for part in action)
    swaps = second >= x.shape[1]
    other = torch.where(swaps, second - x.shape[1], 0)
    target = torch.where(swaps, x.gather(1, other), second)
    back = torch.where(swaps, batch.weights.gather(1, other), 0)
    return _Move(item, x.gather(1, item), target, swaps, other, back)


def _whole(batch: SquaresBatch) -> Tensor:
    """Capacities to divide by, float64[B, 1]."""
    return batch.capacity.clamp(min=1).double()[:, None]


def _loads(batch: SquaresBatch, x: Tensor) -> Tensor:
    """Loads of all bins as shares of the capacity, float64[B, N]."""
    return sum_by_bin(x, batch.weights) / _whole(batch)


def _squares_features(batch: SquaresBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
    """Features of an item, then of a bin or an item to swap with.

    Weight, free capacity of its bin, log T / 4 of an item; the same of the chosen item, then the weight that
    comes back, the free capacity there, and the gain of squared loads per temperature, squashed to (-1, 1).
    """
    unit = batch.unit[:, None]
    weights, free = (batch.weights / unit).float(), (free_of(batch, x) / unit).float()
    temperature = temperature.clamp(min=1e-30)
    heat = (0.25 * temperature.log()).to(torch.float32).expand(len(x))[:, None]
    room = free.gather(1, x)
    if not chosen:
        return torch.stack([weights, room, heat.expand_as(weights)], 2)
    back = torch.cat([torch.zeros_like(weights), weights], 1)
    there = torch.cat([free, room], 1)
    weight, here = weights.gather(1, chosen[0][:, None]), room.gather(1, chosen[0][:, None])
    shift = weight - back
    gain = 2.0 * shift * (shift + (here - there))
    squashed = gain / (gain.abs() + temperature.to(torch.float32).expand(len(x))[:, None])
    common = (part.expand_as(back) for part in (weight, here, heat))
    return torch.stack([*common, back, there, squashed], 2)


operations = BinOperations()
