"""Kernels for networks over candidates and their gradients, without a tensor of hidden units.

A step of PPO puts a hundred thousand candidates through 16 hidden units, forwards and backwards. As tensor
operations that is bound by memory; here a few hundred candidates at a time stay in the L1 cache.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.gradient_lanes import add_row_gradients, exponentials, mask_row, score_rows
from nsa_cli.kernels.jit import reordered
from nsa_cli.kernels.slots import blocks_of

#: Candidates of a group: their scores stay in the L1 cache.
_GROUP = 1024

#: Below any score of an allowed candidate.
_LOWEST = np.float32(-3e38)


class Choices(NamedTuple):
    """One choice of R transitions, their candidates one after the other.

    Attributes
    ----------
    features : float32[F, R N + LANES]
        Feature after feature; at the end padding, which counts for nothing.
    shifts : tuple of int64
        Where in the flattened features each feature begins.
    allowed : uint8[R N + LANES]
        1 for allowed candidates.
    index : int64[R]
        The chosen candidate.
    size : int
        N.
    """

    features: NDArray[np.float32]
    shifts: tuple[int, ...]
    allowed: NDArray[np.uint8]
    index: Any  # beside the method of tuples
    size: int


def empty_choices(features: int, rows: int, candidates: int) -> Choices:
    """Allocate for so many transitions."""
    width = rows * candidates + LANES
    return Choices(
        np.zeros((features, width), np.float32),
        tuple(range(0, features * width, width)),
        np.zeros(width, np.uint8),
        np.zeros(rows, np.int64),
        candidates,
    )


def scratch(candidates: int) -> Any:
    """Allocate for the scores of a group of transitions of so many candidates, or their gradients."""
    return np.empty((blocks_of(max(_GROUP, candidates)) + 1) * LANES, np.float32)


def row_shares(rows: int, candidates: int) -> Any:
    """Allocate probabilities of all candidates of so many transitions: float32[R, whole blocks]."""
    return np.empty((rows, blocks_of(candidates) * LANES), np.float32)


@reordered
def gather(
    features: Any, allowed: Any, index: Any, rows: NDArray[np.int64], begin: int, end: int, into: Choices
) -> None:
    """Copy some transitions side by side.

    Parameters
    ----------
    features : float32[M, F, N]
        Of all transitions; the last ones may have no choice (`allowed` and `index` are shorter).
    allowed : bool[L, N]
    index : int64[L]
    rows : int64[R]
        Transitions to copy.
    begin, end : int
        Of the rows, which are done.
    into : Choices
        Written.
    """
    size = into.size
    for r in range(begin, end):
        row, base = rows[r], r * size
        for f in range(features.shape[1]):
            _copy(features[row, f], into.features[f, base : base + size])
        if row < len(index):
            into.index[r] = index[row]
            _copy(allowed[row], into.allowed[base : base + size])


@reordered
def _copy(numbers: Any, into: Any) -> None:
    # A view begins at 0: of a sum of indices the compiler cannot tell that it counts from the front.
    for n in range(len(into)):
        into[n] = numbers[n]


@reordered
def log_probabilities(
    network: Any, rows: Choices, begin: int, end: int, score: Any, shares: Any, result: Any
) -> None:
    """Fill in the log-probabilities of the chosen candidates.

    Parameters
    ----------
    network : float32[F + 2, HIDDEN]
        Weights of the features, of a constant 1, and outwards, of `HIDDEN` units.
    rows : Choices
    begin, end : int
        Range of `rows` to do.
    score : float32[…]
        See `scratch`.
    shares : float32[R, whole blocks]
        Written: probabilities of all candidates.
    result : float64[R]
        Written; -inf where the candidate is not allowed.
    """
    size, group = rows.size, max(1, _GROUP // rows.size)
    blocks = shares.shape[1] // LANES
    for low in range(begin, end, group):
        high = min(low + group, end)
        _score(network, rows, low, high, score)
        for r in range(low, high):
            base, place, index = (r - low) * size, r * size, rows.index[r]
            largest = mask_row(score, base, size, rows.allowed, place, shares[r])
            result[r] = -np.inf
            share = np.float32(0.0)
            if largest > _LOWEST:
                total = exponentials(shares[r], largest, blocks)
                share = np.float32(1.0) / total
                if rows.allowed[place + index]:
                    result[r] = np.float64(score[base + index] - largest) - math.log(total)
            _scale(shares[r], share, shares[r])


@reordered
def add_log_gradient(
    network: Any, rows: Choices, begin: int, end: int, score: Any, shares: Any, weight: Any, gradient: Any
) -> None:
    """Add the gradient of ``sum_r weight[r] * result[r]`` of `log_probabilities`.

    Parameters
    ----------
    weight : float64[R]
    gradient : float64[F + 2, HIDDEN]
    """
    size, group = rows.size, max(1, _GROUP // rows.size)
    for low in range(begin, end, group):
        high = min(low + group, end)
        for r in range(low, high):
            base, scale = (r - low) * size, np.float32(weight[r])
            _scale(shares[r], -scale, score[base : base + size])
            score[base + rows.index[r]] += scale
        _add_gradient(network, rows, low, high, score, gradient)


@reordered
def surrogate(
    log_prob: Any,
    old: Any,
    possible: Any,
    advantage: Any,
    count: int,
    clip: float,
    entropy: float,
    weight: Any,
    sums: Any,
) -> None:
    """Differentiate the policy's loss by the log-probabilities of rows; see `estimators.losses`.

    Parameters
    ----------
    log_prob, old : float64[R]
    possible : bool[R]
    advantage : float32[R]
        Normalised.
    count : int
        Rows of the minibatch, of which these are all or a part.
    clip, entropy : float
    weight : float64[R]
        Written: derivatives.
    sums : float64[4]
        Added to: loss, approximate divergence, share of clipped ratios, mean of -log p.
    """
    for r in range(len(log_prob)):
        log_ratio = log_prob[r] - old[r] if possible[r] else 0.0
        surprise = -log_prob[r] if possible[r] else 0.0
        ratio, gain = math.exp(log_ratio), float(advantage[r])
        kept = min(max(ratio, 1.0 - clip), 1.0 + clip)
        slope = -ratio * gain if ratio * gain <= kept * gain else 0.0
        slope -= entropy * ratio * (surprise - 1.0)
        weight[r] = slope / count if possible[r] else 0.0
        sums[0] += (-min(ratio * gain, kept * gain) - entropy * ratio * surprise) / count
        sums[1] += (ratio - 1.0 - log_ratio) / count
        sums[2] += (abs(ratio - 1.0) > clip) / count
        sums[3] += surprise / count


@reordered
def means(network: Any, rows: Choices, begin: int, end: int, score: Any, result: Any) -> None:
    """Fill in ``result``, float32[R]: the mean score of each transition's candidates."""
    size, group = rows.size, max(1, _GROUP // rows.size)
    for low in range(begin, end, group):
        high = min(low + group, end)
        _score(network, rows, low, high, score)
        for r in range(low, high):
            total = np.float32(0.0)
            for one in score[(r - low) * size : (r - low + 1) * size]:
                total += one
            result[r] = total / np.float32(size)


@reordered
def add_mean_gradient(
    network: Any, rows: Choices, begin: int, end: int, score: Any, weight: Any, gradient: Any
) -> None:
    """Add the gradient of ``sum_r weight[r] * result[r]`` of `means`; weight : float32[R]."""
    size, group = rows.size, max(1, _GROUP // rows.size)
    for low in range(begin, end, group):
        high = min(low + group, end)
        for r in range(low, high):
            score[(r - low) * size : (r - low + 1) * size] = weight[r] / np.float32(size)
        _add_gradient(network, rows, low, high, score, gradient)


@reordered
def _scale(numbers: Any, factor: float, into: Any) -> None:
    for n in range(len(into)):
        into[n] = numbers[n] * factor


@reordered
def _score(network: Any, rows: Choices, low: int, high: int, score: Any) -> None:
    blocks = ((high - low) * rows.size + LANES - 1) // LANES
    score_rows(rows.features[:, low * rows.size :], rows.shifts, network, score, blocks)


@reordered
def _add_gradient(network: Any, rows: Choices, low: int, high: int, score: Any, gradient: Any) -> None:
    """Add gradients, where `score` holds those of the scores."""
    count = (high - low) * rows.size
    blocks = (count + LANES - 1) // LANES
    score[count : blocks * LANES] = np.float32(0.0)
    add_row_gradients(rows.features[:, low * rows.size :], rows.shifts, network, score, gradient, blocks)
