"""Bounds on the optimum, relative gaps and proofs of optimality."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nsa_cli.core.instance import Number, Solution

#: Relative tolerance for equality of an objective and a bound that are real numbers: the bound is rounded
#: outwards.
_SAME = 1e-9


def relative_gap(objective: Number, reference: Number, sense: str) -> float | None:
    """Compute ``(objective - reference) / abs(reference)``, positive if worse; None if not finite."""
    worse = objective - reference if sense == "min" else reference - objective
    if worse == 0:
        return 0.0
    try:
        gap = worse / abs(reference)
    except (ZeroDivisionError, OverflowError):
        return None
    return gap if math.isfinite(gap) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Bound:
    """A bound on the optimum, in the objective's sense and units.

    Attributes
    ----------
    value : int or float
        Valid in exact arithmetic: rounded outwards where it is a float, whole where objectives are.
    method : str
        Name in the literature.
    exact : bool
        Whether a solution with this objective is known, so that the value is the optimum.
    seconds : float
        Computing time.
    witness : mapping, optional
        Strict JSON from which `Problem.recompute_bound` computes the value independently.
    solution : ndarray, optional
        The best solution found on the way.
    """

    value: Number
    method: str
    exact: bool = False
    seconds: float = 0.0
    witness: Mapping[str, Any] | None = None
    solution: Solution | None = None

    def proves(self, objective: Number, sense: str) -> bool:
        """Tell whether a solution with this objective is optimal."""
        if isinstance(objective, int) and isinstance(self.value, int):
            return objective == self.value
        return abs(objective - self.value) <= _SAME * abs(self.value)

    def beaten_by(self, objective: Number, sense: str) -> bool:
        """Tell whether an objective is better than the bound, which is then invalid."""
        better = objective < self.value if sense == "min" else objective > self.value
        return better and not self.proves(objective, sense)

    def to_dict(self, objective: Number, sense: str) -> dict[str, Any]:
        """Give the bound under the keys of the contract, with the gap of an answer to it."""
        return {
            "value": self.value,
            "method": self.method,
            "exact": self.exact,
            "gap": relative_gap(objective, self.value, sense),
            "seconds": round(self.seconds, 6),
            "witness": None if self.witness is None else dict(self.witness),
        }


def rounded_outwards(value: Fraction, sense: str) -> float:
    """Round an exact bound to a float that is not better: down for ``min``, up for ``max``."""
    near = float(value)
    if sense == "min":
        return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
