"""Annealing curves: objectives, temperature and acceptance over the steps, as CSV."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.io.atomic import write_text
from nsa_cli.io.table import format_table

if TYPE_CHECKING:
    from nsa_cli.anneal.chains import Progress

#: Rows of a curve: as many as a picture can show.
ROWS = 1000


class Row(NamedTuple):
    """A point of the curve; objectives are the engine's running sums, in the file's sense and units.

    Fields are named as the columns of the file.

    Attributes
    ----------
    step : int
        Steps done.
    seconds : float
        Since the first step.
    temperature : float
        Of the last step, in normalised units.
    acceptance : float
        Accepted share of the proposals since the row before; nan in the first row.
    mean, current_best : float
        Of the chains' current objectives: their mean, and the best one.
    best : float
        The best so far.
    phase : str
        What was done: of large steps `starts`, `recombination` or `chain`; empty where there are no phases.
    """

    step: int
    seconds: float
    temperature: float
    acceptance: float
    mean: float
    current_best: float
    best: float
    phase: str = ""


class Trace:
    """Recorder of a run's curve, thinned to about a thousand rows.

    Parameters
    ----------
    sense : {'min', 'max'}
        Of the problem; energies are turned into objectives.
    follow : bool
        Whether to keep the chains' solutions, too.
    rows : int
        Rows to keep at most.
    """

    def __init__(self, sense: str, *, follow: bool = False, rows: int = ROWS) -> None:
        self._sign = 1.0 if sense == "min" else -1.0
        self._follow, self._most = follow, rows
        self._rows: list[Row] = []
        self._places: list[NDArray[Any]] = []
        self._began = 0.0

    def __call__(self, progress: Progress) -> None:
        """Record a point."""
        if not self._rows:
            self._began = time.monotonic()
        # Kept as a sum over all steps: rows that are left out later take nothing with them.
        accepted = progress.acceptance * progress.step
        energies = (progress.mean, progress.lowest, progress.best)
        mean, lowest, best = (math.nan if e is None else self._sign * e for e in energies)
        seconds = time.monotonic() - self._began
        self._rows.append(
            Row(progress.step, seconds, progress.temperature, accepted, mean, lowest, best, progress.phase)
        )
        if self._follow and progress.chains is not None:
            self._places.append(progress.chains.x.copy())
        if len(self._rows) > 2 * self._most:
            self._rows, self._places = self._rows[::2], self._places[::2]

    def rows(self) -> list[Row]:
        """Give the curve so far, thinned, with its first and last row."""
        if not self._rows:
            return []
        last = len(self._rows) - 1
        kept = range(0, last, max(-(-(last + 1) // (self._most + 1)), 1))
        some = [self._rows[i] for i in (*kept, last)]
        steps = np.diff([row.step for row in some]).clip(min=1)
        shares = (np.diff([row.acceptance for row in some]) / steps).clip(0, 1).tolist()
        return [row._replace(acceptance=a) for row, a in zip(some, [math.nan, *shares], strict=True)]

    def path(self, solution: Solution) -> Solution | None:
        """Give the path of the chain nearest to a solution, [K, …]; None unless chains were followed."""
        if not self._places:
            return None
        places = np.stack(self._places)
        distance = np.abs(places - solution).reshape(*places.shape[:2], -1).sum(2).min(0)
        return np.asarray(places[:, int(distance.argmin())])

    def write(self, path: str | Path) -> None:
        """Write the curve as CSV, whole or not at all."""
        write_text(path, format_table(Row._fields, [_cells(row) for row in self.rows()]))


def _cells(row: Row) -> list[Any]:
    """Format a row; nan is an empty cell."""
    acceptance = "" if math.isnan(row.acceptance) else round(row.acceptance, 6)
    rest = ("" if math.isnan(x) else x for x in (row.mean, row.current_best, row.best))
    return [row.step, round(row.seconds, 6), float(f"{row.temperature:.9g}"), acceptance, *rest, row.phase]
