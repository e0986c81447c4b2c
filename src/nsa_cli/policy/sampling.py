"""Choosing one candidate a row, from one uniform number a row."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Choice(NamedTuple):
    """A candidate of each row.

    Attributes
    ----------
    candidate : int64[B]
    possible : bool[B]
        False where no candidate was allowed; `candidate` then means nothing.
    """

    candidate: Tensor
    possible: Tensor


def by_weight(weights: Tensor, u: Tensor) -> Choice:
    """Choose in proportion to non-negative weights, by inversion of their cumulative sum.

    Parameters
    ----------
    weights : float64[B, N]
    u : float64[B]
        In (0, 1).
    """
    cumulative = weights.cumsum(1)
    total = cumulative[:, -1]
    index = (cumulative <= (u * total)[:, None]).sum(1)
    return Choice(index.clamp(max=weights.shape[1] - 1), total > 0)


def by_softmax(logits: Tensor, allowed: Tensor, u: Tensor) -> Choice:
    """Choose in proportion to exp(logits) among the allowed candidates.

    Parameters
    ----------
    logits : float32[B, N]
    allowed : bool[B, N]
    u : float64[B]
    """
    masked = logits.masked_fill(~allowed, -torch.inf)
    shifted = masked - masked.amax(1, keepdim=True)
    # A row without candidates is -inf - -inf = nan throughout.
    return by_weight(shifted.double().exp().nan_to_num(0.0), u)


def by_maximum(logits: Tensor, allowed: Tensor) -> Choice:
    """Choose the likeliest allowed candidate, the first among equals."""
    masked = logits.masked_fill(~allowed, -torch.inf)
    return Choice(masked.argmax(1), allowed.any(1))


def log_softmax(logits: Tensor, allowed: Tensor, index: Tensor) -> Tensor:
    """Log-probability of choosing `index` by `by_softmax`, float64[B]; -inf where it is not allowed."""
    masked = logits.double().masked_fill(~allowed, -torch.inf)
    chosen = masked.gather(1, index[:, None])[:, 0]
    return torch.where(chosen == -torch.inf, chosen, chosen - masked.logsumexp(1))
