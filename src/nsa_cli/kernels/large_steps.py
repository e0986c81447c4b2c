"""The loop of large steps: kick, local search, accept or reject; and populations: construction and crossover.

They are compiled with a problem's hooks. The loop decides, draws, counts, and tells when a solution is the
best. A problem says how a solution is kicked and improved, and how the step is undone
(`nsa_cli.kernels.steps`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.annealing import log_ratio
from nsa_cli.kernels.draws import at_step, uniform
from nsa_cli.kernels.jit import inlined, kernel
from nsa_cli.kernels.steps import (
    accept,
    descend,
    energy,
    kick,
    local_search,
    recombine,
    reject,
    save_best,
    set_solution,
)

#: Places in `Tally.energies`.
CURRENT, BEST = range(2)

#: Places in `Tally.counts`.
STEPS, ACCEPTED = range(2)

#: What `run_chain` does.
BEGIN, DESCEND, ADVANCE = range(3)


class Tally(NamedTuple):
    """Energies, counts and random stream of a chain.

    Attributes
    ----------
    energies : float64[2]
        The energies of the current and of the best solution, in file units.
    counts : int64[2]
        The numbers of steps done and accepted.
    key : int64
        The random stream, see `nsa_cli.core.draws`.
    """

    energies: NDArray[np.float64]
    counts: NDArray[np.int64]
    key: np.int64


@kernel
def run_chain(
    data: Any, state: Any, tally: Tally, temperatures: NDArray[np.float64], what: int, limit: int
) -> bool:
    """Begin a chain, descend to its first local optimum or advance it.

    The three have one entry, so that what they share is compiled once.

    Parameters
    ----------
    data, state
        The arguments of the hooks, see `nsa_cli.kernels.steps`.
    tally : Tally
        Its number of steps is the step of the random stream, so chunks change nothing.
    temperatures : float64[K]
        The temperature of each step of `ADVANCE`, in units of ``data.scale``.
    what : int
        `BEGIN`, `DESCEND` or `ADVANCE`.
    limit : int
        The most elements that `DESCEND` visits.

    Returns
    -------
    bool
        Whether the chain is at a local optimum.
    """
    energies = tally.energies
    if what == ADVANCE:
        for temperature in temperatures:
            _step(data, state, tally, temperature)
        return True
    if what == DESCEND:
        done = descend(data, state, limit)
        energies[CURRENT] = energy(data, state)
        _compare(data, state, tally)
        return done
    energies[CURRENT] = energies[BEST] = energy(data, state)
    save_best(data, state)
    return False


@kernel
def restart_at(data: Any, state: Any, tally: Tally, solution: Any) -> None:
    """Put a chain at another solution, before any descent from there."""
    set_solution(data, state, solution, False)
    tally.energies[CURRENT] = energy(data, state)
    _compare(data, state, tally)


@inlined
def _step(data: Any, state: Any, tally: Tally, temperature: float) -> None:
    draws = at_step(tally.key, tally.counts[STEPS])
    tally.counts[STEPS] += 1
    if not kick(data, state, draws):
        return
    rise = local_search(data, state, draws)
    ratio = log_ratio(rise, temperature * data.scale)
    if not rise <= data.tolerance and not math.log(uniform(draws, 0)) < ratio:  # not even by a NaN
        reject(data, state)
        return
    accept(data, state)
    tally.counts[ACCEPTED] += 1
    tally.energies[CURRENT] = energy(data, state)
    _compare(data, state, tally)


@inlined
def _compare(data: Any, state: Any, tally: Tally) -> None:
    """Save the current solution if it is the best."""
    if tally.energies[CURRENT] < tally.energies[BEST] - data.tolerance:
        tally.energies[BEST] = tally.energies[CURRENT]
        save_best(data, state)


#: A limit that no descent reaches: each goes to its local optimum.
_UNLIMITED = 1 << 62


@kernel
def construct(data: Any, state: Any, start: Any) -> float:
    """Improve a start by local search, to ``state.best``; return its energy."""
    set_solution(data, state, start, False)
    descend(data, state, _UNLIMITED)
    save_best(data, state)
    return energy(data, state)


@kernel
def cross_over(
    data: Any,
    state: Any,
    population: Any,
    mating: NDArray[np.int64],
    children: Any,
    energies: NDArray[np.float64],
    key: np.int64,
    number: int,
    places: NDArray[np.int64],
) -> None:
    """Improve solutions by those that follow them in the mating permutation, the last by the first.

    Parameters
    ----------
    population, children : [M, …]
        The solutions of this generation, and at each place of the permutation the child made there.
    mating : int64[M]
        The mating permutation.
    energies : float64[M]
        The energies of the children.
    key, number : int64, int
        The random stream, and the step that the first place has there.
    places : int64[P]
        The places of the permutation whose children are made.
    """
    for place in places:
        following = place + 1 if place + 1 < len(mating) else 0
        set_solution(data, state, population[mating[place]], True)
        recombine(data, state, population[mating[following]], at_step(key, number + place))
        save_best(data, state)
        energies[place] = energy(data, state)
        for k in range(len(state.best)):
            children[place, k] = state.best[k]
