"""Outputs of `nsa solve` beside the result: progress, annealing curve, picture."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsa_cli.cli.console import Console
from nsa_cli.cli.options import check_output
from nsa_cli.cli.progress import ProgressLine
from nsa_cli.core.errors import UsageError
from nsa_cli.core.task import Task
from nsa_cli.solver.settings import Settings

if TYPE_CHECKING:
    from nsa_cli.anneal.chains import Progress
    from nsa_cli.core.drawing import Drawing
    from nsa_cli.core.instance import Number
    from nsa_cli.report.result import Result


@dataclass(frozen=True)
class Extras:
    """Files to write beside the result.

    Attributes
    ----------
    plot : str, optional
        A picture of the solution.
    curve : str, optional
        The annealing curve: its numbers as CSV or a picture of it, by the ending.
    """

    plot: str | None = None
    curve: str | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is any."""
        return self.plot is not None or self.curve is not None

    def check(self, tasks: list[Task], output: str | None) -> None:
        """Check that all of them can be written and drawn, and none to where the result is written.

        Raises
        ------
        UsageError
            In that case.
        """
        named = {"plot": self.plot, "curve": self.curve}
        wanted = {option: path for option, path in named.items() if path is not None}
        places = [os.path.realpath(path) for path in (*wanted.values(), output) if path not in (None, "-")]
        if twice := next((path for path in places if places.count(path) > 1), None):
            raise UsageError(f"{twice}: several options would write to it; give each a name of its own")
        for option, path in wanted.items():
            if path == "-":
                raise UsageError("expected a file name, got - (the result's)", option=option)
            if len(tasks) != 1:
                raise UsageError(f"expected one instance, got {len(tasks)}", option=option)
            check_output(path, f"--{option}", [task.file for task in tasks])
            numbers = (".csv",) if option == "curve" else ()
            if Path(path).suffix.lower() not in numbers:
                from nsa_cli.report.plots import check_picture

                check_picture(option, path, numbers)
        self.drawing(tasks)

    def drawing(self, tasks: list[Task]) -> Drawing[Any] | None:
        """Find the drawing for a picture of the solution; None if none is asked for."""
        if self.plot is None:
            return None
        from nsa_cli.report.plots import drawing_of

        return drawing_of(tasks[0].problem, "plot")


class Observer:
    """Observer of a run: shows progress, records the curve, writes files when the run is over.

    Parameters
    ----------
    extras : Extras
    console : Console
    tasks : list of Task
    settings : Settings

    Attributes
    ----------
    looks : int or None
        Least number of calls in a run.
    """

    def __init__(self, extras: Extras, console: Console, tasks: list[Task], settings: Settings) -> None:
        limit = settings.time_limit
        self._console = console
        self._line = ProgressLine(console, tasks, None if limit is None else settings.started + limit)
        self._extras, self._drawing = extras, extras.drawing(tasks)
        follows = self._drawing is not None and self._drawing.follows
        self._trace, self.looks = None, None
        if extras.curve or follows:
            from nsa_cli.report.trace import ROWS, Trace

            self._trace, self.looks = Trace(tasks[0].problem.sense, follow=follows), ROWS

    def __call__(self, progress: Progress) -> None:
        """Record and show progress."""
        if self._trace is not None:
            self._trace(progress)
        self._line(progress)

    def begin(self) -> None:
        """Begin the display."""
        self._line.begin()

    def end(self) -> None:
        """End the display."""
        self._line.end()

    def write(self, result: Result) -> None:
        """Write the curve and the picture, each whole or not at all."""
        trace, curve = self._trace, self._extras.curve
        if self._drawing is not None and self._extras.plot is not None:
            from nsa_cli.report.plots import save_solution

            way = None if trace is None else trace.path(result.raw)
            save_solution(self._extras.plot, self._drawing, result.instance, result.raw, way)
        if trace is None or curve is None:
            return
        if Path(curve).suffix.lower() == ".csv":
            trace.write(curve)
        if not trace.rows():
            why = "there was no time for a step; give it more"
            if result.found_by != "start":
                why = (
                    f"{result.found_by} had the answer before the first step; --no-bound anneals all the same"
                )
            self._console.warn(f"there is no annealing curve: {why}")
        elif Path(curve).suffix.lower() != ".csv":
            from nsa_cli.report.plots import save_run

            save_run(curve, trace.rows(), result.instance.name, _known(result))


def _known(result: Result) -> tuple[str, Number] | None:
    """Reference of a curve: the best known objective, or else the bound."""
    if result.instance.best_known is not None:
        return "best known", result.instance.best_known
    return None if result.bound is None else ("bound", result.bound.value)
