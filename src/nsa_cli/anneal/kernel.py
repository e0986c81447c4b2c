"""The fused loop: Algorithm 1 of the paper for one chain after another, compiled with a problem's parts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.anneal.acceptance import COLD
from nsa_cli.core.kernel.draws import at_step, uniform
from nsa_cli.core.kernel.jit import anew, kernel
from nsa_cli.core.kernel.parts import apply, delta, energy, load, propose, reverse, store


class Chains(NamedTuple):
    """Chains between two chunks, as arrays that a kernel advances in place.

    Attributes
    ----------
    x, best : [B, …]
        Current solutions, and the lowest seen.
    energy, best_energy : float64[B]
    accepted : int64[B]
    keys : int64[B]
        Random streams.
    """

    x: Any
    best: Any
    energy: Any
    best_energy: Any
    accepted: Any
    keys: Any


class Moves(NamedTuple):
    """What was proposed, for those who want to learn from it.

    Attributes
    ----------
    wanted : bool
        Whether a kernel is to write any of this.
    action : int64[K, B, 2]
    log_probability, change : float64[K, B]
        Of the proposals, -inf where there was none; and the energy that they would add, in file units.
    accepted : bool[K, B]
    """

    wanted: Any
    action: Any
    log_probability: Any
    change: Any
    accepted: Any


@kernel
def begin_chains(batch: Any, policy: Any, work: Any, chains: Chains) -> None:
    """Set the energies of all chains from their solutions."""
    for row in range(len(chains.energy)):
        load(batch, policy, work, row, 0, chains.x[row])
        chains.energy[row] = chains.best_energy[row] = energy(batch, work, row)


@kernel
def advance(
    batch: Any,
    policy: Any,
    work: Any,
    chains: Chains,
    temperatures: Any,
    shown: Any,
    step: int,
    draws: int,
    members: int,
    hastings: bool,
    moves: Moves,
    begin: int,
    end: int,
) -> None:
    """Take chains ``begin <= row < end`` through ``len(temperatures)`` steps from step `step` on.

    Parameters
    ----------
    batch, policy, work
        As in `nsa_cli.core.kernel.parts`.
    chains : Chains
    temperatures : float64[K]
        In normalised units.
    shown : float64[K]
        The same as the policy sees them, see `nsa_cli.anneal.held`.
    draws : int
        Random numbers of a proposal; the next one decides.
    members : int
        Policies that share the batch, each an equal part of its rows.
    hastings : bool
        Whether the acceptance ratio takes in the proposals' probabilities.
    moves : Moves
        Written if wanted.
    """
    share = len(chains.energy) // members
    none = (np.int64(-1), np.int64(-1))
    for row in range(begin, end):
        member = row // share
        load(batch, policy, work, row, member, chains.x[row])
        current, best, accepted = chains.energy[row], chains.best_energy[row], 0
        fresh = False  # whether the current solution is the best and not yet written
        scale, key = batch.scale[row], chains.keys[row]
        for k in range(len(temperatures)):
            at = at_step(key, step + k)
            action, forward = propose(batch, policy, work, row, member, shown[k], at, none)
            if moves.wanted:
                moves.log_probability[k, row] = forward
            if forward == -np.inf:
                continue
            change = delta(batch, work, row, action)
            if moves.wanted:
                moves.action[k, row, 0], moves.action[k, row, 1] = action
                moves.change[k, row] = change
            log_ratio = -change / max(temperatures[k] * scale, COLD)
            if hastings:
                back = reverse(batch, work, row, action)
                apply(batch, policy, work, row, member, action)
                _, backward = propose(batch, policy, work, row, member, shown[k], at, back)
                apply(batch, policy, work, row, member, back)
                log_ratio += backward - forward
            if log_ratio < 0.0 and not math.log(uniform(at, draws)) < log_ratio:
                continue
            lower = current + change < best
            if fresh and not lower:
                store(batch, work, chains.best[row], True)  # about to leave the best
                fresh = False
            apply(batch, policy, work, row, member, action)
            current += change
            accepted += 1
            if moves.wanted:
                moves.accepted[k, row] = True
            if lower:
                best, fresh = current, True
        if fresh:
            store(batch, work, chains.best[row], True)
        store(batch, work, chains.x[row], False)
        chains.energy[row], chains.best_energy[row] = current, best
        chains.accepted[row] += accepted


#: The same two for parts that come from outside of this package.
begin_chains_anew, advance_anew = anew(begin_chains), anew(advance)
