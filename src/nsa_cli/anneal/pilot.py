"""Temperatures found by the run itself: where moves that make things worse are made and unmade.

A temperature means nothing but by the changes that moves propose, and these depend on where the chains are.
So the first part of a run cools quickly and watches. The range that matters is where the specific heat is
(White 1984), as far as it is reversible: in mere descent energies vary, too, but hardly a move that is made
raises them. A second look at that range, more slowly, makes it exact; the rest of the run cools over it.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Counted
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.kernels import annealing as columns

#: Levels of a decade of temperatures, and the decades of the first look at most.
_LEVELS, _DECADES = 4, 6

#: Shares of the run: for the unit at least and at most, for a level of the first look, for the second one.
_UNIT_SHARE, _UNIT_MOST, _LEVEL_SHARE, _SECOND_SHARE = 0.002, 0.05, 0.0025, 0.1

#: Levels of the first look before it may end.
_LEAST_LEVELS = 6

#: Shares of the reversible heat above the first temperature and below the last one. On quadratic assignment,
#: vehicle routes and timetables of exams, at a quarter of a second and at two, .2 and .02 are worse in five
#: cells of six, for they are too cold now and then.
_ABOVE, _BELOW = 0.1, 0.05

#: Power of the share of worsening moves that are made: where few are, everything takes longer.
_DILATION = 0.25

#: With fewer proposals in a level the range is `_FIXED` units: on eight problems as good as what so few tell.
_FEWEST, _FIXED = 100, (0.1, 0.003)


class Level(NamedTuple):
    """Part of a run at one temperature.

    Attributes
    ----------
    temperature : float
        In normalised units.
    share : float
        Of the run.
    """

    temperature: float
    share: float


class Range(NamedTuple):
    """First and last temperature, in normalised units."""

    t_start: float
    t_end: float


#: Gives levels, and takes the counts of each, float64[B, 8]; returns the range.
Looking = Generator[Level, NDArray[np.float64], Range | None]


def looking() -> Looking:
    """Look for the range of temperatures of an instance's chains.

    Yields
    ------
    Level
        To be answered by the level's counts of proposals, as `nsa_cli.kernels.annealing.Proposals` has them.

    Returns
    -------
    Range or None
        None where no move changes anything.
    """
    counts, share = np.zeros(8), 0.0
    while counts[columns.PROPOSED] < _FEWEST and share < _UNIT_MOST:
        more = max(share, _UNIT_SHARE)
        counts += (yield Level(1.0, more)).sum(0)
        share += more
    if not counts[columns.CHANGING]:
        return None
    unit = counts[columns.SIZES] / counts[columns.CHANGING]
    if counts[columns.PROPOSED] * _LEVEL_SHARE / share < _FEWEST:
        return Range(*(_rounded(unit * fixed) for fixed in _FIXED))
    first, last = yield from _look(unit, _LEVELS * _DECADES, _LEVEL_SHARE, _LEAST_LEVELS)
    # A quarter of a decade more above, and a half below.
    levels = max(math.ceil(_LEVELS * math.log10(first / last)) + 3, _LEAST_LEVELS)
    found = yield from _look(_below(first, -1), levels, _SECOND_SHARE / levels, levels)
    return Range(*map(_rounded, found))


def _look(top: float, most: int, share: float, least: int) -> Generator[Level, NDArray[np.float64], Range]:
    """Cool from `top`, level by level, until two of them, not among the first, make nothing worse."""
    heats: list[float] = []
    raised = math.inf
    for k in range(most):
        tally = yield Level(_below(top, k), share)
        heats.append(_reversible_heat(tally, _below(top, k)))
        before, raised = raised, tally[:, columns.RAISED].sum()
        if k >= least and before + raised == 0:
            break
    return _cut(top, heats)


def _below(top: float, levels: float) -> float:
    return float(top * 10 ** (-levels / _LEVELS))


def _rounded(temperature: float) -> float:
    """Round to three digits: as it is shown, so that it can be given."""
    return float(f"{temperature:.3g}")


def _reversible_heat(tally: NDArray[np.float64], temperature: float) -> float:
    """Square root of the specific heat in a level, as far as it is reversible, times what slowness adds."""
    counts = tally.sum(0)
    proposed = np.maximum(tally[:, columns.PROPOSED], 1.0)
    means = tally[:, columns.ENERGIES] / proposed
    variance = float(np.maximum(tally[:, columns.SQUARES] / proposed - means**2, 0.0).mean())
    reversible = min(2 * counts[columns.RAISED] / max(counts[columns.CHANGED], 1.0), 1.0)
    made = (counts[columns.RAISED] + 0.5) / (counts[columns.WORSE] + 1.0)
    return float(reversible * math.sqrt(variance) / temperature * made**-_DILATION)


def _cut(top: float, heats: list[float]) -> Range:
    """Temperatures above and below which the shares of the heat are, from levels that begin at `top`."""
    padded = np.array([heats[0], *heats, heats[-1]])
    smooth = np.convolve(padded, [0.25, 0.5, 0.25], "valid")
    shares = np.concatenate([[0.0], np.cumsum(smooth)]) / max(smooth.sum(), np.finfo(float).tiny)
    edges = np.arange(len(shares)) - 0.5
    first, last = np.interp([_ABOVE, 1 - _BELOW], shares, edges)
    return Range(_below(top, first), _below(top, last))


class Pilot:
    """A schedule whose first part finds the temperatures of the rest.

    Parameters
    ----------
    curve : Schedule
        Over steps or over time.
    estimated : tuple of str
        Which of its temperatures are to be found: ``t_start``, ``t_end``.

    Attributes
    ----------
    steps : int
    found : Schedule
        The curve, with the temperatures that were found once they are.
    """

    def __init__(self, curve: Schedule, estimated: tuple[str, ...]) -> None:
        self.steps, self.found = curve.steps, curve
        self._estimated, self._looking = estimated, looking()
        self._level: Level | None = next(self._looking)
        self._end = self._level.share
        self._tally: NDArray[np.float64] | None = None
        #: What comes after the pilot, and the step at which it begins.
        self._rest, self._first = curve, 0

    @property
    def is_over(self) -> bool:
        """Whether the range is found, as far as there is one."""
        return self._level is None

    @property
    def t_start(self) -> float:
        """Temperature of the first step to come."""
        return self._rest.t_start if self._level is None else self._level.temperature

    def take(self, chains: Counted, last: int) -> float:
        """Take chains to a step, or to the end of a level; see `Schedule.take`."""
        if self._level is None:
            return self._rest.take(chains, last, self._first)
        if self._tally is None:
            self._tally = chains.counting()
        level, step = self._level, chains.step
        last = self.found.reaching(self._end, step, last)
        chains.advance(np.full(last - step, level.temperature))
        if self.found.used(last) >= self._end:
            self._go_on(chains)
        return level.temperature

    def _go_on(self, chains: Counted) -> None:
        """Begin the next level, or what comes after the last one."""
        assert self._tally is not None
        try:
            self._level = self._looking.send(self._tally)
        except StopIteration as end:
            known = {name: getattr(end.value, name) for name in self._estimated if end.value is not None}
            self.found = replace(self.found, **known)
            self._rest, self._first, self._level = self.found.rest(chains.step), chains.step, None
            chains.counting(False)
        else:
            self._end += self._level.share
            self._tally = chains.counting()
