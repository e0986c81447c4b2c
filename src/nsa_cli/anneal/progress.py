"""Progress of a run, for those who look on."""

from __future__ import annotations

from typing import NamedTuple

from nsa_cli.anneal.chains import Chains


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
