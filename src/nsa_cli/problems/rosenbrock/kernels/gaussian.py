"""Hooks of Rosenbrock's function; see `nsa_cli.problems.rosenbrock.operations`.

The only action is the step in ``work.step``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels import hooks
from nsa_cli.kernels.draws import uniform
from nsa_cli.kernels.hooks import Gaussian, Uniform
from nsa_cli.kernels.jit import generic, inlined, variant
from nsa_cli.kernels.lanes import HIDDEN
from nsa_cli.kernels.normal import quantile

#: Standard deviation of constant proposals: about the best for a ~ U(0, 1), b ~ U(0, 100) over 100 steps, by
#: the mean of the best value.
SIGMA = 0.3

#: Bounds of a learnt log sigma. Training shows a network few points far out, and what it makes of them is a
#: matter of luck: steps of 90, which are never accepted, or of 0.001, which lead nowhere. Starts spread by 1.
LOG_SIGMA = (-5.0, 0.0)
LOWEST, HIGHEST = np.float32(LOG_SIGMA[0]), np.float32(LOG_SIGMA[1])


class RosenbrockBatch(NamedTuple):
    """Functions of one number of dimensions, as arrays or as tensors.

    Attributes
    ----------
    a, b : float64[B]
    scale : float64[B]
        1 unless a unit is given, as in the paper.
    """

    a: Any
    b: Any
    scale: Any


class Work(NamedTuple):
    """State of one chain.

    Attributes
    ----------
    x : float64[D]
        The point.
    step, sigma : float64[D]
        The proposed step, and the standard deviations where it starts.
    """

    x: NDArray[np.float64]
    step: NDArray[np.float64]
    sigma: NDArray[np.float64]


@variant(hooks.load, batch=RosenbrockBatch)
def _load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    for d in range(len(x)):
        work.x[d] = x[d]


@variant(hooks.propose, batch=RosenbrockBatch)
def _propose(batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: Any) -> Any:
    spread(policy, work, member)
    for d in range(len(work.x)):
        work.step[d] = work.sigma[d] * quantile(uniform(at, d))
    return (np.int64(0), np.int64(0)), True


@generic
def spread(policy: Any, work: Any, member: int) -> None:
    """Set the standard deviations at the current point."""


@variant(spread, policy=Uniform)
def _spread_constant(policy: Any, work: Any, member: int) -> None:
    for d in range(len(work.x)):
        work.sigma[d] = SIGMA


@variant(spread, policy=Gaussian)
def _spread(policy: Any, work: Any, member: int) -> None:
    size = len(work.x)
    for d in range(size):
        total = policy.offset[member, d]
        for h in range(HIDDEN):
            unit = policy.bias[member, h]
            for f in range(size):
                unit += policy.first[member, f, h] * np.float32(work.x[f])
            total += policy.second[member, h, d] * max(unit, np.float32(0.0))
        work.sigma[d] = math.exp(np.float64(min(max(total, LOWEST), HIGHEST)))


@variant(hooks.energy, batch=RosenbrockBatch)
def _energy(batch: Any, work: Any, row: int) -> float:
    total = 0.0
    for d in range(len(work.x) - 1):
        total += _term(batch.a[row], batch.b[row], work.x[d], work.x[d + 1])
    return total


@variant(hooks.delta, batch=RosenbrockBatch)
def _delta(batch: Any, work: Any, row: int, action: Any) -> float:
    old, new = 0.0, 0.0
    a, b = batch.a[row], batch.b[row]
    for d in range(len(work.x) - 1):
        left, right = work.x[d], work.x[d + 1]
        old += _term(a, b, left, right)
        new += _term(a, b, left + work.step[d], right + work.step[d + 1])
    return new - old


@inlined
def _term(a: float, b: float, left: float, right: float) -> float:
    valley = right - left * left
    return (a - left) * (a - left) + b * (valley * valley)


@variant(hooks.apply, batch=RosenbrockBatch)
def _apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    for d in range(len(work.x)):
        work.x[d] += work.step[d]


@variant(hooks.store, batch=RosenbrockBatch)
def _store(batch: Any, work: Any, x: Any, best: bool) -> None:
    for d in range(len(x)):
        x[d] = work.x[d]
