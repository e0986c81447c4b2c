"""Populations of policies, batched: members share each step's tensor operations."""

from __future__ import annotations

import copy
from typing import TypeVar

import torch
from torch import Tensor, nn

PolicyT = TypeVar("PolicyT", bound=nn.Module)


def flat_parameters(policy: nn.Module) -> Tensor:
    """Copy all parameters into one vector, float32[D]."""
    return torch.cat([p.detach().reshape(-1) for p in policy.parameters()])


def load_flat(policy: nn.Module, vector: Tensor) -> None:
    """Set all parameters from one vector, float32[D]."""
    for parameter, part in zip(policy.parameters(), _split(policy, vector[None]), strict=True):
        parameter.data.copy_(part[0])


def stacked(policy: PolicyT, vectors: Tensor) -> PolicyT:
    """Make one policy of P members: of a batch of P B rows, rows ``[p B, (p + 1) B)`` follow the p-th.

    Parameters
    ----------
    policy : SlotPolicy or GaussianPolicy
        Whose form the members have.
    vectors : float32[P, D]
    """
    members = copy.deepcopy(policy).requires_grad_(False)
    for parameter, part in zip(members.parameters(), _split(policy, vectors), strict=True):
        parameter.data = part
    return members


def _split(policy: nn.Module, vectors: Tensor) -> list[Tensor]:
    shapes = [p.shape for p in policy.parameters()]
    parts = torch.split(vectors, [shape.numel() for shape in shapes], dim=1)
    return [part.reshape(len(vectors), *shape) for part, shape in zip(parts, shapes, strict=True)]
