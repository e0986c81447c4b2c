"""Networks over candidates and their gradients on a CPU, without a tensor of hidden units in memory.

A step of PPO puts a hundred thousand candidates through 16 hidden units, forwards and backwards. As tensor
operations that is memory going to and fro; here a few hundred candidates at a time stay in the nearest cache.
Layout: features are float32[F, M, N], transition after transition, so that inner loops are long.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nsa_cli.core.kernel.jit import reordered

#: Candidates that are worked on together: their features and one hidden unit fit into 32 KiB.
_GROUP = 512


class Network(NamedTuple):
    """Weights: float32[F, H], [H], [H]."""

    first: Any
    bias: Any
    second: Any


class Space(NamedTuple):
    """Scratch of one thread, and the gradients it sums.

    Attributes
    ----------
    seen : float32[F, G]
        Features of a group of candidates.
    unit, score : float32[G]
    first, bias, second : float64[F, H], [H], [H]
        Gradients.
    """

    seen: Any
    unit: Any
    score: Any
    first: Any
    bias: Any
    second: Any


def space(features: int, candidates: int, hidden: int) -> Space:
    """Allocate for transitions of so many candidates."""
    width = group_of(candidates) * candidates
    return Space(
        np.zeros((features, width), np.float32),
        np.zeros(width, np.float32),
        np.zeros(width, np.float32),
        np.zeros((features, hidden)),
        np.zeros(hidden),
        np.zeros(hidden),
    )


def group_of(candidates: int) -> int:
    """Transitions of so many candidates that are done together."""
    return max(1, _GROUP // candidates)


@reordered
def log_probabilities(
    network: Any,
    features: Any,
    allowed: Any,
    rows: Any,
    index: Any,
    begin: int,
    end: int,
    group: int,
    work: Any,
    shares: Any,
    result: Any,
) -> None:
    """Fill in ``result``, the log-probability of candidate ``index[r]`` of transition ``rows[r]``.

    Parameters
    ----------
    network : Network
    features : float32[F, M, N]
    allowed : bool[M, N]
    rows, index : int64[R]
    begin, end : int
        Of the rows, which are done.
    group : int
        Rows that are done together.
    work : Space
    shares : float32[R, N]
        Written: probabilities of all candidates.
    result : float64[R]
        Written; -inf where the candidate is not allowed.
    """
    size = features.shape[2]
    for low in range(begin, end, group):
        high = min(low + group, end)
        _gather(features, rows, low, high, work)
        _score(network, work, (high - low) * size)
        for r in range(low, high):
            base, row = (r - low) * size, rows[r]
            largest = np.float32(-3e38)
            for n in range(size):
                work.unit[n] = work.score[base + n] if allowed[row, n] else np.float32(-3e38)
                largest = max(largest, work.unit[n])
            total = np.float32(0.0)
            for n in range(size):
                shares[r, n] = math.exp(work.unit[n] - largest) if allowed[row, n] else np.float32(0.0)
                total += shares[r, n]
            result[r] = -np.inf
            if total > np.float32(0.0):
                if allowed[row, index[r]]:
                    result[r] = (
                        np.float64(work.score[base + index[r]]) - largest - math.log(np.float64(total))
                    )
                share = np.float32(1.0) / total
                for n in range(size):
                    shares[r, n] *= share


@reordered
def add_log_gradient(
    network: Any,
    features: Any,
    rows: Any,
    index: Any,
    begin: int,
    end: int,
    group: int,
    work: Any,
    shares: Any,
    weight: Any,
) -> None:
    """Add the weights' gradients of ``sum_r weight[r] * result[r]`` of `log_probabilities`.

    Parameters
    ----------
    weight : float64[R]
    """
    size = features.shape[2]
    for low in range(begin, end, group):
        high = min(low + group, end)
        _gather(features, rows, low, high, work)
        for r in range(low, high):
            base, scale = (r - low) * size, np.float32(weight[r])
            for n in range(size):
                work.score[base + n] = -scale * shares[r, n]
            work.score[base + index[r]] += scale
        _add_gradient(network, work, (high - low) * size)


@reordered
def means(
    network: Any, features: Any, rows: Any, begin: int, end: int, group: int, work: Any, result: Any
) -> None:
    """Fill in ``result``, float32[R]: the mean score of each transition's candidates."""
    size = features.shape[2]
    for low in range(begin, end, group):
        high = min(low + group, end)
        _gather(features, rows, low, high, work)
        _score(network, work, (high - low) * size)
        for r in range(low, high):
            total = np.float32(0.0)
            for n in range(size):
                total += work.score[(r - low) * size + n]
            result[r] = total / np.float32(size)


@reordered
def add_mean_gradient(
    network: Any, features: Any, rows: Any, begin: int, end: int, group: int, work: Any, weight: Any
) -> None:
    """Add the weights' gradients of ``sum_r weight[r] * result[r]`` of `means`; weight : float32[R]."""
    size = features.shape[2]
    for low in range(begin, end, group):
        high = min(low + group, end)
        _gather(features, rows, low, high, work)
        for r in range(low, high):
            for n in range(size):
                work.score[(r - low) * size + n] = weight[r] / np.float32(size)
        _add_gradient(network, work, (high - low) * size)


@reordered
def _gather(features: Any, rows: Any, low: int, high: int, work: Any) -> None:
    size = features.shape[2]
    for f in range(features.shape[0]):
        for r in range(low, high):
            base, row = (r - low) * size, rows[r]
            for n in range(size):
                work.seen[f, base + n] = features[f, row, n]


@reordered
def _unit(network: Any, work: Any, h: int, count: int) -> None:
    """First-layer sums of one hidden unit, from two features at a time."""
    rest, base = len(work.seen) % 2, network.bias[h]
    if rest:
        weight = network.first[0, h]
        for c in range(count):
            work.unit[c] = base + weight * work.seen[0, c]
    else:
        for c in range(count):
            work.unit[c] = base
    for f in range(rest, len(work.seen), 2):
        one, two = network.first[f, h], network.first[f + 1, h]
        for c in range(count):
            work.unit[c] += one * work.seen[f, c] + two * work.seen[f + 1, c]


@reordered
def _score(network: Any, work: Any, count: int) -> None:
    for c in range(count):
        work.score[c] = np.float32(0.0)
    for h in range(len(network.bias)):
        _unit(network, work, h, count)
        weight = network.second[h]
        for c in range(count):
            work.score[c] += weight * max(work.unit[c], np.float32(0.0))


@reordered
def _add_gradient(network: Any, work: Any, count: int) -> None:
    """Add gradients, where ``work.score`` holds those of the scores."""
    for h in range(len(network.bias)):
        _unit(network, work, h, count)
        weight, second, bias = network.second[h], np.float32(0.0), np.float32(0.0)
        for c in range(count):
            second += work.score[c] * max(work.unit[c], np.float32(0.0))
            work.unit[c] = weight * work.score[c] if work.unit[c] > np.float32(0.0) else np.float32(0.0)
            bias += work.unit[c]
        work.second[h] += second
        work.bias[h] += bias
        for f in range(len(work.seen)):
            total = np.float32(0.0)
            for c in range(count):
                total += work.unit[c] * work.seen[f, c]
            work.first[f, h] += total
