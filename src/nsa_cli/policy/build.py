"""Policies as torch modules, built from policy files."""

from __future__ import annotations

from typing import Any

import torch

from nsa_cli.core.errors import InputError, shown
from nsa_cli.core.operations import ContinuousOperations, DiscreteOperations, Operations
from nsa_cli.core.policy import Policy
from nsa_cli.policy.checkpoint import Stored, find_stored, wrong_kind
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy

LearntPolicy = SlotPolicy | GaussianPolicy


def find_policy(spec: str, problem: str, operations: Operations[Any, Any], *, greedy: bool = False) -> Policy:
    """Make a policy: ``uniform``, a shipped name, or a file.

    Raises
    ------
    UsageError
        If there is none of that name, or it cannot be greedy.
    InputError
        If the file holds no policy for this problem.
    """
    stored = find_stored(spec, problem, greedy=greedy)
    if stored is None:
        continuous = isinstance(operations, ContinuousOperations)
        return ConstantGaussianPolicy() if continuous else UniformSlotPolicy()
    policy = build(stored, operations)
    if isinstance(policy, SlotPolicy):
        policy.greedy = greedy
    return policy


def build(stored: Stored, operations: Operations[Any, Any]) -> LearntPolicy:
    """Make the module of a stored policy.

    Raises
    ------
    InputError
        If its weights are damaged, or it is of a kind or sees features that the problem has not.
    """
    features = _features(stored, operations)
    arrays = stored.arrays(features)
    if isinstance(operations, DiscreteOperations):
        slots = operations.feature_sets[stored.feature_set].slots
        policy: LearntPolicy = SlotPolicy(slots, stored.feature_set, stored.hidden, stored.name)
    else:
        policy = GaussianPolicy(features[0], len(arrays["second.bias"]), stored.hidden, stored.name)
    policy.load_state_dict({key: torch.from_numpy(value) for key, value in arrays.items()})
    policy.trained, policy.temperature_steps = stored.trained, stored.temperature_steps
    policy.requires_grad_(False)
    return policy


def _features(stored: Stored, operations: Operations[Any, Any]) -> list[int]:
    """Features of each network."""
    gaussian = stored.feature_set == "gaussian"
    if isinstance(operations, ContinuousOperations) and gaussian:
        return [operations.features]
    if not isinstance(operations, DiscreteOperations) or gaussian:
        raise wrong_kind("gaussian" if gaussian else "slots", stored.source)
    if stored.feature_set not in operations.feature_sets:
        known = ", ".join(operations.feature_sets)
        raise InputError(
            f"wants features {shown(stored.feature_set)}; this version has {known}", stored.source
        )
    return [slot.features for slot in operations.feature_sets[stored.feature_set].slots]
