"""The reference engine: simulated annealing of many chains at once, in torch, on any device.

Its one primitive is `advance`: take these chains through these temperatures with this policy and these
random streams. Everything else (stopping, progress, interrupts) happens between chunks, in `loop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nsa_cli.anneal.acceptance import Rule, hastings, metropolis
from nsa_cli.anneal.goals import Settled
from nsa_cli.anneal.held import Held
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.operations import Action, Operations
from nsa_cli.core.policy import Policy

#: Random numbers made at once, at most.
_CHUNK_DRAWS = 2_000_000


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


class Outcome(NamedTuple):
    """A finished run.

    Attributes
    ----------
    state : AnnealState
    reason : str
        ``steps``, or what a stop rule or the last goal said.
    settled : mapping
        Instances that reached a goal, by their number in the batch, as they stood then.
    """

    state: AnnealState
    reason: str
    settled: Mapping[int, Settled] = MappingProxyType({})


def start(operations: Operations[Any, Any], batch: Any, x: Tensor) -> AnnealState:
    """Put chains at their first solutions."""
    energy = operations.cost(batch, x)
    accepted = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    return AnnealState(x, energy, x, energy, accepted, 0)


class StepInfo(NamedTuple):
    """What happened in one step, for those who want to learn from it.

    Attributes
    ----------
    action : tuple of tensors [B, …]
    possible : bool[B]
        Whether there was a move at all.
    accepted : bool[B]
    delta : float64[B]
        What the proposed move would change, in file units.
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
    rule: Rule = "metropolis",
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
    heat = temperature * batch.scale
    if rule == "hastings":
        back = operations.reverse(batch, x, action)
        forward = policy.log_prob(operations, batch, x, seen, action)
        backward = policy.log_prob(operations, batch, moved, seen, back)
        log_ratio = hastings(delta, heat, forward, backward)
    else:
        log_ratio = metropolis(delta, heat)
    accepted = possible & (u[-1].log() < log_ratio)
    return _decide(state, moved, delta, accepted), StepInfo(action, possible, accepted, delta)


@torch.inference_mode()
def advance(
    operations: Operations[Any, Any],
    batch: Any,
    policy: Policy,
    state: AnnealState,
    temperatures: Tensor,
    keys: Tensor,
    *,
    held: Held | None = None,
    rule: Rule = "metropolis",
) -> AnnealState:
    """Take chains through ``len(temperatures)`` steps.

    Parameters
    ----------
    operations, batch, policy
        The problem, its instances and the proposals.
    state : AnnealState
    temperatures : float64[K]
        In normalised units.
    keys : int64[B]
        Random streams, see `nsa_cli.core.draws`.
    held : Held, optional
        What the policy was shown until now; where a call does not go on with a chain, it may be left out.
    rule : {'metropolis', 'hastings'}
    """
    held = Held(policy.temperature_steps) if held is None else held
    shown = torch.from_numpy(held.of(state.step, temperatures.cpu().numpy())).to(temperatures.device)
    count = policy.draws(operations, state.x) + 1
    draws = uniforms_torch(keys, state.step, state.step + len(temperatures), count)
    for temperature, seen, u in zip(temperatures, shown, draws, strict=True):
        state, _ = step(operations, batch, policy, state, temperature, u, shown=seen, rule=rule)
    return state


def _decide(state: AnnealState, moved: Tensor, delta: Tensor, accept: Tensor) -> AnnealState:
    """Move the chains that accept; keep the best after the move, not before it."""
    x = torch.where(_over(accept, moved), moved, state.x)
    energy = torch.where(accept, state.energy + delta, state.energy)
    better = energy < state.best_energy
    return AnnealState(
        x,
        energy,
        torch.where(_over(better, x), x, state.best),
        torch.where(better, energy, state.best_energy),
        state.accepted + accept,
        state.step + 1,
    )


def _over(flags: Tensor, like: Tensor) -> Tensor:
    """Give bool[B] the number of axes of `like`."""
    return flags.reshape(-1, *[1] * (like.dim() - 1))


class TorchChains:
    """Chains of the reference engine between two chunks; see `nsa_cli.anneal.loop.Chains`.

    Parameters
    ----------
    operations, batch, policy, keys, rule
        As for `advance`.
    x : [B, …]
        First solutions.
    """

    def __init__(
        self,
        operations: Operations[Any, Any],
        batch: Any,
        policy: Policy,
        x: Tensor,
        keys: Tensor,
        *,
        rule: Rule = "metropolis",
    ) -> None:
        self.state = start(operations, batch, x)
        self.most = max(_CHUNK_DRAWS // (len(x) * (policy.draws(operations, x) + 1)), 1)
        self._operations, self._batch, self._policy = operations, batch, policy
        self._keys, self._rule = keys, rule
        self._held = Held(policy.temperature_steps)

    @property
    def step(self) -> int:
        return self.state.step

    @property
    def scale(self) -> NDArray[np.float64]:
        """Energy in file units of a normalised unit, float64[B]."""
        return _numpy(self._batch.scale)

    @property
    def choices(self) -> int:
        """How many choices make a move, as far as random numbers tell."""
        return self._policy.draws(self._operations, self.state.x)

    @torch.inference_mode()
    def changes(self, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do as `advance` and give what the proposals would add, float64[K, B]; see `nsa_cli.anneal.auto`."""
        changes = []
        count = self.choices + 1
        heat, shown = (
            torch.from_numpy(array).to(self._keys.device)
            for array in (temperatures, self._held.of(self.step, temperatures))
        )
        for temperature, seen in zip(heat, shown, strict=True):
            u = uniforms_torch(self._keys, self.step, self.step + 1, count)[0]
            self.state, info = step(
                self._operations,
                self._batch,
                self._policy,
                self.state,
                temperature,
                u,
                shown=seen,
                rule=self._rule,
            )
            changes.append(torch.where(info.possible, info.delta, 0.0))
        return _numpy(torch.stack(changes))

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        heat = torch.from_numpy(temperatures).to(self._keys.device)
        self.state = advance(
            self._operations,
            self._batch,
            self._policy,
            self.state,
            heat,
            self._keys,
            held=self._held,
            rule=self._rule,
        )

    @property
    def x(self) -> NDArray[Any]:
        return _numpy(self.state.x)

    @property
    def best(self) -> NDArray[Any]:
        return _numpy(self.state.best)

    @property
    def energy(self) -> NDArray[np.float64]:
        return self._operations.objectives(_numpy(self.state.energy))

    @property
    def walk_energy(self) -> NDArray[np.float64]:
        return _numpy(self.state.energy)

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return self._operations.objectives(_numpy(self.state.best_energy))

    @property
    def accepted(self) -> NDArray[np.int64]:
        return _numpy(self.state.accepted)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.cpu().numpy()
    return array


def anneal(
    operations: Operations[Any, Any],
    batch: Any,
    policy: Policy,
    x: Tensor,
    schedule: Schedule,
    keys: Tensor,
    *,
    rule: Rule = "metropolis",
    **options: Any,
) -> Outcome:
    """Run chains through a whole schedule, or until a rule stops them.

    Parameters
    ----------
    operations, batch, policy, keys, rule
        As for `advance`.
    x : [B, …]
        First solutions.
    schedule : Schedule
    **options
        Of `nsa_cli.anneal.loop.run_chains`.
    """
    chains = TorchChains(operations, batch, policy, x, keys, rule=rule)
    end = run_chains(chains, schedule, **options)
    return Outcome(chains.state, end.reason, end.settled)
