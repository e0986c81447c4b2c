"""The fused loop: Algorithm 1 of the paper for one chain after another, compiled with a problem's hooks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import at_step, uniform
from nsa_cli.kernels.hooks import apply, delta, energy, load, propose, store
from nsa_cli.kernels.jit import inlined, kernel

#: Least temperature of the formula: at 0 only what does not make things worse is accepted.
COLD = float(np.finfo(np.float64).tiny)

#: Below the logarithm of any draw, which need not be drawn then.
_NEVER = -37.0


class ChainArrays(NamedTuple):
    """Chains between two chunks, as arrays that a kernel advances in place.

    Attributes
    ----------
    x, best : [B, …]
        Current solutions, and the lowest seen.
    energy, best_energy : float64[B]
    accepted : int64[B]
    keys : int64[B]
        Random streams.
    surplus : float64[B, …]
        Zeros, unless some solutions rank lower than their energies say: what the change that was weighed last
        adds to the rank beyond the energy, and what the current solution's rank is above its energy. The
        lowest rank is the best.
    """

    x: NDArray[Any]
    best: NDArray[Any]
    energy: NDArray[np.float64]
    best_energy: NDArray[np.float64]
    accepted: NDArray[np.int64]
    keys: NDArray[np.int64]
    surplus: NDArray[np.float64]


#: Columns of `Proposals.tally`: proposals, those that change the energy, and the sum of their sizes; those
#: that would raise it; moves made that change it, and that raise it; sums of the energy and of its square.
PROPOSED, CHANGING, SIZES, WORSE, CHANGED, RAISED, ENERGIES, SQUARES = range(8)

#: Changes up to this, in normalised units, are rounding errors: such moves change nothing.
NOTHING = 1e-9


class Proposals(NamedTuple):
    """Proposed moves of K steps, for training; and counts of proposals, for `nsa_cli.anneal.pilot`.

    Attributes
    ----------
    wanted : bool
        Whether a kernel is to write those of each step.
    action : int64[K, B, 2]
    possible : bool[K, B]
        Whether there was a move at all.
    change : float64[K, B]
        Energy that the proposals would add, in file units.
    accepted : bool[K, B]
    tally : float64[B, 8]
        Added to; float64[0, 8] where nothing is counted.
    origin : float64[B]
        The energy that sums of energies count from.
    """

    wanted: bool
    action: NDArray[np.int64]
    possible: NDArray[np.bool_]
    change: NDArray[np.float64]
    accepted: NDArray[np.bool_]
    tally: NDArray[np.float64]
    origin: NDArray[np.float64]


@inlined
def count(tally: NDArray[np.float64], change: float, made: bool, energy: float) -> None:
    """Add a proposal to a chain's row of `Proposals.tally`.

    Parameters
    ----------
    tally : float64[8]
    change : float
        In normalised units.
    made : bool
    energy : float
        After the step.
    """
    tally[PROPOSED] += 1.0
    tally[ENERGIES] += energy
    tally[SQUARES] += energy * energy
    if abs(change) > NOTHING:
        tally[CHANGING] += 1.0
        tally[SIZES] += abs(change)
        tally[CHANGED] += made
        if change > 0.0:
            tally[WORSE] += 1.0
            tally[RAISED] += made


@inlined
def log_ratio(rise: float, heat: float) -> float:
    """Log of the acceptance ratio exp(-rise / T), equation (1) of the paper (Metropolis and others 1953).

    The proposal's own probabilities are left out, as in the paper: the chain then does not sample the
    Boltzmann distribution exactly unless proposals are symmetric.
    """
    return -rise / max(heat, COLD)


@kernel
def begin_chains(batch: Any, policy: Any, work: Any, chains: ChainArrays) -> None:
    """Set the energies of all chains from their solutions."""
    for row in range(len(chains.energy)):
        load(batch, policy, work, row, 0, chains.x[row])
        chains.energy[row] = energy(batch, work, row)
        chains.best_energy[row] = chains.energy[row] + chains.surplus[row, 1]


@kernel
def advance(
    batch: Any,
    chains: ChainArrays,
    draws: int,
    members: int,
    policy: Any,
    temperatures: NDArray[np.float64],
    shown: NDArray[np.float64],
    step: int,
    moves: Proposals,
    work: Any,
    begin: int,
    end: int,
) -> None:
    """Take chains ``begin <= row < end`` through ``len(temperatures)`` steps from step `step` on.

    Parameters
    ----------
    batch, policy, work
        As in `nsa_cli.kernels.hooks`.
    chains : ChainArrays
    draws : int
        Random numbers of a proposal; the next one decides.
    members : int
        Policies that share the batch, each an equal part of its rows.
    temperatures : float64[K]
        In normalised units.
    shown : float64[K]
        The same as the policy sees them, see `nsa_cli.anneal.schedule`.
    moves : Proposals
        Written if wanted.
    begin, end : int
    """
    share = len(chains.energy) // members
    for row in range(begin, end):
        member = row // share
        load(batch, policy, work, row, member, chains.x[row])
        current, best, accepted = chains.energy[row], chains.best_energy[row], 0
        fresh = False  # whether the current solution is the best and not yet written
        scale, key, above = batch.scale[row], chains.keys[row], chains.surplus[row, 1]
        counted = len(moves.tally) > 0
        for k in range(len(temperatures)):
            at = at_step(key, step + k)
            action, possible = propose(batch, policy, work, row, member, shown[k], at)
            if not possible:
                continue
            change = delta(batch, work, row, action)
            if moves.wanted:
                moves.possible[k, row] = True
                moves.action[k, row, 0], moves.action[k, row, 1] = action
                moves.change[k, row] = change
            ratio = log_ratio(change, temperatures[k] * scale)
            made = ratio >= 0.0 or (ratio >= _NEVER and math.log(uniform(at, draws)) < ratio)
            if counted:
                after = current + change if made else current
                count(moves.tally[row], change / scale, made, (after - moves.origin[row]) / scale)
            if not made:
                continue
            more = chains.surplus[row, 0]
            lower = current + change + (above + more) < best
            if fresh and not lower:
                store(batch, work, chains.best[row], True)  # about to leave the best
                fresh = False
            apply(batch, policy, work, row, member, action)
            current += change
            above += more
            accepted += 1
            if moves.wanted:
                moves.accepted[k, row] = True
            if lower:
                best, fresh = current + above, True
        if fresh:
            store(batch, work, chains.best[row], True)
        store(batch, work, chains.x[row], False)
        chains.energy[row], chains.best_energy[row], chains.surplus[row, 1] = current, best, above
        chains.accepted[row] += accepted
