"""Stop rules: reasons to end a run between chunks; stateless, from the progress alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from nsa_cli.anneal.chains import Chains


class Progress(NamedTuple):
    """Progress of a run, for stop rules and progress lines.

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


#: Returns the reason to stop, or None.
StopRule: TypeAlias = Callable[[Progress], str | None]


@dataclass(frozen=True)
class Deadline:
    """Stop at a time of `time.monotonic`."""

    at: float

    def __call__(self, _: Progress) -> str | None:
        return "time_limit" if time.monotonic() >= self.at else None


@dataclass(frozen=True)
class Interrupt:
    """Stop on request, say by a signal."""

    asked: Callable[[], bool]

    def __call__(self, _: Progress) -> str | None:
        return "interrupted" if self.asked() else None


def first_reason(rules: tuple[StopRule, ...], progress: Progress) -> str | None:
    """Reason of the first rule that has one."""
    return next((reason for rule in rules if (reason := rule(progress)) is not None), None)
