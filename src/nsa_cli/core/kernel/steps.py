"""The parts of a large-step chain that a problem gives, as generic functions: *kick*, *repair*, and the rest.

As with `nsa_cli.core.kernel.hooks`, a problem registers an implementation of each with
`nsa_cli.core.kernel.jit.variant`, by the NamedTuple class of `data`. The loop over them is
`nsa_cli.anneal.large_step`.

`data` is an instance made ready, read only, with two fields that the loop reads: ``scale``, the rise that is
1 at temperature 1, and ``tolerance``, what rises that are none may come to by rounding. `state` is what a
chain changes in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nsa_cli.core.kernel.jit import generic


@generic
def settle(data: Any, state: Any, limit: int) -> bool:
    """Bring the first solution nearer to where kicks begin; False if that is to go on.

    Nothing is drawn: who starts alike settles alike. The first solution is remembered as the best before.

    Parameters
    ----------
    limit : int
        Elements to look at, where there may be so many that a user would wait.
    """
    raise NotImplementedError


@generic
def kick(data: Any, state: Any, draws: np.uint64) -> bool:
    """Change the solution at random; False where there is nothing to change.

    Parameters
    ----------
    draws : uint64
        Of the step, for `nsa_cli.core.kernel.draws.uniform`; draw 0 belongs to the loop.
    """
    raise NotImplementedError


@generic
def repair(data: Any, state: Any, draws: np.uint64) -> float:
    """Bring the kicked solution to a good one by local search.

    Returns
    -------
    float
        By how much it is worse than before the kick, in what the chain climbs; infinite where it is to be
        refused whatever the temperature.
    """
    raise NotImplementedError


@generic
def keep(data: Any, state: Any) -> None:
    """Make what kick and repair did the current solution."""
    raise NotImplementedError


@generic
def undo(data: Any, state: Any) -> None:
    """Take back what kick and repair did."""
    raise NotImplementedError


@generic
def energy(data: Any, state: Any) -> float:
    """Energy of the current solution, in file units."""
    raise NotImplementedError


@generic
def note(data: Any, state: Any) -> None:
    """Remember the current solution as the best."""
    raise NotImplementedError
