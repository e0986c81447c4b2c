"""Cooling schedules: a temperature for each step, over steps or over time; and which of them a policy sees.

Adaptive cooling is at constant thermodynamic speed: slow where the energy falls with the temperature. A
pilot, a tenth of the run, goes down the geometric curve and notes the chains' mean energy on its way. Its
slope is the heat capacity C = dE/dT, and the variance of the energy is T^2 times that. The rest of the run
goes from the first temperature to the last at constant thermodynamic speed: the time for a step of log T is
in proportion to sqrt(C) = sigma / T (Salamon, Nulton, Harland, Pedersen, Ruppeiner and Liao 1988, "Simulated
annealing with constant thermodynamic speed"). The cooling rule of Huang, Romeo and Sangiovanni-Vincentelli
(1986, "An efficient general cooling schedule for simulated annealing") has the same proportion; here it is
known beforehand, so that a run of any number of steps or seconds ends cold.

Under a held temperature a policy sees a new one every so many steps, acceptance the current one. From one
step to the next the temperature hardly changes, but with it do the scores of all candidates. While it is
held, untouched candidates keep their scores, which a kernel need not compute again
(`nsa_cli.kernels.slots.update_scores`).
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.core.errors import UsageError

Kind = Literal["geometric", "linear", "constant", "adaptive"]
KINDS: tuple[Kind, ...] = ("geometric", "linear", "constant", "adaptive")

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
    kind : {'geometric', 'linear', 'constant', 'adaptive'}
        Geometric is the paper's ``T_k = alpha^k T_0``. Constant stays at `t_start`. Adaptive is geometric
        for a pilot that determines the rest, see `nsa_cli.anneal.schedule`.

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
            if value == 0 and self.kind in ("geometric", "adaptive"):
                raise UsageError(
                    f"expected a temperature > 0 by {self.kind} schedule, got 0",
                    option=name,
                    use={"schedule": "linear"},
                )

    #: Step at which it next samples the chains: none.
    due: ClassVar[int] = NEVER

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
        return np.full(last - first, self._used())

    def _used(self) -> float:
        return min((time.monotonic() - self.began) / max(self.until - self.began, 1e-9), 1.0)

    def temperatures(self, first: int, last: int) -> NDArray[np.float64]:
        """Temperatures of steps from now on, at the pace so far, float64[last - first]; in a few levels."""
        used, each = self._used(), max(-(-(last - first) // _LEVELS), 1)
        if first == 0:
            self._steps_begin[0] = used
        pace = (used - self._steps_begin[0]) / first if first else 0.0
        ahead = np.arange(0, last - first, each) * pace
        return np.repeat(self.at(np.minimum(used + ahead, 1.0)), each)[: last - first]


#: Share of the run that is the pilot, and samples of the energy that it takes.
_PILOT, _LOOKS = 0.1, 64

#: Intervals of log T with a heat capacity each.
_INTERVALS = 16

#: Least time of an interval, relative to the mean: its heat capacity is a noisy estimate.
_FLOOR = 0.2

#: Points of the curve after the pilot.
_POINTS = 512


class AdaptiveSchedule:
    """A geometric pilot, then constant thermodynamic speed; for one run of one instance, and used up by it.

    Parameters
    ----------
    course : Schedule
        First and last temperature, over steps or over time.
    """

    def __init__(self, course: Schedule) -> None:
        self._course = course
        self.steps, self.t_start = course.steps, course.t_start
        self._seen: list[tuple[float, float]] = []
        self._path: NDArray[np.float64] | None = None
        self._borders = _borders(course.steps)
        #: Step at which it next samples the chains' energy.
        self.due = self._borders[0]

    def fractions(self, first: int, last: int) -> NDArray[np.float64]:
        """As of `Schedule`."""
        return self._course.fractions(first, last)

    def temperatures(self, first: int, last: int) -> NDArray[np.float64]:
        """Temperatures of steps ``first <= k < last``, float64[last - first]; none across the pilot's end."""
        fraction = self._course.fractions(first, last)
        if self._path is None:
            pilot = _PILOT if self.due < NEVER else 1.0  # without a pilot there is only its curve
            return self._course.at(np.minimum(fraction / pilot, 1.0))
        done = np.maximum(fraction - _PILOT, 0.0) / (1 - _PILOT)
        logs = np.interp(done, np.linspace(0.0, 1.0, len(self._path)), self._path)
        return np.where(done < 1.0, np.exp(logs), self._course.t_end)  # not a rounding error away from it

    def look(self, chains: Chains) -> None:
        """Sample the energy, and compute the curve once the pilot is done; to be called when `due`."""
        if chains.step == 0:
            return
        fraction = float(self._course.fractions(chains.step - 1, chains.step)[0])
        temperature = float(self._course.at(np.array([min(fraction / _PILOT, 1.0)]))[0])
        self._seen.append((temperature, float(chains.search_energy.mean())))
        self.due = next((border for border in self._borders if border > chains.step), NEVER)
        if self.steps == NEVER:
            self.due = 0 if fraction < _PILOT else NEVER
        if self.due == NEVER:
            temperatures, energies = np.array(self._seen).T
            self._path = path_through(temperatures, energies, self._course.t_start, self._course.t_end)


def _borders(steps: int) -> list[int]:
    """Steps at which the pilot samples: none in a run too short; after each chunk where time decides."""
    if steps == NEVER:
        return [0]
    pilot = int(_PILOT * steps)
    return [pilot * k // _LOOKS for k in range(1, _LOOKS + 1)] if pilot >= _LOOKS else [NEVER]


def path_through(
    temperatures: NDArray[np.float64], energies: NDArray[np.float64], t_start: float, t_end: float
) -> NDArray[np.float64]:
    """Log-temperatures at equal times, from the first to the last, at constant thermodynamic speed.

    Parameters
    ----------
    temperatures, energies : float64[M]
        Falling temperatures, and mean energies there in any unit.
    t_start, t_end : float
    """
    grid = np.linspace(np.log(t_start), np.log(t_end), _POINTS)
    places, speed = _densities(np.log(temperatures), energies)
    if not len(places) or t_start <= t_end:
        return grid
    density = np.interp(-grid, -places, speed)
    time = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(np.linspace(0.0, time[-1], _POINTS), time, grid)


def _densities(
    logs: NDArray[np.float64], energies: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time for a step of log T, relative to its mean, between the middles of intervals of the pilot."""
    intervals = [some for some in np.array_split(np.arange(len(logs)), _INTERVALS) if len(some)]
    log = np.array([logs[some].mean() for some in intervals])
    # A start may be better than equilibrium at a high temperature: energy that is not there yet cannot fall.
    energy = np.minimum.accumulate(np.array([energies[some].mean() for some in intervals]))
    middle, step = (log[:-1] + log[1:]) / 2, log[:-1] - log[1:]
    if not (step > 0).all():
        return middle[:0], middle[:0]
    capacity = (energy[:-1] - energy[1:]) / (np.exp(middle) * step)
    root = np.sqrt(capacity)
    mean = root.mean() if len(root) else 0.0
    return middle, _FLOOR + (1 - _FLOOR) * root / mean if mean > 0 else np.ones(len(root))


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
