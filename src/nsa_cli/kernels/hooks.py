"""Hooks of the fused kernel: the parts of an annealing step that a problem implements, generic functions.

A problem's kernel registers an implementation of each with `nsa_cli.kernels.jit.variant`; the compiler
chooses by the types of `batch` (the problem's NamedTuple of arrays, the one that its torch operations take as
tensors) and `policy` (a NamedTuple class for each feature set, or `Uniform`). All work on one chain, whose
current solution is in `work`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.kernels.jit import generic, variant


class Uniform(NamedTuple):
    """Uniform proposals: all logits zero. `greedy` is always False."""

    greedy: bool


class Gaussian(NamedTuple):
    """Learnt standard deviations of P policies that share a batch, for D axes.

    Attributes
    ----------
    first, bias : float32[P, F, HIDDEN], float32[P, HIDDEN]
    second, offset : float32[P, HIDDEN, D], float32[P, D]
    """

    first: NDArray[np.float32]
    bias: NDArray[np.float32]
    second: NDArray[np.float32]
    offset: NDArray[np.float32]


@dataclass(frozen=True)
class Fused:
    """A fused kernel: batch, workspace, policies and features of a neighbourhood's hooks.

    Attributes
    ----------
    arrays : callable
        ``arrays(instances, unit)``: the batch, a NamedTuple of arrays.
    workspace : callable
        ``workspace(x)``: scratch space for one chain, whose solutions are arrays like `x`.
    draws : int or None
        Random numbers of a proposal; None for one an element of the solution.
    policies : mapping
        What makes a policy's NamedTuple of its networks and mode, as a rule its class, by the feature set
        that it sees; `Gaussian` of a continuous problem is under ``gaussian``.
    features : mapping
        By feature set, features of each network.
    order : mapping
        By feature set and slot, the order of features that the class wants, where it is not the set's own.
    objectives : callable
        As `nsa_cli.core.operations.Operations.objectives`.
    """

    arrays: Callable[[Sequence[Any], float | None], Any]
    workspace: Callable[[Any], Any]
    draws: int | None
    policies: Mapping[str, Callable[..., Any]]
    features: Mapping[str, Sequence[int]]
    order: Mapping[str, Sequence[Sequence[int] | None]] = field(default_factory=dict)
    objectives: Callable[[Any], Any] = lambda energy: energy


@generic
def load(batch: Any, policy: Any, work: Any, row: int, member: int, x: Any) -> None:
    """Set up `work` for a chain at solution `x`: instance `row` of the batch, weights `member`."""


@generic
def propose(
    batch: Any, policy: Any, work: Any, row: int, member: int, temperature: float, at: np.uint64
) -> Any:
    """Choose a move: ``(action, possible)``, of which the last is False if there is none.

    Parameters
    ----------
    temperature : float
        In normalised units.
    at : uint64
        Of the step, for `nsa_cli.kernels.draws.uniform`.
    """


@generic
def energy(batch: Any, work: Any, row: int) -> float:
    """Energy of the current solution, in file units."""


@generic
def delta(batch: Any, work: Any, row: int, action: Any) -> float:
    """Energy that an action adds, in file units."""


@generic
def apply(batch: Any, policy: Any, work: Any, row: int, member: int, action: Any) -> None:
    """Make a move."""


@generic
def store(batch: Any, work: Any, x: Any, best: bool) -> None:
    """Write the current solution to `x`.

    Parameters
    ----------
    best : bool
        Whether `x` is the chain's best solution: of that one, what has not changed since this was called for
        it last, after `load`, need not be written again.
    """


@generic
def compute_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    """Compute the features of all candidates and their first-layer sums, as far as steps keep them."""


@variant(compute_features, policy=Uniform)
def _no_features(batch: Any, policy: Any, work: Any, row: int, member: int) -> None:
    pass


@generic
def update_features(batch: Any, policy: Any, work: Any, row: int, member: int, changed: Any) -> None:
    """Update them after a move.

    Parameters
    ----------
    changed : Any
        Part of the solution that has changed: an item, a bin, positions of a tour.
    """


@variant(update_features, policy=Uniform)
def _no_update(batch: Any, policy: Any, work: Any, row: int, member: int, changed: Any) -> None:
    pass
