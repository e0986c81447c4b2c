"""Policies with random weights, of every kind that operations can have, and chains by them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.core.operations import ContinuousOperations
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.problems import builtin_names
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


def cases() -> Iterator[Any]:
    """Every problem, neighbourhood and kind of policy."""
    for name in builtin_names():
        problem = nsa.find_problem(name)
        for neighbourhood in problem.neighbourhoods:
            for label, policy in policies(neighbourhood.operations()):
                yield pytest.param(problem, neighbourhood, policy, id=f"{name} {neighbourhood.name} {label}")


def assert_same(one: TorchChains, other: TorchChains) -> None:
    """Two chains are in the same state, to the last bit."""
    for name, part in one.state._asdict().items():
        theirs = getattr(other.state, name)
        assert part == theirs if name == "step" else torch.equal(part, theirs), name
