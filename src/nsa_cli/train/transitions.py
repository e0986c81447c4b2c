"""Transitions of an epoch: values and gradients by tensor operations on any device, or by kernels on a CPU.

Both compute the same. Kernels keep the features of all transitions in memory instead of computing them anew
in each pass.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nsa_cli.core.errors import UsageError
from nsa_cli.core.kernel.lanes import HIDDEN
from nsa_cli.core.operations import Action, ContinuousOperations, DiscreteOperations, Operations, select
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.slots import PointwiseNetwork, SlotPolicy
from nsa_cli.train import kernel
from nsa_cli.train.estimators import Losses, Targets, losses

_Array = NDArray[np.float32]

#: Bytes of features kept in memory, at most.
_MOST_BYTES = 1 << 30

#: Features of a minibatch from which on threads pay.
_LEAST = 1 << 17

#: Parts of each sum, whatever the number of threads, so that this changes no bit.
_PARTS = 4


@dataclass(frozen=True, eq=False)
class Trajectories:
    """States and moves of B chains over K steps.

    Attributes
    ----------
    operations : Operations
    batch : NamedTuple
        Of B instances.
    x : [K + 1, B, …]
        The states, the last one included.
    action : tuple of [K, B, …]
    temperature : float64[K]
    """

    operations: Operations[Any, Any]
    batch: Any
    x: Tensor
    action: Action
    temperature: Tensor

    def temperature_at(self, k: int) -> Tensor:
        """Temperature of the k-th state, float64[]; the last one has that of the step before."""
        return self.temperature[min(k, len(self.temperature) - 1)]


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
            features = operations.feature_sets[feature_set].slots[0].features
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
            features = operations.feature_sets[self.feature_set].compute(batch, x, (), temperature)
        values: Tensor = self.network(features).mean(1) + self.offset
        return values


class Transitions(ABC):
    """Flattened trajectories: row ``k B + b`` is step k of chain b."""

    @abstractmethod
    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        """Values of the states of some rows, int64[M], the last states included; float32[M], no gradient."""

    @abstractmethod
    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, clip: float, entropy: float
    ) -> Losses:
        """Store the gradients of `estimators.losses` of some rows in both networks."""


def transitions(
    rollout: Trajectories, policy: LearntPolicy, *, by_kernel: bool, threads: int = 1
) -> Transitions:
    """Choose kernels where features fit into memory, else tensors."""
    small = policy.hidden <= HIDDEN
    if by_kernel and small and isinstance(policy, SlotPolicy) and _bytes(rollout, policy) <= _MOST_BYTES:
        return KernelTransitions(rollout, policy, threads)
    return TensorTransitions(rollout)


class TensorTransitions(Transitions):
    """Transitions by tensor operations; features are computed anew in each pass."""

    def __init__(self, rollout: Trajectories) -> None:
        self._of = rollout
        self._chains = rollout.x.shape[1]
        self._x = rollout.x.flatten(0, 1)
        self._action = tuple(a.flatten(0, 1) for a in rollout.action)
        last = rollout.temperature[-1:]
        self._temperature = torch.cat([rollout.temperature, last]).repeat_interleave(self._chains)

    def _states(self, rows: Tensor) -> tuple[Any, Tensor, Tensor]:
        return select(self._of.batch, rows % self._chains), self._x[rows], self._temperature[rows]

    @torch.no_grad()
    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        result: Tensor = critic(self._of.operations, *self._states(rows))
        return result

    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, clip: float, entropy: float
    ) -> Losses:
        states = self._states(rows)
        log_prob = policy.log_prob(self._of.operations, *states, tuple(a[rows] for a in self._action))
        found = losses(log_prob, critic(self._of.operations, *states), targets.at(rows), clip, entropy)
        policy.zero_grad(set_to_none=False)
        critic.zero_grad(set_to_none=False)
        # Neither network sees the other's loss: together they take one pass backwards.
        (found.policy + found.value).backward()
        return found._replace(policy=found.policy.item(), value=found.value.item())


class KernelTransitions(Transitions):
    """Transitions by kernels; features stay in memory."""

    def __init__(self, rollout: Trajectories, policy: SlotPolicy, threads: int) -> None:
        operations = rollout.operations
        assert isinstance(operations, DiscreteOperations)
        seen = policy.features(operations)
        steps = len(rollout.temperature)
        self._slots = []
        for slot, index in enumerate(rollout.action):

            def features(k: int, slot: int = slot) -> Tensor:
                chosen = tuple(a[k] for a in rollout.action[:slot]) if slot else ()
                return seen.compute(rollout.batch, rollout.x[k], chosen, rollout.temperature_at(k))

            def allowed(k: int, slot: int = slot) -> Tensor:
                chosen = tuple(a[k] for a in rollout.action[:slot])
                return operations.allowed(rollout.batch, rollout.x[k], chosen)

            states = steps + 1 if slot == 0 else steps
            self._slots.append(
                _SlotTransitions(
                    torch.stack([features(k).mT for k in range(states)]).flatten(0, 1).numpy(),
                    torch.stack([allowed(k) for k in range(steps)]).flatten(0, 1).numpy(),
                    index.flatten().clamp(min=0).numpy(),
                    min(threads, _PARTS),
                )
            )

    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        seen = self._slots[0].at(rows.numpy())
        return torch.from_numpy(seen.means(_Layers(critic.network).laid_out()) + critic.offset.item())

    def put_gradients(
        self, policy: Any, critic: Critic, rows: Tensor, targets: Targets, clip: float, entropy: float
    ) -> Losses:
        chosen, aims = rows.numpy(), targets.at(rows)
        seen = [slot.at(chosen) for slot in self._slots]
        layers = [_Layers(network) for network in policy.networks]
        networks = [layer.laid_out() for layer in layers]
        found = [rows_.log_probabilities(network) for rows_, network in zip(seen, networks, strict=True)]
        log_prob = sum(one for one, _ in found)
        old, possible, advantage = (part.numpy() for part in aims[:3])
        weight, sums = np.empty(len(chosen)), np.zeros(4)
        kernel.surrogate(log_prob, old, possible, advantage, clip, entropy, weight, sums)
        for rows_, network, layer, (_, shares) in zip(seen, networks, layers, found, strict=True):
            layer.put(rows_.log_gradient(network, shares, weight))

        judge = _Layers(critic.network)
        network = judge.laid_out()
        error = seen[0].means(network) + np.float32(critic.offset.item()) - aims.returns.numpy()
        slope = error * np.float32(2 / len(error))
        judge.put(seen[0].mean_gradient(network, slope))
        _gradient(critic.offset)[...] = slope.sum()
        loss, kl, clipped, surprise = sums.tolist()
        return Losses(loss, kl, clipped, surprise, float(np.square(error).mean()))


def _bytes(rollout: Trajectories, policy: SlotPolicy) -> int:
    """Estimate the memory of all features and masks."""
    operations = rollout.operations
    assert isinstance(operations, DiscreteOperations)
    first = policy.features(operations).compute(rollout.batch, rollout.x[0], (), rollout.temperature[0])
    width = sum(4 * slot.features + 1 for slot in policy.features(operations).slots)
    return first[..., 0].numel() * len(rollout.x) * width


@dataclass(frozen=True, eq=False)
class _SlotTransitions:
    """One choice in all transitions: float32[M, F, N], bool[L, N], int64[L]."""

    features: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    index: NDArray[np.int64]
    threads: int

    def at(self, rows: NDArray[np.int64]) -> _ThreadedChoices:
        """Gather some of them."""
        _, count, size = self.features.shape
        made = _ThreadedChoices(kernel.empty_choices(count, len(rows), size), self.threads)
        made._each(
            lambda _, a, b: kernel.gather(self.features, self.allowed, self.index, rows, a, b, made.rows)
        )
        return made


@dataclass(frozen=True, eq=False)
class _ThreadedChoices:
    """One choice in some transitions, worked on in threads."""

    rows: kernel.Choices
    threads: int

    def __len__(self) -> int:
        return len(self.rows.index)

    def log_probabilities(self, network: _Array) -> tuple[NDArray[np.float64], _Array]:
        """Compute the log-probabilities of the choices, float64[R], and the shares of all candidates."""
        shares, result = kernel.row_shares(len(self), self.rows.size), np.empty(len(self))
        self._each(
            lambda _, a, b: kernel.log_probabilities(
                network, self.rows, a, b, self._scratch(), shares, result
            )
        )
        return result, shares

    def log_gradient(
        self, network: _Array, shares: _Array, weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Differentiate the sum of weighted log-probabilities: float64[F + 2, HIDDEN]."""
        return self._summed(kernel.add_log_gradient, network, shares, weight)

    def means(self, network: _Array) -> _Array:
        """Compute the mean score of each transition's candidates, float32[R]."""
        result = np.empty(len(self), np.float32)
        self._each(lambda _, a, b: kernel.means(network, self.rows, a, b, self._scratch(), result))
        return result

    def mean_gradient(self, network: _Array, weight: _Array) -> NDArray[np.float64]:
        """Differentiate the sum of weighted means: float64[F + 2, HIDDEN]."""
        return self._summed(kernel.add_mean_gradient, network, weight)

    def _summed(self, add: Callable[..., None], network: _Array, *given: Any) -> NDArray[np.float64]:
        """Sum what `add` adds for all rows."""
        parts = np.zeros((_PARTS, *network.shape))
        self._each(
            lambda part, a, b: add(network, self.rows, a, b, self._scratch(), *given, parts[part]), sums=True
        )
        total: NDArray[np.float64] = parts.sum(0)
        return total

    def _scratch(self) -> Any:
        return kernel.scratch(self.rows.size)

    def _each(self, work: Callable[[int, int, int], None], *, sums: bool = False) -> None:
        """Call ``work(part, begin, end)`` on all rows, in threads where that pays.

        Sums over rows are taken in the same parts whatever the threads, so that these change no bit.
        """
        threads = self.threads if self.rows.features.size >= _LEAST else 1
        count = _PARTS if sums or threads > 1 else 1
        cuts = [len(self) * k // count for k in range(count + 1)]
        jobs = [(k, *cuts[k : k + 2]) for k in range(count)]
        if threads == 1:
            for job in jobs:
                work(*job)
        else:
            list(_pool().map(lambda job: work(*job), jobs))


class _Layers:
    """A network's weights for kernels, float32[F + 2, HIDDEN], padded with zeros."""

    def __init__(self, network: PointwiseNetwork) -> None:
        self._parameters = (network.first.weight, network.first.bias, network.second.weight)

    def laid_out(self) -> _Array:
        first, bias, second = (p.detach().numpy() for p in self._parameters)
        hidden, features = first.shape
        made = np.zeros((features + 2, HIDDEN), np.float32)
        made[:features, :hidden], made[features, :hidden], made[-1, :hidden] = first.T, bias, second[0]
        return made

    def put(self, gradient: NDArray[np.float64]) -> None:
        first, bias, second = (_gradient(p) for p in self._parameters)
        hidden = len(bias)
        first[...], bias[...], second[0] = (
            gradient[:-2, :hidden].T,
            gradient[-2, :hidden],
            gradient[-1, :hidden],
        )


def _gradient(parameter: Tensor) -> _Array:
    """View a parameter's gradient as an array."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    memory: _Array = parameter.grad.numpy()
    return memory


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """Give this process's thread pool; it persists, as starting threads takes as long as their work."""
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(_PARTS))
