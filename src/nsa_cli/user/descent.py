"""Descent in plain Python, for where there is no time to compile a problem's functions."""

from __future__ import annotations

import time

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Draws
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.scalar import Scalars

#: Seconds of one start: there is one for each chain.
_SECONDS = 0.04


def descent(instance: UserInstance, draws: Draws) -> Solution:
    """Improve a random solution by random moves, for a moment."""
    x = instance.start(draws)
    rng = np.random.default_rng(int(draws(1)[0] * 2**53))
    scalars, end = Scalars(instance), time.monotonic() + _SECONDS
    while time.monotonic() < end:
        move = scalars.random_move(x, rng)
        if move is not None and scalars.delta(x, move) < 0:
            scalars.apply(x, move)
    return x
