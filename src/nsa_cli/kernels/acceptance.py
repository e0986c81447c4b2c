"""Acceptance rules: the logarithm of the acceptance ratio, apart from proposals and from the draw.

A rule is one class with one formula, of numbers in compiled loops and of tensors in the reference engine. To
add one, write its class and put it in `RULES`: kernels, the reference engine and large steps take it by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

#: Least temperature of a formula: at 0 only what does not make things worse is accepted.
COLD = float(np.finfo(np.float64).tiny)


class Rule(Protocol):
    """An acceptance rule; its class is a NamedTuple, whose type compiled loops are specialised for.

    Attributes
    ----------
    uses_reverse : bool
        Whether the formula reads the proposals' probabilities; elsewhere these are 0.
    """

    @property
    def uses_reverse(self) -> bool: ...

    def log_ratio(self, delta: Any, heat: Any, log_forward: Any, log_backward: Any) -> Any:
        """Log of the acceptance ratio; a move is made where the log of a uniform number is below it.

        Parameters
        ----------
        delta : float or float64[B]
            Energy differences, in file units.
        heat : float or float64[B]
            Temperature in the same units, at least `COLD`.
        log_forward, log_backward : float or float64[B]
            Log-probabilities of proposing the move, and of proposing its reverse afterwards.
        """


class Metropolis(NamedTuple):
    """exp(-delta / T), equation (1) of the paper (Metropolis and others 1953).

    The proposal's own probabilities are left out, as in the paper: the chain then does not sample the
    Boltzmann distribution exactly unless proposals are symmetric.
    """

    uses_reverse: bool = False

    def log_ratio(self, delta: Any, heat: Any, log_forward: Any, log_backward: Any) -> Any:
        """As `Rule.log_ratio`."""
        return -delta / heat


class Hastings(NamedTuple):
    """The ratio that makes the Boltzmann distribution stationary (Hastings 1970)."""

    uses_reverse: bool = True

    def log_ratio(self, delta: Any, heat: Any, log_forward: Any, log_backward: Any) -> Any:
        """As `Rule.log_ratio`."""
        return -delta / heat + (log_backward - log_forward)


class Threshold(NamedTuple):
    """Threshold accepting: any move that adds no more than the temperature (Dueck and Scheuer 1990)."""

    uses_reverse: bool = False

    def log_ratio(self, delta: Any, heat: Any, log_forward: Any, log_backward: Any) -> Any:
        """As `Rule.log_ratio`: not negative up to the threshold, and below any draw's logarithm beyond."""
        return (heat - delta) / COLD


#: By the names that a user gives.
RULES: dict[str, Rule] = {"metropolis": Metropolis(), "hastings": Hastings(), "threshold": Threshold()}
