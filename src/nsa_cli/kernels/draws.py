"""The random numbers of `nsa_cli.core.draws`, one at a time."""

from __future__ import annotations

import numpy as np

from nsa_cli.kernels.jit import inlined

#: Vector width of sums over candidates, in kernels and in the reference: it fixes the order in which a
#: softmax is inverted.
LANES = 16

_STEP = np.uint64(0x9E3779B97F4A7C15)
_DRAW = np.uint64(0xD1B54A32D192ED03)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _12, _1, _2 = map(np.uint64, (30, 27, 31, 12, 1, 2))


@inlined
def mix(x: np.uint64) -> np.uint64:
    """Finaliser of splitmix64."""
    x = (x ^ (x >> _30)) * _MIX1
    x = (x ^ (x >> _27)) * _MIX2
    return x ^ (x >> _31)


@inlined
def at_step(key: np.int64, step: int) -> np.uint64:
    """Hash a chain's key and a step."""
    return mix(np.uint64(np.int64(key)) + (np.uint64(np.int64(step)) + _2) * _STEP)


@inlined
def uniform(at: np.uint64, draw: int) -> float:
    """Draw number `draw` of a step, in (0, 1)."""
    bits = mix(at + (np.uint64(np.int64(draw)) + _1) * _DRAW)
    return np.float64(bits >> _12) * 2.0**-52 + 2.0**-53
