"""Transitions of an epoch: values and gradients by tensor operations on any device, or by kernels on a CPU.

Both compute the same. Kernels keep the features of all transitions in memory instead of computing them anew
in each pass.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import Action, ContinuousOperations, DiscreteOperations, Operations, select
from nsa_cli.kernels import gradients
from nsa_cli.kernels.lanes import HIDDEN
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.slots import PointwiseNetwork, SlotPolicy
from nsa_cli.train.estimators import Losses, Targets, losses

_Array = NDArray[np.float32]

#: Bytes of features kept in memory, at most.
_MOST_BYTES = 1 << 30

#: Features of a minibatch from which on threads pay.
_LEAST = 1 << 17

#: Parts of each sum, whatever the number of threads, so that this changes no bit.
_PARTS = 4


class Trajectories(NamedTuple):
    """States and moves of B chains over K steps.

    Attributes
    ----------
    operations : Operations
    batch : NamedTuple
        Of B instances.
    x : [K + 1, B, …]
        The states, the last one included.
    action : tuple of [K, B, …]
    temperature : float64[K + 1]
        At each state; the last one has that of the step before.
    """

    operations: Operations[Any, Any]
    batch: Any
    x: Tensor
    action: Action
    temperature: Tensor


class Minibatch(NamedTuple):
    """What the losses of a minibatch go by, beside its rows.

    Attributes
    ----------
    size : int
        Its rows, of which a process may have a part.
    clip : float
        epsilon.
    entropy : float
        Weight of the bonus.
    """

    size: int
    clip: float
    entropy: float


class Critic(nn.Module):
    """Value network: mean score of the first choice's candidates.

    It shares no weights with the actor (Appendix A). The mean makes it independent of the order and,
    roughly, of the number of candidates.
    """

    def __init__(self, operations: Operations[Any, Any], feature_set: str, hidden: int) -> None:
        super().__init__()
        self.feature_set = feature_set
        if isinstance(operations, ContinuousOperations):
            features = operations.features + 1
        else:
            assert isinstance(operations, DiscreteOperations)
            slots = operations.feature_sets[feature_set].slots
            self.place = 1 if operations.chooses_type else 0
            features = slots[self.place].features
            if not features:
                raise UsageError(
                    f"PPO needs a first choice made by a network, {feature_set} has none",
                    option="features",
                    use={"method": "es"},
                )
        self.network = PointwiseNetwork(features, hidden)
        self.offset = nn.Parameter(torch.zeros(()))

    def forward(self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor) -> Tensor:
        """Values, float32[B]."""
        if isinstance(operations, ContinuousOperations):
            seen = operations.observe(batch, x, temperature)
            heat = temperature.to(torch.float32).expand(len(x))[:, None]
            features = torch.cat([seen, heat], 1)[:, None]
        else:
            assert isinstance(operations, DiscreteOperations)
            # Where the type of moves is chosen first, values are by the first choice of the first type.
            chosen = (torch.zeros(len(x), dtype=torch.int64, device=x.device),) * self.place
            features = operations.feature_sets[self.feature_set].compute(batch, x, chosen, temperature)
        return self.network(features).mean(1) + self.offset


class Transitions(ABC):
    """Flattened trajectories: row ``k B + b`` is step k of chain b."""

    @abstractmethod
    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        """Values of the states of some rows, int64[M], the last states included; float32[M], no gradient."""

    @abstractmethod
    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, minibatch: Minibatch
    ) -> Losses:
        """Store the gradients of `estimators.losses` of rows, which have these targets, in both networks."""


def transitions(
    rollout: Trajectories, policy: LearntPolicy, *, by_kernel: bool, threads: int = 1
) -> Transitions:
    """Choose kernels where features fit into memory, else tensors."""
    if by_kernel and policy.hidden <= HIDDEN and isinstance(policy, SlotPolicy):
        scored = all(policy.scores(slot) for slot in range(len(rollout.action)))
        if scored and _bytes(rollout, policy) <= _MOST_BYTES:
            return KernelTransitions(rollout, policy, threads)
    return TensorTransitions(rollout)


class TensorTransitions(Transitions):
    """Transitions by tensor operations; features are computed anew in each pass."""

    def __init__(self, rollout: Trajectories) -> None:
        self._of = rollout
        self._chains = rollout.x.shape[1]
        self._x = rollout.x.flatten(0, 1)
        self._action = tuple(a.flatten(0, 1) for a in rollout.action)
        self._temperature = rollout.temperature.repeat_interleave(self._chains)

    def _states(self, rows: Tensor) -> tuple[Any, Tensor, Tensor]:
        return select(self._of.batch, rows % self._chains), self._x[rows], self._temperature[rows]

    @torch.no_grad()
    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        return critic(self._of.operations, *self._states(rows))

    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, minibatch: Minibatch
    ) -> Losses:
        states = self._states(rows)
        log_prob = policy.log_prob(self._of.operations, *states, tuple(a[rows] for a in self._action))
        found = losses(log_prob, critic(self._of.operations, *states), targets, *minibatch)
        policy.zero_grad(set_to_none=False)
        critic.zero_grad(set_to_none=False)
        # Neither network sees the other's loss: together they take one pass backwards.
        (found.policy + found.value).backward()
        return found._replace(policy=found.policy.item(), value=found.value.item())


class KernelTransitions(Transitions):
    """Transitions by kernels; features stay in memory."""

    def __init__(self, rollout: Trajectories, policy: SlotPolicy, threads: int) -> None:
        operations, steps = rollout.operations, len(rollout.x) - 1
        assert isinstance(operations, DiscreteOperations)
        compute = policy.features(operations).compute
        self._threads = min(threads, _PARTS)
        self._slots = []
        for slot, index in enumerate(rollout.action):
            features, allowed = [], []
            for k in range(steps + (slot == 0)):  # the last states have values, from the first choice
                chosen = tuple(a[k] for a in rollout.action[:slot])
                features.append(compute(rollout.batch, rollout.x[k], chosen, rollout.temperature[k]).mT)
                if k < steps:
                    allowed.append(operations.allowed(rollout.batch, rollout.x[k], chosen))
            seen, masks = (torch.stack(parts).flatten(0, 1).numpy() for parts in (features, allowed))
            self._slots.append((seen, masks, index.flatten().clamp(min=0).numpy()))

    def _at(self, slot: int, rows: NDArray[np.int64]) -> _ThreadedChoices:
        """Gather one choice of some transitions."""
        features, allowed, index = self._slots[slot]
        _, count, size = features.shape
        made = _ThreadedChoices(gradients.empty_choices(count, len(rows), size), self._threads)
        made.each(lambda _, a, b: gradients.gather(features, allowed, index, rows, a, b, made.rows))
        return made

    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        means = self._at(0, rows.numpy()).means(_laid_out(critic.network))
        return torch.from_numpy(means + critic.offset.item())

    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, minibatch: Minibatch
    ) -> Losses:
        chosen = rows.numpy()
        seen = [self._at(slot, chosen) for slot in range(len(self._slots))]
        networks = [_laid_out(network) for network in policy.networks]
        found = [rows_.log_probabilities(network) for rows_, network in zip(seen, networks, strict=True)]
        log_prob = sum(one for one, _ in found)
        old, possible, advantage = (part.numpy() for part in targets[:3])
        weight, sums = np.empty(len(chosen)), np.zeros(4)
        gradients.surrogate(log_prob, old, possible, advantage, *minibatch, weight, sums)
        for k, (_, shares) in enumerate(found):
            _put(policy.networks[k], seen[k].summed(gradients.add_log_gradient, networks[k], shares, weight))

        network = _laid_out(critic.network)
        error = seen[0].means(network) + np.float32(critic.offset.item()) - targets.returns.numpy()
        slope = error * np.float32(2 / minibatch.size)
        _put(critic.network, seen[0].summed(gradients.add_mean_gradient, network, slope))
        _gradient(critic.offset)[...] = slope.sum()
        loss, kl, clipped, surprise = sums.tolist()
        return Losses(loss, kl, clipped, surprise, float(np.square(error).sum()) / minibatch.size)


def _bytes(rollout: Trajectories, policy: SlotPolicy) -> int:
    """Estimate the memory of all features and masks."""
    operations = rollout.operations
    assert isinstance(operations, DiscreteOperations)
    first = policy.features(operations).compute(rollout.batch, rollout.x[0], (), rollout.temperature[0])
    width = sum(4 * slot.features + 1 for slot in policy.features(operations).slots)
    return first[..., 0].numel() * len(rollout.x) * width


class _ThreadedChoices(NamedTuple):
    """One choice of some transitions, worked on in threads."""

    rows: gradients.Choices
    threads: int

    def log_probabilities(self, network: _Array) -> tuple[NDArray[np.float64], _Array]:
        """Compute the log-probabilities of the choices, float64[R], and the shares of all candidates."""
        rows, count = self.rows, len(self.rows.index)
        shares, result = gradients.row_shares(count, rows.size), np.empty(count)
        self.each(
            lambda _, a, b: gradients.log_probabilities(
                network, rows, a, b, gradients.scratch(rows.size), shares, result
            )
        )
        return result, shares

    def means(self, network: _Array) -> _Array:
        """Compute the mean score of each transition's candidates, float32[R]."""
        rows, result = self.rows, np.empty(len(self.rows.index), np.float32)
        self.each(lambda _, a, b: gradients.means(network, rows, a, b, gradients.scratch(rows.size), result))
        return result

    def summed(self, add: Callable[..., None], network: _Array, *given: Any) -> NDArray[np.float64]:
        """Sum the gradients that `add` adds for all rows: float64[F + 2, HIDDEN]."""
        rows, parts = self.rows, np.zeros((_PARTS, *network.shape))
        self.each(
            lambda part, a, b: add(network, rows, a, b, gradients.scratch(rows.size), *given, parts[part]),
            sums=True,
        )
        return parts.sum(0)

    def each(self, work: Callable[[int, int, int], None], *, sums: bool = False) -> None:
        """Call ``work(part, begin, end)`` on all rows, in threads where that pays.

        Sums over rows are taken in the same parts whatever the threads, so that these change no bit.
        """
        threads = self.threads if self.rows.features.size >= _LEAST else 1
        count = _PARTS if sums or threads > 1 else 1
        cuts = [len(self.rows.index) * k // count for k in range(count + 1)]
        spread = map if threads == 1 else _pool().map
        list(spread(work, range(count), cuts, cuts[1:]))


def _laid_out(network: PointwiseNetwork) -> _Array:
    """Lay out a network's weights for kernels, float32[F + 2, HIDDEN], padded with zeros."""
    first, bias, second = (p.detach().numpy() for p in network.parameters())
    hidden, features = first.shape
    made = np.zeros((features + 2, HIDDEN), np.float32)
    made[:features, :hidden], made[features, :hidden], made[-1, :hidden] = first.T, bias, second[0]
    return made


def _put(network: PointwiseNetwork, gradient: NDArray[np.float64]) -> None:
    """Store a gradient, laid out as the weights are, in a network."""
    first, bias, second = map(_gradient, network.parameters())
    gradient = gradient[:, : len(bias)]
    first[...], bias[...], second[0] = gradient[:-2].T, gradient[-2], gradient[-1]


def _gradient(parameter: Tensor) -> _Array:
    """View a parameter's gradient as an array."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad.numpy()


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """Give this process's thread pool; it persists, as starting threads takes as long as their work."""
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(_PARTS))
