"""What an epoch's transitions look like to networks: by tensor operations anywhere, by kernels on a CPU.

Both mean the same. Kernels want the features of all transitions in memory once, instead of anew in each pass.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import Action, ContinuousOperations, DiscreteOperations, Operations, select
from nsa_cli.policy.build import LearntPolicy
from nsa_cli.policy.slots import PointwiseNetwork, SlotPolicy
from nsa_cli.train import kernel

#: Features of more bytes than this are not kept.
_MOST_BYTES = 1 << 30

#: Parts whose gradients are summed apart, however many threads there are: their number changes no bit.
_PARTS = 4


@dataclass(frozen=True, eq=False)
class Rollout:
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
    """Value of a state: the actor's form of network over the first choice's candidates, then their mean.

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
                    f"features {feature_set}: PPO wants a first choice that a network makes; use --method es"
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
    """A rollout, flattened: row ``k B + b`` is step k of chain b."""

    @abstractmethod
    def log_prob(self, policy: Any, rows: Tensor) -> Tensor:
        """Log-probabilities of the moves of some rows, int64[M]; float64[M], differentiable."""

    @abstractmethod
    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        """Values of the states of some rows, the last states included; float32[M], differentiable."""


def transitions(rollout: Rollout, policy: LearntPolicy, *, by_kernel: bool, threads: int = 1) -> Transitions:
    """Make the form of a rollout that suits the machine and its size."""
    if by_kernel and isinstance(policy, SlotPolicy) and _bytes(rollout, policy) <= _MOST_BYTES:
        return KernelTransitions(rollout, policy, threads)
    return TensorTransitions(rollout)


class TensorTransitions(Transitions):
    """Features computed where they are needed, by the operations of the problem."""

    def __init__(self, rollout: Rollout) -> None:
        self._of = rollout
        self._chains = rollout.x.shape[1]
        self._x = rollout.x.flatten(0, 1)
        self._action = tuple(a.flatten(0, 1) for a in rollout.action)
        last = rollout.temperature[-1:]
        self._temperature = torch.cat([rollout.temperature, last]).repeat_interleave(self._chains)

    def _states(self, rows: Tensor) -> tuple[Any, Tensor, Tensor]:
        return select(self._of.batch, rows % self._chains), self._x[rows], self._temperature[rows]

    def log_prob(self, policy: Any, rows: Tensor) -> Tensor:
        action = tuple(a[rows] for a in self._action)
        result: Tensor = policy.log_prob(self._of.operations, *self._states(rows), action)
        return result

    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        result: Tensor = critic(self._of.operations, *self._states(rows))
        return result


class KernelTransitions(Transitions):
    """Features in memory, networks and their gradients by kernels."""

    def __init__(self, rollout: Rollout, policy: SlotPolicy, threads: int) -> None:
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
                _Slot(
                    _feature_major(features, states),
                    torch.stack([allowed(k) for k in range(steps)]).flatten(0, 1).numpy(),
                    index.flatten().clamp(min=0).numpy(),
                    min(threads, _PARTS),
                )
            )

    def log_prob(self, policy: Any, rows: Tensor) -> Tensor:
        total = torch.zeros(len(rows), dtype=torch.float64)
        for network, slot in zip(policy.networks, self._slots, strict=True):
            total = total + _LogProbability.apply(*_weights(network), slot, rows)  # type: ignore[no-untyped-call]
        return total

    def values(self, critic: Critic, rows: Tensor) -> Tensor:
        mean: Tensor = _Mean.apply(*_weights(critic.network), self._slots[0], rows)  # type: ignore[no-untyped-call]
        return mean + critic.offset


def _bytes(rollout: Rollout, policy: SlotPolicy) -> int:
    """Estimate the memory of all features and masks."""
    operations = rollout.operations
    assert isinstance(operations, DiscreteOperations)
    first = policy.features(operations).compute(rollout.batch, rollout.x[0], (), rollout.temperature[0])
    width = sum(4 * slot.features + 1 for slot in policy.features(operations).slots)
    return first[..., 0].numel() * len(rollout.x) * width


def _feature_major(compute: Callable[[int], Tensor], states: int) -> NDArray[np.float32]:
    """Put the features of all steps, float32[B, N, F] each, into one float32[F, K B, N]."""
    first = compute(0)
    chains, size, count = first.shape
    made = torch.empty(count, states, chains, size)
    for k in range(states):
        made[:, k] = (compute(k) if k else first).permute(2, 0, 1)
    return made.reshape(count, states * chains, size).numpy()


def _weights(network: PointwiseNetwork) -> tuple[Tensor, Tensor, Tensor]:
    return network.first.weight, network.first.bias, network.second.weight


@dataclass(frozen=True, eq=False)
class _Slot:
    """One choice in all transitions: float32[F, M, N], bool[M, N], int64[M]."""

    features: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    index: NDArray[np.int64]
    threads: int

    @property
    def size(self) -> int:
        return int(self.features.shape[2])

    def each(
        self, hidden: int, rows: int, work: Callable[[int, int, kernel.Space], None]
    ) -> list[kernel.Space]:
        """Do parts of the rows, in threads; give their spaces, in order."""
        cuts = [rows * k // _PARTS for k in range(_PARTS + 1)]
        spaces = [kernel.space(len(self.features), self.size, hidden) for _ in range(_PARTS)]
        jobs = [(a, b, space) for (a, b), space in zip(pairwise(cuts), spaces, strict=True)]
        if self.threads == 1:
            for job in jobs:
                work(*job)
        else:
            list(_pool().map(lambda job: work(*job), jobs))
        return spaces


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """Threads that stay: starting them would take as long as their work. A forked process gets its own."""
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(_PARTS))


def _network(first: Tensor, bias: Tensor, second: Tensor) -> kernel.Network:
    parts = (first.detach().t(), bias.detach(), second.detach()[0])
    return kernel.Network(*(part.contiguous().numpy() for part in parts))


def _gradients(spaces: list[kernel.Space]) -> tuple[Tensor, Tensor, Tensor]:
    first, bias, second = (sum(getattr(s, name) for s in spaces) for name in ("first", "bias", "second"))
    made = (first.T, bias, second[None])
    return tuple(torch.from_numpy(np.ascontiguousarray(m, dtype=np.float32)) for m in made)  # type: ignore[return-value]


class _LogProbability(torch.autograd.Function):
    """`kernel.log_probabilities` with its gradient."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, bias: Tensor, second: Tensor, slot: _Slot, rows: Tensor) -> Tensor:
        network, chosen = _network(first, bias, second), rows.numpy()
        index = slot.index[chosen]
        shares = np.empty((len(chosen), slot.size), np.float32)
        result = np.empty(len(chosen))
        group = kernel.group_of(slot.size)

        def work(a: int, b: int, space: kernel.Space) -> None:
            kernel.log_probabilities(
                network, slot.features, slot.allowed, chosen, index, a, b, group, space, shares, result
            )

        slot.each(len(bias), len(chosen), work)
        ctx.kept = network, slot, chosen, index, shares
        return torch.from_numpy(result)

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> Any:
        network, slot, chosen, index, shares = ctx.kept
        weights, group = np.ascontiguousarray(weight.numpy()), kernel.group_of(slot.size)

        def work(a: int, b: int, space: kernel.Space) -> None:
            kernel.add_log_gradient(
                network, slot.features, chosen, index, a, b, group, space, shares, weights
            )

        return *_gradients(slot.each(len(network.bias), len(chosen), work)), None, None


class _Mean(torch.autograd.Function):
    """`kernel.means` with its gradient."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, bias: Tensor, second: Tensor, slot: _Slot, rows: Tensor) -> Tensor:
        network, chosen = _network(first, bias, second), rows.numpy()
        result, group = np.empty(len(chosen), np.float32), kernel.group_of(slot.size)

        def work(a: int, b: int, space: kernel.Space) -> None:
            kernel.means(network, slot.features, chosen, a, b, group, space, result)

        slot.each(len(bias), len(chosen), work)
        ctx.kept = network, slot, chosen
        return torch.from_numpy(result)

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> Any:
        network, slot, chosen = ctx.kept
        weights, group = np.ascontiguousarray(weight.numpy()), kernel.group_of(slot.size)

        def work(a: int, b: int, space: kernel.Space) -> None:
            kernel.add_mean_gradient(network, slot.features, chosen, a, b, group, space, weights)

        return *_gradients(slot.each(len(network.bias), len(chosen), work)), None, None
