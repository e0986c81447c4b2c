"""Temperatures, and how many of them."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.errors import UsageError

Kind = Literal["geometric", "linear", "constant"]
KINDS: tuple[Kind, ...] = ("geometric", "linear", "constant")

_STEPS = re.compile(r"(\d+(?:\.\d+)?)?\s*\*?\s*[nN](?:\s*(?:\^|\*\*)?\s*([123]))?")


@dataclass(frozen=True)
class Schedule:
    """A temperature for each step: the first is `t_start` and the last is `t_end`.

    Attributes
    ----------
    steps : int
        K.
    t_start, t_end : float
        In the problem's normalised units.
    kind : {'geometric', 'linear', 'constant'}
        Geometric is the paper's ``T_k = alpha^k T_0``. Constant stays at `t_start`.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    steps: int
    t_start: float = 1.0
    t_end: float = 0.1
    kind: Kind = "geometric"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"schedule: expected one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.steps < 0:
            raise UsageError(f"steps: expected at least 0, got {self.steps}")
        for name, value in (("t_start", self.t_start), ("t_end", self.t_end)):
            if not 0 <= value < float("inf"):
                raise UsageError(f"{name}: expected a finite temperature >= 0, got {value}")
        if self.kind == "geometric" and min(self.t_start, self.t_end) <= 0:
            raise UsageError(
                "a geometric schedule needs temperatures above 0; take --schedule linear to end at 0"
            )

    def temperatures(self, first: int, last: int) -> NDArray[np.float64]:
        """Temperatures of steps ``first <= k < last``, float64[last - first]."""
        if self.kind == "constant":
            return np.full(last - first, self.t_start)
        fraction = np.arange(first, last) / max(self.steps - 1, 1)
        if self.kind == "linear":
            values = self.t_start + fraction * (self.t_end - self.t_start)
        else:
            values = self.t_start * (self.t_end / self.t_start) ** fraction
        if last == self.steps > 1 and last > first:
            values[-1] = self.t_end  # not a rounding error away from it
        return values

    def to_dict(self) -> dict[str, Any]:
        """Give the schedule as the result shows it."""
        return asdict(self)


def parse_steps(text: str | int, size: int) -> int:
    """Read a number of steps: ``20000``, or in terms of the size N: ``10N``, ``10N2`` for 10 N^2.

    Raises
    ------
    UsageError
        If it is none of these.
    """
    if isinstance(text, int):
        return text
    cleaned = text.strip().replace("_", "")
    if re.fullmatch(r"\d{1,18}", cleaned):
        return int(cleaned)
    found = _STEPS.fullmatch(cleaned)
    if found is None:
        raise UsageError(f"--steps: expected a number, or one with the size as 10N or 10N2, got {text!r}")
    power: int = size ** int(found.group(2) or 1)
    return round(float(found.group(1) or 1) * power)
