"""Chains between two chunks, and the progress of a run, as those see them who look on."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Chains(Protocol):
    """Chains of any engine between two chunks; their arrays change in place."""

    @property
    def step(self) -> int:
        """Steps done."""

    @property
    def counted(self) -> int:
        """Steps done, with those that the work before the first one counts as."""

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
    def best_energy(self) -> NDArray[np.float64]:
        """Objectives of `best`, float64[B], in file units, to be minimised."""

    @property
    def accepted(self) -> NDArray[np.int64]:
        """Moves made, int64[B]."""


class Counted(Chains, Protocol):
    """Chains that count their proposals, for `nsa_cli.anneal.pilot`."""

    def counting(self, on: bool = True) -> NDArray[np.float64]:
        """Count proposals from now on, or no longer.

        Returns
        -------
        float64[B, 8]
            The counts, which `advance` adds to: see `nsa_cli.kernels.annealing.Proposals`.
        """


class Progress(NamedTuple):
    """Progress of a run.

    Attributes
    ----------
    step : int
        Steps done.
    steps : int, optional
        Steps planned; None where the time decides.
    temperature : float
        Of the last step, in normalised units.
    acceptance : float
        Accepted share of all proposals so far.
    best : float
        Lowest energy of all chains so far, in file units.
    mean, lowest : float, optional
        Of the chains' current energies, in file units.
    bound : float, optional
        Bound on the objective, in the problem's own sense; None where unknown.
    phase : str
        What was done last, see `nsa_cli.anneal.population`; empty where a run has no phases.
    doing : str
        The same in words, with numbers.
    chains : Chains, optional
        The chains themselves, as they are at this moment.
    """

    step: int
    steps: int | None
    temperature: float
    acceptance: float
    best: float
    mean: float | None = None
    lowest: float | None = None
    bound: float | None = None
    phase: str = ""
    doing: str = ""
    chains: Chains | None = None
