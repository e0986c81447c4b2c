"""Hooks of large steps, one step of iterated local search: a problem implements them, the loop calls them.

As with `nsa_cli.kernels.hooks`, a problem registers an implementation of each with
`nsa_cli.kernels.jit.variant`, by the NamedTuple class of `data`. The loop is `nsa_cli.kernels.large_steps`;
`set_solution` and `recombine` are for populations (`nsa_cli.kernels.large_steps`).

`data` is a preprocessed instance, read only, with two fields that the loop reads: ``scale``, the rise that is
1 at temperature 1, and ``tolerance``, the largest rounding error of a rise. `state` is what a chain changes
in place; its ``best`` is the best solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.kernels.jit import generic


@generic
def descend(data: Any, state: Any, limit: int) -> bool:
    """Descend towards a local optimum before the first kick; False if it is not reached yet.

    The descent draws no random numbers, so equal starts end in equal solutions. The loop has saved the start
    as the best solution before.

    Parameters
    ----------
    limit : int
        The most elements to visit, so that many elements do not keep a user waiting.
    """


@generic
def kick(data: Any, state: Any, draws: np.uint64) -> bool:
    """Perturb the solution at random; False where there is nothing to change.

    Parameters
    ----------
    draws : uint64
        The step's random stream, for `nsa_cli.kernels.draws.uniform`; draw 0 belongs to the loop.
    """


@generic
def local_search(data: Any, state: Any, draws: np.uint64) -> float:
    """Improve the kicked solution by local search.

    Returns
    -------
    float
        Rise of the search energy since before the kick; infinite to be rejected at any temperature.
    """


@generic
def accept(data: Any, state: Any) -> None:
    """Make the step final."""


@generic
def reject(data: Any, state: Any) -> None:
    """Undo the step: the kick and its local search."""


@generic
def energy(data: Any, state: Any) -> float:
    """Energy of the current solution, in file units."""


@generic
def save_best(data: Any, state: Any) -> None:
    """Save the current solution as the best."""


@generic
def set_solution(data: Any, state: Any, solution: Any, is_optimum: bool) -> None:
    """Put the chain at a solution.

    Parameters
    ----------
    solution : array
        A solution in the form of ``state.best``.
    is_optimum : bool
        Whether it is a local optimum already; if not, `descend` visits all of it.
    """


@generic
def recombine(data: Any, state: Any, other: Any, draws: np.uint64) -> None:
    """Improve the current solution by crossover with another one, and by local search after it.

    Parameters
    ----------
    other : array
        A solution in the form of ``state.best``.
    draws : uint64
        The random stream, for `nsa_cli.kernels.draws.uniform`.
    """
