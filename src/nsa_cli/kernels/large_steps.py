"""The loop of large steps: kick, local search, accept or undo, compiled with a problem's hooks.

Decisions, draws, counts and the best solution are here; a problem says what a kick is, how it is repaired,
and how both are undone (`nsa_cli.kernels.steps`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.acceptance import COLD
from nsa_cli.kernels.annealing import log_ratio
from nsa_cli.kernels.draws import at_step, uniform
from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.kernels.steps import energy, enter, keep, kick, note, repair, settle, undo

#: Places in `Tally.energies`.
CURRENT, BEST = range(2)

#: Places in `Tally.counts`.
STEPS, ACCEPTED = range(2)

#: What `run` does.
BEGIN, SETTLE, ADVANCE = range(3)


class Tally(NamedTuple):
    """Energies, counts and random stream of a chain.

    Attributes
    ----------
    energies : float64[2]
        Of the current solution and of the best one, in file units.
    counts : int64[2]
        Steps done and accepted.
    key : int64
        Random stream, see `nsa_cli.core.draws`.
    """

    energies: NDArray[np.float64]
    counts: NDArray[np.int64]
    key: np.int64


@kernel
def run_chain(
    rule: Any, data: Any, state: Any, tally: Tally, temperatures: NDArray[np.float64], what: int, limit: int
) -> bool:
    """Begin a chain, settle it or advance it: one entry, so that what these share is compiled once.

    Parameters
    ----------
    rule : Rule
        Of `nsa_cli.kernels.acceptance`.
    data, state
        As in `nsa_cli.kernels.steps`.
    tally : Tally
        Its number of steps is the step of the random stream: chunks change nothing.
    temperatures : float64[K]
        Of the steps of `ADVANCE`, in units of ``data.scale``.
    what : int
    limit : int
        Elements that `SETTLE` visits at most.

    Returns
    -------
    bool
        Whether it is settled.
    """
    energies = tally.energies
    if what == ADVANCE:
        for temperature in temperatures:
            _step(rule, data, state, tally, temperature)
        return True
    if what == SETTLE:
        done = settle(data, state, limit)
        energies[CURRENT] = energy(data, state)
        _compare(data, state, tally)
        return done
    energies[CURRENT] = energies[BEST] = energy(data, state)
    note(data, state)
    return False


@kernel
def go_on_from(data: Any, state: Any, tally: Tally, solution: Any) -> None:
    """Put a chain at another solution, all of which is still to settle."""
    enter(data, state, solution, False)
    tally.energies[CURRENT] = energy(data, state)
    _compare(data, state, tally)


@inlined
def _step(rule: Any, data: Any, state: Any, tally: Tally, temperature: float) -> None:
    draws = at_step(tally.key, tally.counts[STEPS])
    tally.counts[STEPS] += 1
    if not kick(data, state, draws):
        return
    rise = repair(data, state, draws)
    ratio = log_ratio(rule, rise, max(temperature * data.scale, COLD), 0.0, 0.0)
    if not rise <= data.tolerance and not math.log(uniform(draws, 0)) < ratio:  # not even by a NaN
        undo(data, state)
        return
    keep(data, state)
    tally.counts[ACCEPTED] += 1
    tally.energies[CURRENT] = energy(data, state)
    _compare(data, state, tally)


@inlined
def _compare(data: Any, state: Any, tally: Tally) -> None:
    """Remember the current solution if it is the best."""
    if tally.energies[CURRENT] < tally.energies[BEST] - data.tolerance:
        tally.energies[BEST] = tally.energies[CURRENT]
        note(data, state)
