"""Policies with random weights, of every kind that operations can have."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch

from nsa_cli.core.operations import ContinuousOperations
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.train.es import stacked


def policies(operations: Any) -> Iterator[tuple[str, Any]]:
    """Uniform proposals, and a random network of each set of features, greedy and as a population, too."""
    torch.manual_seed(1)
    if isinstance(operations, ContinuousOperations):
        yield from (("uniform", ConstantGaussianPolicy()), ("gaussian", GaussianPolicy()))
        return
    yield "uniform", UniformSlotPolicy()
    for name, found in operations.feature_sets.items():
        yield name, (policy := SlotPolicy(found.slots, name))
        greedy = deepcopy(policy)
        greedy.greedy = True
        yield f"{name} greedy", greedy
        mean = torch.nn.utils.parameters_to_vector(policy.parameters()).detach()
        yield f"{name} population", stacked(policy, mean + torch.randn(2, len(mean)))
