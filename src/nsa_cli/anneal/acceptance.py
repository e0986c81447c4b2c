"""Acceptance ratios, apart from proposals and from the draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

Rule = Literal["metropolis", "hastings"]
RULES: tuple[Rule, ...] = ("metropolis", "hastings")

#: Below this a temperature counts as 0: only what does not make things worse is accepted.
COLD = float(np.finfo(np.float64).tiny)


def metropolis(delta: Tensor, heat: Tensor) -> Tensor:
    """Log of the acceptance ratio exp(-delta / T), equation (1) of the paper.

    The proposal's own probabilities are left out, as in the paper: the chain then does not sample the
    Boltzmann distribution exactly unless proposals are symmetric.

    Parameters
    ----------
    delta : float64[B]
        Energy differences, in file units.
    heat : float64[B]
        Temperature in the same units; at 0 only what does not make things worse is accepted.
    """
    return -delta / heat.clamp(min=COLD)


def hastings(delta: Tensor, heat: Tensor, log_forward: Tensor, log_backward: Tensor) -> Tensor:
    """Log of the acceptance ratio that makes the Boltzmann distribution stationary (Hastings 1970).

    Parameters
    ----------
    delta, heat : float64[B]
        As for `metropolis`.
    log_forward, log_backward : float64[B]
        Log-probabilities of proposing the move, and of proposing its reverse afterwards.
    """
    return metropolis(delta, heat) + log_backward - log_forward
