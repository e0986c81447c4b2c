"""Linear programmes by the dual simplex method of HiGHS (Huangfu and Hall 2018), imported when needed.

A programme is minimised; it grows by rows and columns, its bounds move, and each solve goes on from the basis
of the one before. One thread, no presolve and a fixed seed: the same calls give the same numbers. Those are
floats, hints of which cuts, columns and multipliers are good; what is proved with them is proved elsewhere,
in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nsa_cli.core.extras import is_installed

Floats = NDArray[np.float64]

#: The options of HiGHS: silent and deterministic; 1 is the dual simplex method.
_OPTIONS = {
    "output_flag": False,
    "presolve": "off",
    "solver": "simplex",
    "simplex_strategy": 1,
    "parallel": "off",
    "threads": 1,
    "random_seed": 0,
}

#: What is told apart of the states in which HiGHS ends.
_STATES = {"kOptimal": "optimal", "kInfeasible": "infeasible", "kObjectiveBound": "cut off"}


def has_solver() -> bool:
    """Tell whether there is a solver for programmes."""
    return is_installed("highspy")


class Lines(NamedTuple):
    """Rows or columns of a sparse matrix, one after the other.

    Attributes
    ----------
    starts : int32[K]
        Where each begins among the entries.
    places : int32[E]
        The columns of a row's entries, or the rows of a column's.
    values : float64[E]
    """

    starts: NDArray[np.int32]
    places: NDArray[np.int32]
    values: Floats

    @classmethod
    def of(cls, places: Sequence[ArrayLike], values: Sequence[ArrayLike] | None = None) -> Lines:
        """Put lines together of their places, and their values; 1 by default."""
        rows = [np.asarray(line, dtype=np.int32) for line in places]
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        flat = np.concatenate([np.zeros(0, np.int32), *rows])
        if values is None:
            return cls(ends[:-1], flat, np.ones(len(flat)))
        numbers = [np.asarray(line, dtype=np.float64) for line in values]
        return cls(ends[:-1], flat, np.concatenate([np.zeros(0), *numbers]))


class Outcome(NamedTuple):
    """Where a solve has ended.

    Attributes
    ----------
    state : {'optimal', 'infeasible', 'cut off', 'unfinished'}
        ``cut off`` where the objective has passed `Programme.solve`'s `cutoff`.
    objective : float
    columns, reduced_costs : float64[C]
    rows, duals : float64[R]
        Activities of the rows, and their dual values: not negative for ``>=``, not positive for ``<=``.
    """

    state: str
    objective: float
    columns: Floats
    reduced_costs: Floats
    rows: Floats
    duals: Floats


class Programme:
    """A linear programme that is minimised: ``lower <= A x <= upper`` by rows, and bounds of the columns.

    Rows and columns are numbered from 0 in the order in which they were added; where some are deleted, the
    others close up.

    Parameters
    ----------
    **options
        Options of HiGHS beside ours.

    Raises
    ------
    ImportError
        If HiGHS is not installed; see `has_solver`.
    """

    def __init__(self, **options: Any) -> None:
        from highspy import HighsStatus

        self._solver, self._error = _silent_class()(), HighsStatus.kError
        for name, value in (_OPTIONS | options).items():
            self._solver.setOptionValue(name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self._solver.getNumRow(), self._solver.getNumCol()

    def add_columns(
        self,
        costs: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = math.inf,
        entries: Lines | None = None,
    ) -> None:
        """Add K columns.

        Parameters
        ----------
        costs : float64[K]
        lower, upper : float64[K] or float
        entries : Lines, optional
            Of the columns, in rows that are there; none by default.
        """
        costs = np.asarray(costs, dtype=np.float64)
        count, lines = len(costs), _entries(entries, len(costs))
        self._solver.addCols(count, costs, _row(lower, count), _row(upper, count), len(lines.places), *lines)

    def add_rows(self, lower: ArrayLike, upper: ArrayLike, entries: Lines) -> None:
        """Add K rows.

        Parameters
        ----------
        lower, upper : float64[K] or float
            Infinite where there is none.
        entries : Lines
            Of the rows, in columns that are there; K of them.
        """
        count = len(entries.starts)
        self._solver.addRows(count, _row(lower, count), _row(upper, count), len(entries.places), *entries)

    def set_bounds(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Move bounds of K columns, int32[K], to float64[K] or a number."""
        places = np.asarray(columns, dtype=np.int32)
        self._solver.changeColsBounds(len(places), places, _row(lower, len(places)), _row(upper, len(places)))

    def set_row_bounds(self, rows: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Move bounds of K rows, int32[K], to float64[K] or a number."""
        places = np.asarray(rows, dtype=np.int32)
        self._solver.changeRowsBounds(len(places), places, _row(lower, len(places)), _row(upper, len(places)))

    def set_costs(self, columns: ArrayLike, costs: ArrayLike) -> None:
        """Change costs of K columns, int32[K], to float64[K] or a number."""
        places = np.asarray(columns, dtype=np.int32)
        self._solver.changeColsCost(len(places), places, _row(costs, len(places)))

    def delete_rows(self, rows: ArrayLike) -> None:
        """Delete rows, int32[K]."""
        places = np.asarray(rows, dtype=np.int32)
        self._solver.deleteRows(len(places), places)

    def delete_columns(self, columns: ArrayLike) -> None:
        """Delete columns, int32[K]."""
        places = np.asarray(columns, dtype=np.int32)
        self._solver.deleteCols(len(places), places)

    def basis(self) -> Any:
        """Give the basis of the last solve, for `set_basis`."""
        return self._solver.getBasis()

    def set_basis(self, basis: Any) -> None:
        """Let the next solve go on from a basis; rows and columns must be those that it had."""
        self._solver.setBasis(basis)

    def solve(
        self, seconds: float = math.inf, iterations: int | None = None, cutoff: float = math.inf
    ) -> Outcome:
        """Minimise, from the last basis on.

        Parameters
        ----------
        seconds : float
        iterations : int, optional
            Of the simplex method, at most.
        cutoff : float
            Objective at which nobody needs the rest.
        """
        solver, options = self._solver, self._solver.setOptionValue
        options("time_limit", solver.getRunTime() + max(seconds, 0.0))
        options("simplex_iteration_limit", 2**31 - 1 if iterations is None else iterations)
        options("objective_bound", cutoff)
        failed = solver.run() == self._error
        state, found = solver.getModelStatus().name, solver.getSolution()
        return Outcome(
            "unfinished" if failed else _STATES.get(state, "unfinished"),
            solver.getInfo().objective_function_value,
            np.array(found.col_value, dtype=np.float64),
            np.array(found.col_dual, dtype=np.float64),
            np.array(found.row_value, dtype=np.float64),
            np.array(found.row_dual, dtype=np.float64),
        )

    def ray(self) -> Floats | None:
        """Give what may be added to the duals, as often as one likes, where the last solve was infeasible.

        Returns
        -------
        float64[R] or None
            With the signs of `Outcome.duals`; the bound of the duals grows with its multiples.
        """
        _, there, values = self._solver.getDualRay()
        return np.array(values, dtype=np.float64) if there else None


@cache
def _silent_class() -> type[Any]:
    """Make a class of solvers that print nothing: with callbacks, HiGHS 1.16 prints its name."""
    from highspy import Highs

    class Silent(Highs):  # type: ignore[misc]  # it has no types
        def enableCallbacks(self) -> None:  # noqa: N802  # the constructor calls it
            self.setOptionValue("output_flag", False)

    return Silent


def _row(values: ArrayLike, count: int) -> Floats:
    """Make an array of a number, or of an array of that length."""
    return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), count))


def _entries(entries: Lines | None, count: int) -> Lines:
    """Lines that are given, or so many without an entry."""
    return Lines.of([()] * count) if entries is None else entries
