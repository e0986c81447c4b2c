"""Operations of a neighbourhood in torch, batched, on any device: the reference implementation.

Shapes: B chains, N elements (cities, items), F features. A *solution* is one tensor ``[B, …]``, an
*action* a tuple of tensors ``[B, …]``. Energies are float64 and minimised, in the file's own units: sums
of integers are then exact, and a chain of a million steps does not drift as float32 sums would. Features are
float32 in normalised units, and so are temperatures, so that one policy and one schedule serve files in
metres and in kilometres; ``batch.scale`` converts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Action: TypeAlias = tuple[Tensor, ...]


def select(batch: Any, rows: Tensor) -> Any:
    """Make a batch of some rows of another, int64[M]; a row may occur several times."""
    parts = (value[rows] if isinstance(value, Tensor) else value for value in batch)
    return type(batch)(*parts)


InstanceT = TypeVar("InstanceT")
BatchT = TypeVar("BatchT")


class Operations(ABC, Generic[InstanceT, BatchT]):
    """Energy and moves of one neighbourhood."""

    def arrays(self, instances: Sequence[InstanceT], unit: float | None = None) -> BatchT:
        """Make a batch of NumPy arrays, one row an instance.

        Parameters
        ----------
        instances : sequence of Instance
            With equal `Problem.group`.
        unit : float, optional
            As for `pack`.
        """
        raise NotImplementedError

    def pack(
        self, instances: Sequence[InstanceT], device: torch.device | str = "cpu", unit: float | None = None
    ) -> BatchT:
        """Make a batch of tensors, one row an instance (list an instance several times for several chains).

        Parameters
        ----------
        instances : sequence of Instance
            With equal `Problem.group`.
        device : torch.device or str
        unit : float, optional
            The length, weight, … in file units that is 1 in normalised units. By default estimated from the
            data so that it does not depend on the file's units, and is near 1 for the paper's
            distributions; the paper's own protocol is ``unit=1.0``.
        """
        made: Any = self.arrays(instances, unit)
        tensors = (
            torch.from_numpy(part).to(device) if isinstance(part, np.ndarray) else part for part in made
        )
        return type(made)(*tensors)

    @abstractmethod
    def cost(self, batch: BatchT, x: Tensor) -> Tensor:
        """Energies, float64[B]."""

    def objectives(self, energy: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert energies to objectives, minimised, float64[B]: without terms that only guide the search."""
        return energy

    def losses(self, energy: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """Compute training losses from normalised energies of instances of a size."""
        return energy

    @abstractmethod
    def apply(self, batch: BatchT, x: Tensor, action: Action) -> Tensor:
        """Make the moved solutions; `x` stays as it is."""

    def delta(self, batch: BatchT, x: Tensor, action: Action) -> Tensor:
        """Energy differences ``cost(apply(x, action)) - cost(x)``, float64[B]."""
        return self.cost(batch, self.apply(batch, x, action)) - self.cost(batch, x)


class Slot(NamedTuple):
    """One choice of a discrete action.

    Attributes
    ----------
    name : str
    features : int
        F of the network that scores the candidates; 0 for a uniform choice without network.
    """

    name: str
    features: int


@dataclass(frozen=True)
class FeatureSet:
    """Features of the candidates of each slot; a policy file names its set.

    Attributes
    ----------
    slots : tuple of Slot
        In the order in which they are chosen.
    compute : callable
        ``compute(batch, x, chosen, temperature) -> float32[B, N, F]``: features of the candidates of
        slot ``len(chosen)``, where `chosen` holds the choices made so far (int64[B] each) and
        `temperature` is float64, ``[]`` or ``[B]``.
    """

    slots: tuple[Slot, ...]
    compute: Callable[[Any, Tensor, Action, Tensor], Tensor]


class DiscreteOperations(Operations[InstanceT, BatchT]):
    """Operations of a problem whose action is a choice of candidates, slot after slot (section 3.2)."""

    #: The feature sets by name; ``paper`` is the paper's. All have the same slots.
    feature_sets: Mapping[str, FeatureSet]

    @property
    def slots(self) -> int:
        """Number of choices that make an action."""
        return len(next(iter(self.feature_sets.values())).slots)

    @abstractmethod
    def allowed(self, batch: BatchT, x: Tensor, chosen: Action) -> Tensor:
        """Candidates of slot ``len(chosen)`` that lead to feasible moves, bool[B, N].

        A chain without allowed candidates stays where it is.
        """


class ContinuousOperations(Operations[InstanceT, BatchT]):
    """Operations of a problem whose action is a displacement, float64[B, D]."""

    #: Standard deviation of uniform (untrained, constant) proposals, in normalised units.
    sigma: float

    #: Clamp of a learnt policy's log sigma, so that no network output breaks a chain.
    log_sigma: tuple[float, float] = (-12.0, 6.0)

    #: Number of features that `observe` gives.
    features: int

    @abstractmethod
    def observe(self, batch: BatchT, x: Tensor, temperature: Tensor) -> Tensor:
        """Compute the features of a state, float32[B, F]."""
