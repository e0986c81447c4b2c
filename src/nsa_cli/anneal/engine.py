"""The reference engine: simulated annealing of many chains at once, in torch, on any device.

Its one primitive is `advance`: take these chains through these temperatures with this policy and these
random streams. Everything else (stopping, progress, interrupts) happens between chunks, in `anneal`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nsa_cli.anneal.acceptance import Rule, hastings, metropolis
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.anneal.stop import Progress, StopRule, first_reason
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.operations import Action, Operations
from nsa_cli.core.policy import Policy

#: A chunk is to take about this long, in seconds: short to a user, long to an interpreter.
_CHUNK_SECONDS = 0.1

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
        ``steps``, or what a stop rule said.
    """

    state: AnnealState
    reason: str


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
    rule: Rule = "metropolis",
) -> tuple[AnnealState, StepInfo]:
    """Take chains through one step: propose, weigh, decide (Algorithm 1 of the paper).

    Parameters
    ----------
    temperature : float64, [] or [B]
        In normalised units.
    u : float64[draws + 1, B]
        Uniform numbers: those of the proposal, and last that of the decision.
    """
    x = state.x
    action, possible = policy.propose(operations, batch, x, temperature, u[:-1])
    delta = operations.delta(batch, x, action)
    moved = operations.apply(batch, x, action)
    heat = temperature * batch.scale
    if rule == "hastings":
        back = operations.reverse(batch, x, action)
        forward = policy.log_prob(operations, batch, x, temperature, action)
        backward = policy.log_prob(operations, batch, moved, temperature, back)
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
    rule : {'metropolis', 'hastings'}
    """
    count = policy.draws(operations, state.x) + 1
    draws = uniforms_torch(keys, state.step, state.step + len(temperatures), count)
    for temperature, u in zip(temperatures, draws, strict=True):
        state, _ = step(operations, batch, policy, state, temperature, u, rule=rule)
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


def anneal(
    operations: Operations[Any, Any],
    batch: Any,
    policy: Policy,
    x: Tensor,
    schedule: Schedule,
    keys: Tensor,
    *,
    rule: Rule = "metropolis",
    chunk: int | None = None,
    looks: int | None = None,
    stop: tuple[StopRule, ...] = (),
    on_progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run chains through a whole schedule, or until a rule stops them.

    Parameters
    ----------
    operations, batch, policy, keys, rule
        As for `advance`.
    x : [B, …]
        First solutions.
    schedule : Schedule
    chunk : int, optional
        Steps between two looks at the rules; by default what takes a tenth of a second. It changes
        nothing in the result of a run that is not stopped.
    looks : int, optional
        Chunks that the schedule is cut into at least, for those who want a curve.
    stop : tuple of StopRule
    on_progress : callable, optional
        Called before the first chunk and after each.
    """
    state = start(operations, batch, x)
    draws_a_step = len(x) * (policy.draws(operations, x) + 1)
    most = -(-schedule.steps // looks) if looks else schedule.steps
    chunks = _fixed_chunks(chunk) if chunk else _timed_chunks(draws_a_step, most)
    progress = _progress(state, schedule)
    if on_progress is not None:
        on_progress(progress)
    while state.step < schedule.steps:
        if (reason := first_reason(stop, progress)) is not None:
            return Outcome(state, reason)
        last = min(state.step + next(chunks), schedule.steps)
        temperatures = torch.from_numpy(schedule.temperatures(state.step, last)).to(x.device)
        state = advance(operations, batch, policy, state, temperatures, keys, rule=rule)
        progress = _progress(state, schedule)
        if on_progress is not None:
            on_progress(progress)
    return Outcome(state, "steps")


def _fixed_chunks(chunk: int) -> Iterator[int]:
    while True:
        yield chunk


def _timed_chunks(draws_a_step: int, most: int) -> Iterator[int]:
    """Double or halve the chunk until it takes its time; bounded by the memory of its random numbers."""
    chunk, limit = 8, max(min(_CHUNK_DRAWS // draws_a_step, most), 1)
    while True:
        begin = time.monotonic()
        yield min(chunk, limit)
        seconds = time.monotonic() - begin
        if seconds < _CHUNK_SECONDS / 2:
            chunk = min(2 * chunk, limit)
        elif seconds > 2 * _CHUNK_SECONDS:
            chunk = max(chunk // 2, 1)


def _progress(state: AnnealState, schedule: Schedule) -> Progress:
    done = max(state.step - 1, 0)
    temperature = schedule.temperatures(done, done + 1)[0] if schedule.steps else schedule.t_start
    acceptance = state.accepted.double().mean().item() / max(state.step, 1)
    return Progress(
        state.step,
        schedule.steps,
        float(temperature),
        acceptance,
        state.best_energy.min().item(),
        mean=state.energy.mean().item(),
        lowest=state.energy.min().item(),
        x=state.x,
    )
