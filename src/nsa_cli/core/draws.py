"""Counter-based random numbers: every draw is a pure function of (seed, stream, step, draw).

A sequential generator makes a result depend on the order of draws: on the batch, the size of a chunk, the
number of threads. Here the k-th step of a chain always sees the same numbers, in any order and backend. The
mixing function is the finaliser of splitmix64 (Steele, Lea, Flood 2014), applied once to (stream key, step)
and once more to (that, draw).

The same arithmetic serves NumPy arrays and torch tensors: int64 with wrap-around multiplication, and
logical shifts spelt as arithmetic shift plus mask.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

ArrayT = TypeVar("ArrayT", NDArray[np.int64], "torch.Tensor")

# 64-bit constants as signed integers. Odd multipliers spread consecutive counters; the last two are
# splitmix64's own.
_STEP = 0x9E3779B97F4A7C15 - 2**64
_DRAW = 0xD1B54A32D192ED03 - 2**64
_MIX1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX2 = 0x94D049BB133111EB - 2**64

#: The step number under which a chain draws its random start; annealing steps count from 0.
START = -1


def _mix(x: Any) -> Any:
    """Finaliser of splitmix64 on int64 arrays of either library."""
    x = (x ^ ((x >> 30) & (2**34 - 1))) * _MIX1
    x = (x ^ ((x >> 27) & (2**37 - 1))) * _MIX2
    return x ^ ((x >> 31) & (2**33 - 1))


def draw_seed() -> int:
    """Draw a seed short enough to type again."""
    return secrets.randbelow(2**31)


def stream_keys(seed: int, streams: NDArray[np.int64]) -> NDArray[np.int64]:
    """Make one key a chain.

    Parameters
    ----------
    seed : int
        The user's seed, 0 <= seed < 2**63.
    streams : int64[B]
        Chain numbers. `solve` counts the chains of each instance from 0, so an instance's answer does
        not depend on the instances solved beside it.

    Returns
    -------
    int64[B]
    """
    root = _mix(np.array([seed], dtype=np.int64) ^ _MIX2)
    return _mix(root + np.asarray(streams, dtype=np.int64) * _DRAW)


def uniforms(keys: NDArray[np.int64], step: int, count: int) -> NDArray[np.float64]:
    """Draw `count` uniform numbers in (0, 1) for each key at one step, with NumPy.

    Returns
    -------
    float64[count, B]
    """
    bits = _counters(keys, np.arange(step, step + 1), np.arange(count))
    return to_unit_interval(bits)[0]


def step_uniforms(key: np.int64, first: int, last: int, count: int) -> NDArray[np.float64]:
    """Draw the same for one key at steps ``first <= k < last``, float64[last - first, count]."""
    bits = _counters(np.array([key]), np.arange(first, last), np.arange(count))
    return to_unit_interval(bits)[:, :, 0]


def redrawn(share: float) -> float:
    """Draw another number in (0, 1) from one."""
    return float(to_unit_interval(_mix(np.array([share * 2.0**63]).astype(np.int64)))[0])


def start_draws(key: np.int64, count: int) -> NDArray[np.float64]:
    """Draw uniform numbers for a chain's start, float64[count]."""
    return uniforms(np.array([key]), START, count)[:, 0]


def start_solutions(
    start: Callable[..., Any], instances: Sequence[Any], keys: NDArray[np.int64]
) -> NDArray[Any]:
    """Build the first solution of each chain.

    Parameters
    ----------
    start : callable
        ``start(instance, draws)``, see `nsa_cli.core.problem.Start`.
    instances : sequence of Instance
        One a chain.
    keys : int64[B]

    Returns
    -------
    [B, …]
    """
    pairs = zip(instances, keys, strict=True)
    return np.stack([start(instance, partial(start_draws, key)) for instance, key in pairs])


def uniforms_torch(keys: torch.Tensor, first: int, last: int, count: int) -> torch.Tensor:
    """Draw the same numbers as `uniforms` for steps ``first <= k < last``, on the keys' device.

    Parameters
    ----------
    keys : int64[B]
    first, last : int
        Half-open range of steps.
    count : int
        Draws a step.

    Returns
    -------
    float64[last - first, count, B]
    """
    import torch

    steps = torch.arange(first, last, device=keys.device)
    return to_unit_interval(_counters(keys, steps, torch.arange(count, device=keys.device)))


def _counters(keys: ArrayT, steps: ArrayT, draws: ArrayT) -> ArrayT:
    """Hash (key, step, draw) to 64 bits: int64[steps, draws, keys]."""
    at_step = _mix(keys + ((steps + 2) * _STEP)[:, None])
    return _mix(at_step[:, None, :] + ((draws + 1) * _DRAW)[:, None])


def to_unit_interval(bits: Any) -> Any:
    """Map 64 random bits to the open interval (0, 1), int64 to float64, in either library.

    52 bits are used and half a step is added: with 53 the largest number would round to 1.
    """
    top = (bits >> 12) & (2**52 - 1)
    return (top.astype(np.float64) if isinstance(top, np.ndarray) else top.double()) * 2.0**-52 + 2.0**-53
