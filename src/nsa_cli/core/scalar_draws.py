"""The random numbers of `nsa_cli.core.draws` one at a time, for kernels."""

from __future__ import annotations

import numpy as np

from nsa_cli.core import draws
from nsa_cli.core.compiled import inlined

_STEP = np.int64(draws._STEP)
_DRAW = np.int64(draws._DRAW)
_MIX1 = np.int64(draws._MIX1)
_MIX2 = np.int64(draws._MIX2)


@inlined
def _mix(x: int) -> int:
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _MIX1
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _MIX2
    return x ^ ((x >> 31) & (2**33 - 1))


@inlined
def at_step(key: int, step: int) -> int:
    """Hash a stream's key and a step, int64; the argument of `uniform`."""
    return _mix(key + (step + 2) * _STEP)


@inlined
def uniform(hashed: int, draw: int) -> float:
    """Give the number in (0, 1) that ``draws.uniforms(keys, step, count)[draw]`` gives."""
    bits = _mix(hashed + (draw + 1) * _DRAW)
    return ((bits >> 12) & (2**52 - 1)) * 2.0**-52 + 2.0**-53
