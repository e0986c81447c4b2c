"""Initial and final temperatures from a sample of an instance's moves, taken at a local optimum.

A temperature has no meaning but by the energy changes that moves propose; so it is set by its acceptance
ratio of worsening moves (as Johnson, Aragon, McGeoch and Schevon 1989 set the first one, and Ben-Ameur
2004 finds it from a sample). The sample is taken where a descent has come to rest: what moves change in
random solutions matters at the very beginning only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Worsening moves accepted at the first temperature and at the last, for each of N elements, while as many
#: are proposed as there are: N to the number of a move's choices. Measured on maximum cuts of 30 to 300
#: vertices with 20 N and 200 N steps, against a grid of pairs; of tours, most of whose moves are much too
#: long, a share of all moves would be far too hot, and this is within one per cent of tuned temperatures.
#: With candidate lists tuned ones accept just such shares of all moves: .122 and .007 at 100 and 500 cities.
FIRST_SHARE, LAST_SHARE = 0.12, 0.005

#: Steps of the descent and the sample: for each possible move, and at most.
_STEPS, _MOST = 20, 10_000

#: Normalised changes up to this are rounding errors: such moves are made whatever their sign.
_NOTHING = 1e-9

#: Halvings of the interval, in logarithms, in which a temperature is sought.
_HALVINGS = 50


def sampled_temperatures(
    chains: Any, size: int, most: int = _MOST, *, choices: int | None = None, candidate_lists: bool = False
) -> tuple[float, float] | None:
    """First and last temperature, normalised, from the moves proposed after a descent.

    Parameters
    ----------
    chains : FusedChains or TorchChains
        Of one instance, at their starts; they are used up.
    size : int
        N.
    most : int
        Steps that may be taken at most.
    choices : int, optional
        That make a move; as many as random numbers are drawn by default.
    candidate_lists : bool
        Whether moves come from candidate lists: acceptance rates are then over all moves.

    Returns
    -------
    float, float, or None
        None where no move makes things worse.
    """
    others = float(size) ** ((choices or chains.choices) - 1)
    half = int(max(min(_STEPS * size * others, most) // 2, 1))
    if candidate_lists:
        others = 1.0
    cold = np.full(half, _NOTHING)
    chains.advance(cold)
    worse = chains.changes(cold) / chains.scale
    worse = worse[np.isfinite(worse) & (worse > _NOTHING)]
    if not len(worse):
        return None
    return temperature_for(worse, FIRST_SHARE / others), temperature_for(worse, LAST_SHARE / others)


def temperature_for(worse: NDArray[np.float64], share: float) -> float:
    """Temperature at which Metropolis' rule accepts a share of worsening moves, by bisection.

    Parameters
    ----------
    worse : float64[M]
        Positive energy changes.
    share : float
        Between 0 and 1.
    """
    # Between these all are accepted less often than the share, and more often.
    low = np.log(worse.min()) - np.log(-np.log(share))
    high = np.log(worse.max()) - np.log(-np.log(share))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        accepted = float(np.exp(-worse / np.exp(middle)).mean())
        low, high = (middle, high) if accepted < share else (low, middle)
    return float(np.exp((low + high) / 2))
