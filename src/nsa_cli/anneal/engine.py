"""The reference engine: simulated annealing of many chains at once, in torch, on any device.

A step is a pure function of state, temperature and random numbers. Everything else (goals, progress,
interrupts) happens between chunks of steps, in `nsa_cli.anneal.loop`; within a chunk the host never waits for
the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nsa_cli.anneal.schedule import TemperatureHold
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.operations import Action, Operations
from nsa_cli.core.policy import Policy
from nsa_cli.kernels.annealing import COLD, NOTHING

#: Random numbers made at once, and the steps that they are for, at most.
_CHUNK_DRAWS, _CHUNK_STEPS = 2_000_000, 4096


class AnnealState(NamedTuple):
    """Chains between two steps.

    Attributes
    ----------
    x : [B, …]
        Current solutions.
    energy : float64[B]
        Of `x`, in file units.
    best, best_energy : [B, …], float64[B]
        Lowest seen; ``cost(best) == best_energy``.
    accepted : int64[B]
        Moves made.
    step : int
        Steps done.
    """

    x: Tensor
    energy: Tensor
    best: Tensor
    best_energy: Tensor
    accepted: Tensor
    step: int


def start(operations: Operations[Any, Any], batch: Any, x: Tensor) -> AnnealState:
    """Put chains at their first solutions."""
    energy = operations.cost(batch, x)
    accepted = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    return AnnealState(x, energy, x, energy, accepted, 0)


class StepInfo(NamedTuple):
    """Proposals and decisions of one step, for training and diagnostics.

    Attributes
    ----------
    action : tuple of tensors [B, …]
    possible : bool[B]
        Whether there was a move at all.
    accepted : bool[B]
    delta : float64[B]
        Energy that the proposed move would add, in file units.
    """

    action: Action
    possible: Tensor
    accepted: Tensor
    delta: Tensor


def step(
    operations: Operations[Any, Any],
    batch: Any,
    policy: Policy,
    state: AnnealState,
    temperature: Tensor,
    u: Tensor,
    *,
    shown: Tensor | None = None,
) -> tuple[AnnealState, StepInfo]:
    """Take chains through one step: propose, weigh, decide (Algorithm 1 of the paper).

    Parameters
    ----------
    temperature : float64, [] or [B]
        In normalised units.
    u : float64[draws + 1, B]
        Uniform numbers: those of the proposal, and last that of the decision.
    shown : float64, [] or [B], optional
        The temperature as the policy sees it; by default the same.
    """
    x, seen = state.x, temperature if shown is None else shown
    action, possible = policy.propose(operations, batch, x, seen, u[:-1])
    delta = operations.delta(batch, x, action)
    moved = operations.apply(batch, x, action)
    accepted = possible & (u[-1].log() < -delta / (temperature * batch.scale).clamp(min=COLD))
    x = torch.where(_over(accepted, moved), moved, x)
    energy = torch.where(accepted, state.energy + delta, state.energy)
    better = energy < state.best_energy  # after the move, not before it
    best = torch.where(_over(better, x), x, state.best)
    best_energy = torch.where(better, energy, state.best_energy)
    after = AnnealState(x, energy, best, best_energy, state.accepted + accepted, state.step + 1)
    return after, StepInfo(action, possible, accepted, delta)


def _over(flags: Tensor, like: Tensor) -> Tensor:
    """Give bool[B] the number of axes of `like`."""
    return flags.reshape(-1, *[1] * (like.dim() - 1))


class TorchChains:
    """Chains of the reference engine between two chunks; see `nsa_cli.anneal.chains.Chains`.

    Parameters
    ----------
    operations, batch, policy
        The problem, its instances and the proposals.
    x : [B, …]
        First solutions; they stay as they are.
    keys : int64[B]
        Random streams, see `nsa_cli.core.draws`.

    Attributes
    ----------
    state : AnnealState
    most : int
        Steps that a chunk may have.
    """

    phase = doing = ""

    def __init__(
        self, operations: Operations[Any, Any], batch: Any, policy: Policy, x: Tensor, keys: Tensor
    ) -> None:
        self._parts, self._keys = (operations, batch, policy), keys
        self.state = start(operations, batch, x)
        self._draws = policy.draws(operations, x)
        self.most = max(min(_CHUNK_DRAWS // (len(keys) * (self._draws + 1)), _CHUNK_STEPS), 1)
        self._scale, self._objectives = batch.scale, operations.objectives
        self._hold = TemperatureHold(policy.temperature_steps)
        self._tally: NDArray[np.float64] | None = None

    @property
    def counted(self) -> int:
        return self.step

    @property
    def step(self) -> int:
        return self.state.step

    @property
    def scale(self) -> NDArray[np.float64]:
        """Normalised unit of energy in file units, float64[B]."""
        return _numpy(self._scale)

    def counting(self, on: bool = True) -> NDArray[np.float64]:
        """Count proposals from now on, or no longer; see `nsa_cli.anneal.chains.Counted`."""
        self._tally = np.zeros((len(self._keys), 8)) if on else None
        self._origin = self.state.energy
        return np.zeros((0, 8)) if self._tally is None else self._tally

    @torch.inference_mode()
    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        for info in self._steps(temperatures):
            if self._tally is not None:
                change = info.delta / self._scale
                changing = info.possible & (change.abs() > NOTHING)
                worse, energy = changing & (change > 0), (self.state.energy - self._origin) / self._scale
                counts = (
                    info.possible,
                    changing,
                    torch.where(changing, change.abs(), 0.0),
                    worse,
                    changing & info.accepted,
                    worse & info.accepted,
                    torch.where(info.possible, energy, 0.0),
                    torch.where(info.possible, energy * energy, 0.0),
                )
                self._tally += _numpy(torch.stack([c.double() for c in counts], 1))

    def _steps(self, temperatures: NDArray[np.float64]) -> Iterator[StepInfo]:
        """Take these steps; their random numbers are made in chunks."""
        for begin in range(0, len(temperatures), self.most):
            some, first = temperatures[begin : begin + self.most], self.state.step
            heat, shown = (
                torch.from_numpy(t).to(self._keys.device) for t in (some, self._hold.shown(first, some))
            )
            draws = uniforms_torch(self._keys, first, first + len(some), self._draws + 1)
            for t, seen, u in zip(heat, shown, draws, strict=True):
                self.state, info = step(*self._parts, self.state, t, u, shown=seen)
                yield info

    @property
    def x(self) -> NDArray[Any]:
        return _numpy(self.state.x)

    @property
    def best(self) -> NDArray[Any]:
        return _numpy(self.state.best)

    @property
    def energy(self) -> NDArray[np.float64]:
        return self._objectives(_numpy(self.state.energy))

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return self._objectives(_numpy(self.state.best_energy))

    @property
    def accepted(self) -> NDArray[np.int64]:
        return _numpy(self.state.accepted)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    return tensor.cpu().numpy()
