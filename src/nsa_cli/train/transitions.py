"""What an epoch's transitions look like to networks: by tensor operations anywhere, by kernels on a CPU.

Both mean the same. Kernels want the features of all transitions in memory once, instead of anew in each pass.
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

#: Features of more bytes than this are not kept.
_MOST_BYTES = 1 << 30

#: Features of a minibatch from which on threads are worth their calls.
_LEAST = 1 << 17

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


class Minibatch(ABC):
    """Some transitions of a rollout, in the order in which they were asked for."""

    @abstractmethod
    def log_prob(self, policy: Any) -> Tensor:
        """Log-probabilities of the moves: float64[M], differentiable."""

    @abstractmethod
    def values(self, critic: Critic) -> Tensor:
        """Values of the states: float32[M], differentiable."""


class Transitions(ABC):
    """A rollout, flattened: row ``k B + b`` is step k of chain b."""

    @abstractmethod
    def at(self, rows: Tensor) -> Minibatch:
        """Take some rows, int64[M]; the last states, from ``K B`` on, have values, but no moves."""


def transitions(rollout: Rollout, policy: LearntPolicy, *, by_kernel: bool, threads: int = 1) -> Transitions:
    """Make the form of a rollout that suits the machine and its size."""
    fits = isinstance(policy, SlotPolicy) and policy.hidden <= HIDDEN
    if by_kernel and fits and _bytes(rollout, policy) <= _MOST_BYTES:
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

    def at(self, rows: Tensor) -> Minibatch:
        batch = select(self._of.batch, rows % self._chains)
        state = (self._of.operations, batch, self._x[rows], self._temperature[rows])
        moves = rows.clamp(max=len(self._action[0]) - 1)
        return _TensorMinibatch(state, tuple(a[moves] for a in self._action))


@dataclass(frozen=True, eq=False)
class _TensorMinibatch(Minibatch):
    state: tuple[Operations[Any, Any], Any, Tensor, Tensor]
    action: Action

    def log_prob(self, policy: Any) -> Tensor:
        result: Tensor = policy.log_prob(*self.state, self.action)
        return result

    def values(self, critic: Critic) -> Tensor:
        result: Tensor = critic(*self.state)
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
                    torch.stack([features(k).mT for k in range(states)]).flatten(0, 1).numpy(),
                    torch.stack([allowed(k) for k in range(steps)]).flatten(0, 1).numpy(),
                    index.flatten().clamp(min=0).numpy(),
                    min(threads, _PARTS),
                )
            )

    def at(self, rows: Tensor) -> Minibatch:
        return _KernelMinibatch(self._slots, rows.numpy())


class _KernelMinibatch(Minibatch):
    def __init__(self, slots: list[_Slot], rows: NDArray[np.int64]) -> None:
        self._slots, self._rows = slots, rows
        self._first = slots[0].at(rows)

    def log_prob(self, policy: Any) -> Tensor:
        rows = [self._first, *(slot.at(self._rows) for slot in self._slots[1:])]
        total = torch.zeros(len(self._rows), dtype=torch.float64)
        for network, slot in zip(policy.networks, rows, strict=True):
            total = total + _LogProbability.apply(*_weights(network), slot)  # type: ignore[no-untyped-call]
        return total

    def values(self, critic: Critic) -> Tensor:
        mean: Tensor = _Mean.apply(*_weights(critic.network), self._first)  # type: ignore[no-untyped-call]
        return mean + critic.offset


def _bytes(rollout: Rollout, policy: SlotPolicy) -> int:
    """Estimate the memory of all features and masks."""
    operations = rollout.operations
    assert isinstance(operations, DiscreteOperations)
    first = policy.features(operations).compute(rollout.batch, rollout.x[0], (), rollout.temperature[0])
    width = sum(4 * slot.features + 1 for slot in policy.features(operations).slots)
    return first[..., 0].numel() * len(rollout.x) * width


def _weights(network: PointwiseNetwork) -> tuple[Tensor, Tensor, Tensor]:
    return network.first.weight, network.first.bias, network.second.weight


@dataclass(frozen=True, eq=False)
class _Slot:
    """One choice in all transitions: float32[M, F, N], bool[L, N], int64[L]."""

    features: NDArray[np.float32]
    allowed: NDArray[np.bool_]
    index: NDArray[np.int64]
    threads: int

    def at(self, rows: NDArray[np.int64]) -> _Rows:
        """Gather some of them."""
        _, count, size = self.features.shape
        made = _Rows(kernel.empty_rows(count, len(rows), size), self.threads)
        made.each(
            lambda _, a, b: kernel.gather(self.features, self.allowed, self.index, rows, a, b, made.rows)
        )
        return made


@dataclass(frozen=True, eq=False)
class _Rows:
    """One choice in some transitions, and threads to work on them."""

    rows: kernel.Rows
    threads: int

    def __len__(self) -> int:
        return len(self.rows.index)

    def each(self, work: Callable[[int, int, int], None], *, sums: bool = False) -> None:
        """Do all rows, ``work(part, begin, end)``, in threads where that is worth it.

        What `sums` over rows comes in the same parts in any case, so that threads change no bit of it.
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


_pools: dict[int, ThreadPoolExecutor] = {}


def _pool() -> ThreadPoolExecutor:
    """Threads that stay: starting them would take as long as their work. A forked process gets its own."""
    return _pools.setdefault(os.getpid(), ThreadPoolExecutor(_PARTS))


def _network(first: Tensor, bias: Tensor, second: Tensor) -> NDArray[np.float32]:
    """Lay weights out for kernels, float32[F + 2, HIDDEN]; units that there are not add nothing."""
    made = np.zeros((first.shape[1] + 2, HIDDEN), np.float32)
    torch.cat(
        (first.detach().t(), bias.detach()[None], second.detach()), out=torch.from_numpy(made)[:, : len(bias)]
    )
    return made


def _parts_like(network: NDArray[np.float32]) -> NDArray[np.float64]:
    """Make room for gradients that parts sum apart."""
    return np.zeros((_PARTS, *network.shape))


def _gradients(parts: NDArray[np.float64], hidden: int) -> tuple[Tensor, Tensor, Tensor]:
    made = torch.from_numpy(parts.sum(0)[:, :hidden].astype(np.float32))
    return made[:-2].t(), made[-2], made[-1:]


class _LogProbability(torch.autograd.Function):
    """`kernel.log_probabilities` with its gradient."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, bias: Tensor, second: Tensor, rows: _Rows) -> Tensor:
        network, seen = _network(first, bias, second), rows.rows
        shares, result = kernel.row_shares(len(rows), seen.size), np.empty(len(rows))

        def work(_: int, a: int, b: int) -> None:
            kernel.log_probabilities(network, seen, a, b, kernel.scratch(seen.size), shares, result)

        rows.each(work)
        ctx.kept = network, rows, shares, len(bias)
        return torch.from_numpy(result)

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> Any:
        network, rows, shares, hidden = ctx.kept
        weights, parts, seen = np.ascontiguousarray(weight.numpy()), _parts_like(network), rows.rows

        def work(part: int, a: int, b: int) -> None:
            score = kernel.scratch(seen.size)
            kernel.add_log_gradient(network, seen, a, b, score, shares, weights, parts[part])

        rows.each(work, sums=True)
        return *_gradients(parts, hidden), None


class _Mean(torch.autograd.Function):
    """`kernel.means` with its gradient."""

    @staticmethod
    def forward(ctx: Any, first: Tensor, bias: Tensor, second: Tensor, rows: _Rows) -> Tensor:
        network, seen, result = _network(first, bias, second), rows.rows, np.empty(len(rows), np.float32)

        def work(_: int, a: int, b: int) -> None:
            kernel.means(network, seen, a, b, kernel.scratch(seen.size), result)

        rows.each(work)
        ctx.kept = network, rows, len(bias)
        return torch.from_numpy(result)

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> Any:
        network, rows, hidden = ctx.kept
        weights, parts, seen = np.ascontiguousarray(weight.numpy()), _parts_like(network), rows.rows

        def work(part: int, a: int, b: int) -> None:
            kernel.add_mean_gradient(network, seen, a, b, kernel.scratch(seen.size), weights, parts[part])

        rows.each(work, sums=True)
        return *_gradients(parts, hidden), None
