"""Cooling schedules: a temperature for each step, over steps or over time; and which of them a policy sees.

Under a held temperature a policy sees a new one every so many steps, acceptance the current one. From one
step to the next the temperature hardly changes, but with it do the scores of all candidates. While it is
held, untouched candidates keep their scores, which a kernel need not compute again
(`nsa_cli.kernels.slots.update_scores`).
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.core.errors import UsageError

Kind = Literal["geometric", "linear", "constant"]
KINDS: tuple[Kind, ...] = ("geometric", "linear", "constant")

#: Levels of the temperature between two looks at the clock: to make one costs as much as a quick step.
_LEVELS = 16

#: A step that no run reaches.
NEVER = 1 << 62


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
            raise UsageError(f"expected one of {', '.join(KINDS)}, got {self.kind!r}", option="schedule")
        if self.steps < 0:
            raise UsageError(f"expected a number >= 0, got {self.steps}", option="steps")
        for name, value in (("t_start", self.t_start), ("t_end", self.t_end)):
            if not 0 <= value < float("inf"):
                raise UsageError(f"expected a finite temperature >= 0, got {value}", option=name)
            if value == 0 and self.kind == "geometric":
                why = "expected a temperature > 0 by geometric schedule, got 0"
                raise UsageError(why, option=name, use={"schedule": "linear"})

    def take(self, chains: Chains, last: int, first: int = 0) -> float:
        """Take chains to a step of theirs, where the schedule began at step `first`.

        Returns
        -------
        float
            The last temperature.
        """
        step = chains.step - first
        temperatures = self.temperatures(step, last - first)
        chains.advance(temperatures, float(self.fractions(step, step + 1)[0]))
        return float(temperatures[-1])

    def used(self, step: int) -> float:
        """Share of the run that is over."""
        return step / max(self.steps, 1)

    def reaching(self, share: float, step: int, last: int) -> int:
        """Step after `step` by which a share of the run is over, as far as it comes before `last`."""
        return min(last, max(math.ceil(share * self.steps), step + 1))

    def rest(self, step: int) -> Schedule:
        """Schedule of all its temperatures for what is left after a step."""
        return replace(self, steps=self.steps - step)

    def fractions(self, first: int, last: int) -> NDArray[np.float64]:
        """Fractions of the schedule before steps ``first <= k < last``, float64[last - first]."""
        return np.arange(first, last) / max(self.steps - 1, 1)

    def temperatures(self, first: int, last: int) -> NDArray[np.float64]:
        """Temperatures of steps ``first <= k < last``, float64[last - first]."""
        values = self.at(self.fractions(first, last))
        if last == self.steps > 1 and last > first and self.kind != "constant":
            values[-1] = self.t_end  # not a rounding error away from it
        return values

    def at(self, fraction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Temperatures at fractions of the schedule."""
        if self.kind == "constant":
            return np.full(len(fraction), self.t_start)
        if self.kind == "linear":
            return self.t_start + fraction * (self.t_end - self.t_start)
        return self.t_start * (self.t_end / self.t_start) ** fraction


@dataclass(frozen=True, kw_only=True)
class TimedSchedule(Schedule):
    """A schedule over a span of time instead of a number of steps, which is `NEVER`; the clock ends it.

    Attributes
    ----------
    began, until : float
        By `time.monotonic`.
    """

    began: float
    until: float
    #: Fraction of the time used when the first step began; what comes before steps is no part of their pace.
    _steps_begin: list[float] = field(default_factory=lambda: [0.0], init=False, repr=False, compare=False)

    @classmethod
    def of(cls, curve: Schedule, began: float, until: float) -> TimedSchedule:
        """Spread a schedule's temperatures over a span of time."""
        return cls(**(asdict(curve) | {"steps": NEVER}), began=began, until=until)

    def fractions(self, first: int, last: int) -> NDArray[np.float64]:
        """Fractions of the time used, float64[last - first]: one number for all steps done now."""
        return np.full(last - first, self.used(first))

    def used(self, step: int) -> float:
        """Share of the time that is over."""
        return min((time.monotonic() - self.began) / max(self.until - self.began, 1e-9), 1.0)

    def temperatures(self, first: int, last: int) -> NDArray[np.float64]:
        """Temperatures of steps from now on, at the pace so far, float64[last - first]; in a few levels."""
        used, each = self.used(first), max(-(-(last - first) // _LEVELS), 1)
        ahead = np.arange(0, last - first, each) * self._pace(first, used)
        return np.repeat(self.at(np.minimum(used + ahead, 1.0)), each)[: last - first]

    def reaching(self, share: float, step: int, last: int) -> int:
        """Step by which a share of the time is over, at the pace so far."""
        used = self.used(step)
        if (pace := self._pace(step, used)) == 0.0:
            return last
        return min(last, step + max(int((share - used) / pace), 1))

    def rest(self, step: int) -> Schedule:
        return replace(self, began=time.monotonic())

    def _pace(self, step: int, used: float) -> float:
        """Share of the time that a step takes, by those so far."""
        if step == 0:
            self._steps_begin[0] = used
        return (used - self._steps_begin[0]) / step if step else 0.0


class TemperatureHold:
    """The temperature of every step that is a multiple of `steps`, shown until the next one.

    Parameters
    ----------
    steps : int
        At least 1, which is the paper's: each step's own temperature.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._last: float | None = None

    def shown(self, step: int, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Temperatures that the policy sees, float64[K], from step `step` on; those of the steps are given.

        Chunks change nothing: the last temperature shown is remembered.
        """
        if self._steps == 1 or len(temperatures) == 0:
            return temperatures
        numbers = np.arange(step, step + len(temperatures))
        begins = numbers - numbers % self._steps - step
        last = temperatures[0] if self._last is None else self._last
        shown = np.where(begins >= 0, temperatures[np.maximum(begins, 0)], last)
        self._last = float(shown[-1])
        return shown
