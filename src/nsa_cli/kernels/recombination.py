"""Kernels of populations: construction and crossover by the hooks of `nsa_cli.kernels.steps`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import at_step
from nsa_cli.kernels.jit import kernel
from nsa_cli.kernels.steps import descend, energy, recombine, save_best, set_solution

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
