"""Policies of discrete problems: slot after slot, a softmax over the allowed candidates.

Section 3.2 of the paper: one two-layer network a slot scores each candidate from its features. Uniform
proposals have all logits zero. A candidate is drawn by inversion, one a row from one uniform number a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nsa_cli.core.neighbourhood import Trained
from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Operations, Slot
from nsa_cli.core.policy import Proposal
from nsa_cli.kernels.draws import LANES


class Pick(NamedTuple):
    """A candidate of each row.

    Attributes
    ----------
    candidate : int64[B]
    possible : bool[B]
        False where no candidate was allowed; `candidate` then means nothing.
    """

    candidate: Tensor
    possible: Tensor


def by_weight(weights: Tensor, u: Tensor) -> Pick:
    """Choose in proportion to non-negative weights, by inversion of their cumulative sum.

    Parameters
    ----------
    weights : float64[B, N]
    u : float64[B]
        In (0, 1).
    """
    cumulative = weights.cumsum(1)
    total = cumulative[:, -1]
    # Below the total even where the product rounds up to it: else what has no weight could be chosen.
    threshold = torch.minimum(u * total, total.nextafter(torch.zeros_like(total)))
    index = (cumulative <= threshold[:, None]).sum(1)
    return Pick(index.clamp(max=weights.shape[1] - 1), total > 0)


def by_softmax(logits: Tensor, allowed: Tensor, u: Tensor) -> Pick:
    """Choose in proportion to exp(logits) among the allowed candidates.

    The order of the inverted sum is that of kernels, which add up 16 candidates side by side: 0, 16, 32, …,
    then 1, 17, ….

    Parameters
    ----------
    logits : float32[B, N]
    allowed : bool[B, N]
    u : float64[B]
    """
    masked = logits.masked_fill(~allowed, -torch.inf)
    shifted = masked - masked.amax(1, keepdim=True)
    # A row without candidates is -inf - -inf = nan throughout.
    weights = shifted.double().exp().nan_to_num(0.0)
    rows, size = weights.shape
    blocks = -(-size // LANES)
    padded = torch.nn.functional.pad(weights, (0, blocks * LANES - size))
    by_lane = padded.reshape(rows, blocks, LANES).transpose(1, 2).reshape(rows, -1)
    place, possible = by_weight(by_lane, u)
    candidate = place % blocks * LANES + place // blocks
    return Pick(candidate.clamp(max=size - 1), possible)


def by_maximum(logits: Tensor, allowed: Tensor) -> Pick:
    """Choose the likeliest allowed candidate, the first among equals."""
    masked = logits.masked_fill(~allowed, -torch.inf)
    return Pick(masked.argmax(1), allowed.any(1))


def log_softmax(logits: Tensor, allowed: Tensor, index: Tensor) -> Tensor:
    """Log-probability of choosing `index` by `by_softmax`, float64[B]; -inf where it is not allowed."""
    masked = logits.double().masked_fill(~allowed, -torch.inf)
    chosen = masked.gather(1, index[:, None])[:, 0]
    return torch.where(chosen == -torch.inf, chosen, chosen - masked.logsumexp(1))


#: Hidden units of the paper's networks.
HIDDEN = 16


class PointwiseNetwork(nn.Module):
    """Two-layer perceptron for each candidate alike: F -> hidden -> 1, ReLU.

    The output has no bias: a softmax would not see it (Appendix A: 112, 160, 384 parameters). Weights may
    have a leading axis of P members, each of which scores its share of the rows (see
    `nsa_cli.train.es.stacked`).
    """

    def __init__(self, features: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        """Score candidates: float32[B, N, F] -> float32[B, N]."""
        if self.first.weight.dim() == 3:
            return self._forward_members(features)
        hidden = torch.relu(self.first(features))
        # As a sum over the hidden units and not as a product of matrices: the order of summation, and
        # with it the last bit, must not depend on how many chains share the batch.
        return (hidden * self.second.weight[0]).sum(-1)

    def _forward_members(self, features: Tensor) -> Tensor:
        shared = features.reshape(len(self.first.weight), -1, features.shape[-1])
        hidden = torch.baddbmm(self.first.bias[:, None], shared, self.first.weight.mT).relu_()
        return torch.bmm(hidden, self.second.weight.mT).reshape(features.shape[:-1])


class UniformSlotPolicy:
    """Uniform proposals: every allowed candidate alike. Vanilla simulated annealing.

    Choices slot after slot, each from the softmax of `logits` over the allowed candidates; here these are 0.

    Attributes
    ----------
    trained : Trained or None
    temperature_steps : int
        See `nsa_cli.core.policy.Policy`.
    greedy : bool
        Propose the likeliest action instead of a sampled one ("greedy" in the paper's tables).
    """

    name = "uniform"
    trained: Trained | None = None
    temperature_steps = 1
    greedy = False

    def draws(self, operations: Operations[Any, Any], x: Tensor) -> int:
        """Count the slots: one uniform number each."""
        assert isinstance(operations, DiscreteOperations)
        return operations.slots

    def scores(self, slot: int) -> bool:
        """Tell whether the candidates of a slot have logits other than 0."""
        return False

    def logits(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, chosen: Action, temperature: Tensor
    ) -> Tensor:
        """Compute the logits of slot ``len(chosen)``, float32[B, N]."""
        assert isinstance(operations, DiscreteOperations)
        return torch.zeros_like(operations.allowed(batch, x, chosen), dtype=torch.float32)

    def propose(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, u: Tensor
    ) -> Proposal:
        assert isinstance(operations, DiscreteOperations)
        chosen: Action = ()
        possible = torch.ones(len(x), dtype=torch.bool, device=x.device)
        for slot in range(self.draws(operations, x)):
            allowed = operations.allowed(batch, x, chosen)
            if not self.scores(slot):
                pick = by_weight(allowed.double(), u[slot])
            else:
                logits = self.logits(operations, batch, x, chosen, temperature)
                pick = by_maximum(logits, allowed) if self.greedy else by_softmax(logits, allowed, u[slot])
            chosen, possible = (*chosen, pick.candidate), possible & pick.possible
        return Proposal(chosen, possible)

    def log_prob(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, action: Action
    ) -> Tensor:
        assert isinstance(operations, DiscreteOperations)
        total = torch.zeros(len(x), dtype=torch.float64, device=x.device)
        for slot, index in enumerate(action):
            logits = self.logits(operations, batch, x, action[:slot], temperature)
            allowed = operations.allowed(batch, x, action[:slot])
            total = total + log_softmax(logits, allowed, index)
        return total


class SlotPolicy(UniformSlotPolicy, nn.Module):
    """A learnt policy: one network a slot, or none where the choice is uniform.

    Parameters
    ----------
    slots : sequence of Slot
        Of the feature set it is trained on.
    feature_set : str
    hidden : int
    name : str
    """

    def __init__(
        self, slots: Sequence[Slot], feature_set: str = "paper", hidden: int = HIDDEN, name: str = "untrained"
    ) -> None:
        super().__init__()
        self.feature_set, self.hidden, self.name = feature_set, hidden, name
        self.networks = nn.ModuleList(
            PointwiseNetwork(slot.features, hidden) if slot.features else nn.Identity() for slot in slots
        )

    def features(self, operations: Operations[Any, Any]) -> FeatureSet:
        """Find the feature set by name in the problem's operations."""
        assert isinstance(operations, DiscreteOperations)
        return operations.feature_sets[self.feature_set]

    def scores(self, slot: int) -> bool:
        return isinstance(self.networks[slot], PointwiseNetwork)

    def logits(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, chosen: Action, temperature: Tensor
    ) -> Tensor:
        if not self.scores(len(chosen)):
            return super().logits(operations, batch, x, chosen, temperature)
        features = self.features(operations).compute(batch, x, chosen, temperature)
        return self.networks[len(chosen)](features)
