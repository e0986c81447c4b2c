"""Categorical sampling by inversion: one candidate a row from one uniform number a row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nsa_cli.kernels.draws import LANES


class Pick(NamedTuple):
    """A candidate of each row.

    Attributes
    ----------
    candidate : int64[B]
    possible : bool[B]
        False where no candidate was allowed; `candidate` then means nothing.
    """

    candidate: Tensor
    possible: Tensor


def by_weight(weights: Tensor, u: Tensor) -> Pick:
    """Choose in proportion to non-negative weights, by inversion of their cumulative sum.

    Parameters
    ----------
    weights : float64[B, N]
    u : float64[B]
        In (0, 1).
    """
    cumulative = weights.cumsum(1)
    total = cumulative[:, -1]
    # Below the total even where the product rounds up to it: else what has no weight could be chosen.
    threshold = torch.minimum(u * total, total.nextafter(torch.zeros_like(total)))
    index = (cumulative <= threshold[:, None]).sum(1)
    return Pick(index.clamp(max=weights.shape[1] - 1), total > 0)


def by_retry(allowed: Tensor, counts: Tensor, u: Tensor) -> Pick:
    """Choose uniformly: one of all candidates, or where that is not allowed, one of those that are.

    The second draw is made of the digits that the first has left.

    Parameters
    ----------
    allowed : bool[B, N]
    counts : int64[B]
        Candidates of each row.
    u : float64[B]
    """
    share = u * counts
    first = share.long().clamp(max=allowed.shape[1] - 1)
    rank = ((share - first) * allowed.sum(1)).long()
    second = (allowed.cumsum(1) <= rank[:, None]).sum(1).clamp(max=allowed.shape[1] - 1)
    good = allowed.gather(1, first[:, None])[:, 0]
    return Pick(torch.where(good, first, second), allowed.any(1))


def by_softmax(logits: Tensor, allowed: Tensor, u: Tensor) -> Pick:
    """Choose in proportion to exp(logits) among the allowed candidates.

    The order of the inverted sum is that of kernels, which add up 16 candidates side by side: 0, 16, 32, …,
    then 1, 17, ….

    Parameters
    ----------
    logits : float32[B, N]
    allowed : bool[B, N]
    u : float64[B]
    """
    masked = logits.masked_fill(~allowed, -torch.inf)
    shifted = masked - masked.amax(1, keepdim=True)
    # A row without candidates is -inf - -inf = nan throughout.
    weights = shifted.double().exp().nan_to_num(0.0)
    rows, size = weights.shape
    blocks = -(-size // LANES)
    padded = torch.nn.functional.pad(weights, (0, blocks * LANES - size))
    by_lane = padded.reshape(rows, blocks, LANES).transpose(1, 2).reshape(rows, -1)
    place, possible = by_weight(by_lane, u)
    candidate = place % blocks * LANES + place // blocks
    return Pick(candidate.clamp(max=size - 1), possible)


def by_maximum(logits: Tensor, allowed: Tensor) -> Pick:
    """Choose the likeliest allowed candidate, the first among equals."""
    masked = logits.masked_fill(~allowed, -torch.inf)
    return Pick(masked.argmax(1), allowed.any(1))


def log_softmax(logits: Tensor, allowed: Tensor, index: Tensor) -> Tensor:
    """Log-probability of choosing `index` by `by_softmax`, float64[B]; -inf where it is not allowed."""
    masked = logits.double().masked_fill(~allowed, -torch.inf)
    chosen = masked.gather(1, index[:, None])[:, 0]
    return torch.where(chosen == -torch.inf, chosen, chosen - masked.logsumexp(1))
