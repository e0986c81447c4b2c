"""Chains between two chunks, as the loop, stop rules, goals and schedules see them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Chains(Protocol):
    """Chains of any engine between two chunks; their arrays change in place."""

    @property
    def step(self) -> int:
        """Steps done."""

    @property
    def phase(self) -> str:
        """What is done now, where a run has phases; else empty."""

    @property
    def doing(self) -> str:
        """The same in words."""

    @property
    def most(self) -> int:
        """Steps that one chunk may have at most."""

    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        """Take all chains through ``len(temperatures)`` steps, at temperatures in normalised units.

        Parameters
        ----------
        temperatures : float64[K]
        used : float
            Share of the run that is used, for what it is shared out by.
        """

    @property
    def x(self) -> NDArray[Any]:
        """Current solutions, [B, …]."""

    @property
    def best(self) -> NDArray[Any]:
        """Best solutions, [B, …]."""

    @property
    def energy(self) -> NDArray[np.float64]:
        """Objectives of `x`, float64[B], in file units, to be minimised."""

    @property
    def search_energy(self) -> NDArray[np.float64]:
        """Energies of `x` that the chains minimise, float64[B], in any unit: of the neighbourhood."""

    @property
    def best_energy(self) -> NDArray[np.float64]:
        """Objectives of `best`, float64[B], in file units, to be minimised."""

    @property
    def accepted(self) -> NDArray[np.int64]:
        """Moves made, int64[B]."""
