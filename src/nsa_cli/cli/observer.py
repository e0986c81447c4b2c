"""What is shown of the run of a single instance, and written beside its answer: progress, curve, picture."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsa_cli.cli.console import Console, say
from nsa_cli.cli.writing import Outputs
from nsa_cli.core.errors import NsaError
from nsa_cli.core.problem import Task
from nsa_cli.report.progress import RunLive

if TYPE_CHECKING:
    from nsa_cli.anneal.chains import Progress
    from nsa_cli.core.instance import Number
    from nsa_cli.report.result import Result


class Observer:
    """Observer of a run: shows progress, records the curve, writes files when the run is over.

    Parameters
    ----------
    outputs : Outputs
    console : Console
    tasks : list of Task
    deadline : float, optional
        Of `time.monotonic`.

    Attributes
    ----------
    looks : int or None
        Least number of calls in a run.
    """

    def __init__(self, outputs: Outputs, console: Console, tasks: list[Task], deadline: float | None) -> None:
        self._console = console
        self._line = RunLive(
            tasks,
            deadline,
            verbose=console.verbose,
            shown=not console.quiet,
            lasting=say if console.verbose else None,
        )
        self._outputs, self._drawing = outputs, outputs.drawing(tasks)
        follows = self._drawing is not None and self._drawing.follows
        self._trace, self.looks, self._told = None, None, ""
        if outputs.curve or follows:
            from nsa_cli.report.plots import ROWS, Trace

            self._trace, self.looks = Trace(tasks[0].problem.sense, follow=follows), ROWS

    def __enter__(self) -> Observer:
        self._line.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.__exit__()

    def __call__(self, progress: Progress) -> None:
        """Record and show progress."""
        if self._trace is not None:
            self._trace(progress)
        self._line(progress)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for other lines: the run is over."""
        self._line.__exit__()
        yield

    def add(self, place: int, result: Result | NsaError, *, known: bool = False) -> None:
        """Take the answer; the curve and the picture of it are written, each whole or not at all."""
        if isinstance(result, NsaError):
            return
        self._told = f"objective {result.objective}, {result.status}: {self._outputs.output}"
        if self._drawing is not None and self._outputs.plot is not None:
            from nsa_cli.report.plots import solution_picture, write_picture

            way = None if self._trace is None else self._trace.path(result.raw)
            figure = solution_picture(self._drawing, result.instance, result.raw, way)
            write_picture(figure, self._outputs.plot)
        if self._trace is not None and self._outputs.curve is not None:
            self._write_curve(self._outputs.curve, self._trace, result)

    def _write_curve(self, curve: str, trace: Any, result: Result) -> None:
        numbers = Path(curve).suffix.lower() == ".csv"
        if numbers:
            trace.write(curve)
        if not trace.rows():
            why = "there was no time for a step; give it more"
            if result.found_by != "start":
                why = (
                    f"{result.found_by} had the answer before the first step; --no-bound anneals all the same"
                )
            self._console.warn(f"there is no annealing curve: {why}")
        elif not numbers:
            from nsa_cli.report.plots import run_picture, write_picture

            write_picture(run_picture(trace.rows(), result.instance.name, _known(result)), curve)

    def summarise(self, **_: bool) -> None:
        """Say where the answer is, if it is in a file."""
        if self._told and self._outputs.hides:
            self._console.tell(self._told)


def _known(result: Result) -> tuple[str, Number] | None:
    """Reference of a curve: the best known objective, or else the bound."""
    if result.instance.best_known is not None:
        return "best known", result.instance.best_known
    return None if result.bound is None else ("bound", result.bound.value)
