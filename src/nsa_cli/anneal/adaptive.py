"""Adaptive cooling at constant thermodynamic speed: slow where the energy falls with the temperature.

A pilot, a tenth of the run, goes down the geometric curve and notes the chains' mean energy on its way. Its
slope is the heat capacity C = dE/dT, and the variance of the energy is T^2 times that. The rest of the run
goes from the first temperature to the last at constant thermodynamic speed: the time for a step of log T is
in proportion to sqrt(C) = sigma / T (Salamon, Nulton, Harland, Pedersen, Ruppeiner and Liao 1988, "Simulated
annealing with constant thermodynamic speed"). The cooling rule of Huang, Romeo and Sangiovanni-Vincentelli
(1986, "An efficient general cooling schedule for simulated annealing") has the same proportion; here it is
known beforehand, so that a run of any number of steps or seconds ends cold.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.schedule import NEVER, Schedule

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
