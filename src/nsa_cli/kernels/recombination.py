"""Kernels of populations: solutions are made and recombined by the hooks of `nsa_cli.kernels.steps`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import at_step
from nsa_cli.kernels.jit import kernel
from nsa_cli.kernels.steps import energy, enter, note, recombine, settle

#: Any number of elements.
_ALL = 1 << 62


@kernel
def make(data: Any, state: Any, start: Any) -> float:
    """Improve a start by local search, to ``state.best``; return its energy."""
    enter(data, state, start, False)
    settle(data, state, _ALL)
    note(data, state)
    return energy(data, state)


@kernel
def mate(
    data: Any,
    state: Any,
    members: Any,
    ring: NDArray[np.int64],
    children: Any,
    energies: NDArray[np.float64],
    key: np.int64,
    number: int,
    places: NDArray[np.int64],
) -> None:
    """Improve solutions by those that follow them in a ring.

    Parameters
    ----------
    members, children : [M, …]
        Solutions, and what becomes of those at each place of the ring.
    ring : int64[M]
    energies : float64[M]
        Of the children.
    key, number : int64, int
        Random stream, and the step that the first place of the ring has there.
    places : int64[P]
        Which ones.
    """
    for place in places:
        following = place + 1 if place + 1 < len(ring) else 0
        enter(data, state, members[ring[place]], True)
        recombine(data, state, members[ring[following]], at_step(key, number + place))
        note(data, state)
        energies[place] = energy(data, state)
        for k in range(len(state.best)):
            children[place, k] = state.best[k]
