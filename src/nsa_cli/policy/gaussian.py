"""Policies of continuous problems: axis-aligned Gaussian steps (section 4.1 of the paper)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Trained
from nsa_cli.core.operations import Action, ContinuousOperations, Operations
from nsa_cli.core.policy import Proposal
from nsa_cli.policy.slots import HIDDEN


class ConstantGaussianPolicy:
    """Axis-aligned Gaussian steps; the same standard deviation everywhere. Vanilla simulated annealing."""

    name = "uniform"
    trained: Trained | None = None
    temperature_steps = 1

    def sigma(self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor) -> Tensor:
        """Compute the standard deviations of the next step, float64[B, D]."""
        assert isinstance(operations, ContinuousOperations)
        return torch.full_like(x, operations.sigma)

    def draws(self, operations: Operations[Any, Any], x: Tensor) -> int:
        """Count the dimensions: one uniform number each."""
        return x.shape[1]

    def propose(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, u: Tensor
    ) -> Proposal:
        # Inverse of the normal distribution function.
        step = self.sigma(operations, batch, x, temperature) * torch.special.ndtri(u.T)
        return Proposal((step,), torch.ones(len(step), dtype=torch.bool, device=step.device))

    def log_prob(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, action: Action
    ) -> Tensor:
        sigma = self.sigma(operations, batch, x, temperature)
        z = action[0] / sigma
        return (-0.5 * z * z - sigma.log() - 0.5 * math.log(2 * math.pi)).sum(1)


class GaussianPolicy(ConstantGaussianPolicy, nn.Module):
    """A learnt standard deviation for each axis: features -> hidden -> axes, ReLU, exponential.

    Parameters
    ----------
    features : int
        F that the problem observes.
    axes : int
        D, dimensions of a step.
    hidden : int
    name : str
    """

    def __init__(
        self, features: int = 2, axes: int = 2, hidden: int = HIDDEN, name: str = "untrained"
    ) -> None:
        super().__init__()
        self.hidden, self.name = hidden, name
        self.feature_set = "gaussian"
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, axes)

    def sigma(self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor) -> Tensor:
        """Compute the standard deviations of the next step, float64[B, D].

        Raises
        ------
        UsageError
            If the policy was trained for another number of dimensions.
        """
        assert isinstance(operations, ContinuousOperations)
        seen = operations.observe(batch, x, temperature)
        if seen.shape[1] != self.first.in_features or x.shape[1] != self.second.out_features:
            raise UsageError(
                f"policy {self.name} sees {self.first.in_features} and moves {self.second.out_features} "
                f"dimensions, the instance has {x.shape[1]}"
            )
        log_sigma = _affine(self.second, torch.relu(_affine(self.first, seen)))
        return log_sigma.clamp(*operations.log_sigma).double().exp()


def _affine(layer: nn.Linear, x: Tensor) -> Tensor:
    """Apply a layer to float32[B, F], row by row: a matrix product sums in another order for one row."""
    if layer.weight.dim() == 3:  # members of a population, each with its share of the rows
        shared = x.reshape(len(layer.weight), -1, x.shape[1])
        return torch.baddbmm(layer.bias[:, None], shared, layer.weight.mT).reshape(len(x), -1)
    return (x[:, None, :] * layer.weight).sum(-1) + layer.bias
