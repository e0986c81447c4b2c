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

from nsa_cli.core.clock import Clock
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

#: Simplex iterations between two looks at the clock, times rows; at least so many.
_LOOK, _LEAST = 400_000, 50


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
    state : {'optimal', 'infeasible', 'unfinished'}
    objective : float
    columns : float64[C]
    rows, duals : float64[R]
        Activities of the rows, and their dual values: not negative for ``>=``, not positive for ``<=``.
    iterations : int
        Of the simplex method.
    """

    state: str
    objective: float
    columns: Floats
    rows: Floats
    duals: Floats
    iterations: int


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
        count, lines = len(costs), entries or Lines.of([()] * len(costs))
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

    def solve(self, clock: Clock | None = None, iterations: float = math.inf) -> Outcome:
        """Minimise, from the last basis on.

        Parameters
        ----------
        clock : Clock, optional
            It is looked at after some iterations, not after some time, so that it changes no path.
        iterations : float
            Of the simplex method, at most.
        """
        solver, done, state = self._solver, 0, "kIterationLimit"
        look = max(_LOOK // max(solver.getNumRow(), 1), _LEAST)
        while state == "kIterationLimit" and done < iterations and not (clock and clock.is_over()):
            solver.setOptionValue("simplex_iteration_limit", int(min(look, iterations - done)))
            failed = solver.run() == self._error
            state, count = solver.getModelStatus().name, solver.getInfo().simplex_iteration_count
            done += max(count, 0)
            if failed or (count < 1 and state == "kIterationLimit"):
                state = "failed"
        found = solver.getSolution()
        columns, rows, duals = (np.array(one) for one in (found.col_value, found.row_value, found.row_dual))
        named = {"kOptimal": "optimal", "kInfeasible": "infeasible"}.get(state, "unfinished")
        return Outcome(named, solver.getInfo().objective_function_value, columns, rows, duals, done)

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
