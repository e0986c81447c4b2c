"""Bounds on the optimum, relative gaps and proofs of optimality."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from nsa_cli.core.exact import Exact, exact_number, rounded
from nsa_cli.core.instance import Number, Solution

#: The most numbers of a witness that are told with a result; a certificate has them all.
_MOST_TOLD = 100


def is_as_good(objective: Exact, reference: Exact, sense: str) -> bool:
    """Tell whether an objective is at least as good as another; nothing is rounded."""
    return objective <= reference if sense == "min" else objective >= reference


def relative_gap(objective: Exact, reference: Exact, sense: str) -> float | None:
    """Compute ``(objective - reference) / abs(reference)``, positive if worse; None if that is not finite.

    Exactly, and rounded once; of numbers that are equal it is 0, of others it is not.
    """
    if objective == reference:
        return 0.0
    try:
        a, b = Fraction(objective), Fraction(reference)
        return float((a - b if sense == "min" else b - a) / abs(b))
    except (ZeroDivisionError, OverflowError, ValueError):  # a ValueError of what is no number
        return None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Bound:
    """A bound on the optimum, in the objective's sense and units.

    Attributes
    ----------
    value : int or float
        Rounded outwards where it is a float, or where it is `exact` as objectives are; whole where they are.
    limit : int, float or Fraction, optional
        The bound without rounding, valid in exact arithmetic; `value` by default.
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
    limit: Exact | None = None
    method: str
    exact: bool = False
    seconds: float = 0.0
    witness: Mapping[str, Any] | None = None
    solution: Solution | None = None

    def __repr__(self) -> str:
        return f"Bound({self.value}, {self.method!r}, exact={self.exact})"

    @classmethod
    def of(cls, limit: Exact, sense: str, *, exact: bool = False, **fields: Any) -> Bound:
        """Make a bound of its value without rounding."""
        outwards = isinstance(limit, Fraction) and not exact
        value = rounded_outwards(Fraction(limit), sense) if outwards else rounded(limit)
        return cls(value=value, limit=limit, exact=exact, **fields)

    @property
    def unrounded(self) -> Exact:
        """The bound without rounding."""
        return self.value if self.limit is None else self.limit

    def proves(self, objective: Exact, sense: str) -> bool:
        """Tell whether a solution with this objective, without rounding, is optimal."""
        return is_as_good(objective, self.unrounded, sense)

    def is_near(self, objective: Exact, sense: str, share: float) -> bool:
        """Tell whether the relative gap of an objective, without rounding, is a share at most."""
        limit = Fraction(self.unrounded)
        slack = Fraction(exact_number(share)) * abs(limit)
        return is_as_good(objective, limit + slack if sense == "min" else limit - slack, sense)

    def beaten_by(self, objective: Exact, sense: str) -> bool:
        """Tell whether an objective is better than the bound, which is then invalid."""
        return not is_as_good(self.unrounded, objective, sense)

    def to_dict(self, objective: Exact, sense: str) -> dict[str, Any]:
        """Give the bound under the keys of the contract, with the gap of an answer to it."""
        return {
            "value": self.value,
            "method": self.method,
            "exact": self.exact,
            "gap": relative_gap(objective, self.unrounded, sense),
            "seconds": round(self.seconds, 6),
            "witness": None if _numbers(self.witness) > _MOST_TOLD else self.witness and dict(self.witness),
        }


def _numbers(witness: Any) -> int:
    """Count the numbers and texts of a witness."""
    if isinstance(witness, Mapping):
        return sum(map(_numbers, witness.values()))
    return sum(map(_numbers, witness)) if isinstance(witness, list | tuple) else 1


def rounded_outwards(value: Fraction, sense: str) -> float:
    """Round an exact bound to a float that is not better: down for ``min``, up for ``max``."""
    near = float(value)
    if sense == "min":
        return near if Fraction(near) <= value else math.nextafter(near, -math.inf)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
