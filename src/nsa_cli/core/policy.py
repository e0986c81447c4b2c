"""Policy protocol: a proposal distribution over moves."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from torch import Tensor

from nsa_cli.core.neighbourhood import Trained
from nsa_cli.core.operations import Action, Operations


class Proposal(NamedTuple):
    """A proposed move for each chain.

    Attributes
    ----------
    action : tuple of tensors [B, …]
    possible : bool[B]
        False where no candidate was allowed; the action must then be rejected.
    """

    action: Action
    possible: Tensor


class Policy(Protocol):
    """A proposal distribution over actions, given solution, instance and temperature."""

    #: As in results.
    name: str
    #: Size and temperatures of its training; None for uniform proposals.
    trained: Trained | None
    #: Steps for which it is shown one temperature, see `nsa_cli.anneal.schedule`.
    temperature_steps: int

    def draws(self, operations: Operations[Any, Any], x: Tensor) -> int:
        """Count the uniform numbers of one proposal of one chain."""
        ...

    def propose(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, u: Tensor
    ) -> Proposal:
        """Sample an action for each chain from the uniform numbers `u`, float64[draws, B]."""
        ...

    def log_prob(
        self, operations: Operations[Any, Any], batch: Any, x: Tensor, temperature: Tensor, action: Action
    ) -> Tensor:
        """Log-probability (density) of the actions, float64[B]; -inf where not allowed."""
        ...
