"""Hooks of large steps: *kick*, *repair*, *recombine* and the rest, which a problem implements.

As with `nsa_cli.kernels.hooks`, a problem registers an implementation of each with
`nsa_cli.kernels.jit.variant`, by the NamedTuple class of `data`. The loop over them is
`nsa_cli.anneal.large_step`; `enter` and `recombine` are for populations, `nsa_cli.anneal.population`.

`data` is a preprocessed instance, read only, with two fields that the loop reads: ``scale``, the rise that is
1 at temperature 1, and ``tolerance``, the largest rounding error of a rise. `state` is what a
chain changes in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.kernels.jit import generic


@generic
def settle(data: Any, state: Any, limit: int) -> bool:
    """Improve the first solution by local search before any kick; False if that is to go on.

    Nothing is drawn: equal starts settle equally. The first solution is remembered as the best before.

    Parameters
    ----------
    limit : int
        Elements to visit, so that many of them do not keep a user waiting.
    """


@generic
def kick(data: Any, state: Any, draws: np.uint64) -> bool:
    """Change the solution at random; False where there is nothing to change.

    Parameters
    ----------
    draws : uint64
        Of the step, for `nsa_cli.kernels.draws.uniform`; draw 0 belongs to the loop.
    """


@generic
def repair(data: Any, state: Any, draws: np.uint64) -> float:
    """Improve the kicked solution by local search.

    Returns
    -------
    float
        Rise of the search energy since before the kick; infinite to be refused at any temperature.
    """


@generic
def keep(data: Any, state: Any) -> None:
    """Commit kick and repair."""


@generic
def undo(data: Any, state: Any) -> None:
    """Undo kick and repair."""


@generic
def energy(data: Any, state: Any) -> float:
    """Energy of the current solution, in file units."""


@generic
def note(data: Any, state: Any) -> None:
    """Remember the current solution as the best."""


@generic
def enter(data: Any, state: Any, solution: Any, settled: bool) -> None:
    """Put the chain at a solution, an array such as ``state.best``; all of it is to settle unless it has."""


@generic
def recombine(data: Any, state: Any, other: Any, draws: np.uint64) -> None:
    """Improve the current solution by what another one does better, and repair it by local search.

    Parameters
    ----------
    other : array
        Such as ``state.best``.
    draws : uint64
        For `nsa_cli.kernels.draws.uniform`.
    """
