"""Temperatures from an instance's own moves: what a worsening costs where a descent has come to rest.

A temperature has no meaning but by the energy changes that moves propose; so it is set by the share of
worsening moves that it accepts (as Johnson, Aragon, McGeoch and Schevon 1989 set the first one, and Ben-Ameur
2004 finds it from a sample). The sample is taken where a descent has come to rest: what moves change in
random solutions tells what matters at the very beginning only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Worsening moves that are accepted at the first temperature and at the last, for each of N elements, while
#: as many are proposed as there are: N to the number of choices. Measured on maximum cuts of 30 to 300
#: vertices with 20 N and 200 N steps, against a grid of pairs; of tours, where most moves are hopeless, a
#: share of all moves would be far too hot, and this is within one per cent of tuned temperatures. Between
#: near cities tuned temperatures accept just such shares of all moves: .122 and .007 at 100 and 500 cities.
FIRST_SHARE, LAST_SHARE = 0.12, 0.005

#: Steps of the descent and the sample, a move that there is; and at most.
_STEPS, _MOST = 20, 10_000

#: Normalised changes up to this are rounding errors: moves that change nothing are made whatever their sign.
_NOTHING = 1e-9

#: Halvings of the interval, in logarithms, in which a temperature is sought.
_HALVINGS = 50


def sampled_temperatures(
    chains: Any, size: int, most: int = _MOST, *, hopeful: bool = False
) -> tuple[float, float] | None:
    """Descend, see what moves propose there, and give the first and last temperature, normalised.

    Parameters
    ----------
    chains : FusedChains or TorchChains
        Of one instance, at their starts; they are used up.
    size : int
        N.
    most : int
        Steps that may be taken at most.
    hopeful : bool
        Whether hopeless moves are not proposed.

    Returns
    -------
    float, float, or None
        None where no move makes things worse.
    """
    others = float(size) ** (chains.choices - 1)
    half = int(max(min(_STEPS * size * others, most) // 2, 1))
    if hopeful:
        others = 1.0
    cold = np.full(half, _NOTHING)
    chains.advance(cold)
    worse = chains.changes(cold) / chains.scale
    worse = worse[np.isfinite(worse) & (worse > _NOTHING)]
    if not len(worse):
        return None
    return temperature_for(worse, FIRST_SHARE / others), temperature_for(worse, LAST_SHARE / others)


def temperature_for(worse: NDArray[np.float64], share: float) -> float:
    """Find the temperature at which a share of worsening moves is accepted.

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
