"""The run of `nsa solve`: what an earlier run has done, who does the rest, and how it is shown."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

from nsa_cli.api import Unread
from nsa_cli.cli.compiling import LateFunctions, announce_compiling
from nsa_cli.cli.console import Console, Signals, describe, say
from nsa_cli.cli.overview import Overview
from nsa_cli.cli.writing import BESIDE, Outputs, Writer
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import DataError, InputError, NsaError, UsageError
from nsa_cli.core.problem import Task
from nsa_cli.core.words import readable
from nsa_cli.io.journal import Journal
from nsa_cli.pool import HERE, Pool, ahead
from nsa_cli.report.progress import RunLive
from nsa_cli.solver.settings import Settings

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
        self._tasks = tasks
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
        self._told = f"objective {result.measured(result.objective)}, {result.status}: {self._outputs.output}"
        if self._drawing is not None and self._outputs.plot is not None:
            from nsa_cli.report.plots import solution_picture, write_picture

            way = None if self._trace is None else self._trace.path(result.raw)
            figure = solution_picture(self._drawing, result.instance, result.raw, way)
            write_picture(figure, self._outputs.plot)
        if self._trace is not None and self._outputs.curve is not None:
            self._write_curve(self._outputs.curve, self._trace, result)
        if self._outputs.certificate is not None:
            self._write_certificate(self._outputs.certificate, result)

    def _write_certificate(self, path: str, result: Result) -> None:
        from nsa_cli.io.atomic import write_text
        from nsa_cli.solver.certificates import certificate_of

        try:
            text = certificate_of(self._tasks[0], result.bound, result.raw)
        except UsageError as error:
            self._console.warn(error.message)
        else:
            write_text(path, text)

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


#: Seconds after the limit from which on an answer is late.
_LATE = 1.0

#: An instance that is done: its place among the tasks, and whether an earlier run has done it.
Finished: TypeAlias = "tuple[int, Result | NsaError, bool]"


@dataclass
class Run:
    """A run with all that it needs.

    Attributes
    ----------
    items : sequence of Task or Unread
        What was asked for; the tasks among them are solved.
    settings : Settings
    console : Console
    outputs : Outputs
        Whose format is chosen.
    pool : Pool
        Who solves the instances, if they are several.
    place : Path, optional
        Of the journal.
    many : bool
        Whether to show how many are done, rather than how far the one is.
    """

    items: Sequence[Task | Unread]
    settings: Settings
    console: Console
    outputs: Outputs
    pool: Pool
    place: Path | None
    many: bool

    def __post_init__(self) -> None:
        self._tasks = [item for item in self.items if isinstance(item, Task)]
        self._places = [i for i, item in enumerate(self.items) if isinstance(item, Task)]
        self._writer = Writer(self.items, self.outputs)
        self._signals, self._gone, self._noted = Signals(), Event(), False
        self._journal: Journal | None = None
        if len(self._tasks) < 2:
            self.pool = HERE

    def solve(self) -> int:
        """Write each answer as it is ready, and the summary; give the exit code."""
        late = LateFunctions()
        announce_compiling(self.console)
        with contextlib.ExitStack() as stack:
            if self.place is not None and self._tasks:
                journal = Journal(self.place, "solve", anew=self.outputs.again)
                self._journal = stack.enter_context(journal)
            stack.enter_context(self._signals)
            display = self._display()
            try:
                with display, contextlib.closing(self._finished(display)) as finished:
                    try:
                        for place, result, known in finished:
                            with display.aside():
                                if not self._take(place, result, known=known):
                                    break
                                display.add(place, result, known=known)
                                if not known and not isinstance(result, NsaError):
                                    late.note(self._tasks[place], result, self.settings)
                    finally:
                        self._gone.set()
            finally:
                self._writer.finish()
                # In a pipe the lines themselves say it all.
                piped = not (self.outputs.hides or self.console.verbose or sys.stderr.isatty())
                if self._stopped() or not piped:
                    resumable = self._journal is not None
                    display.summarise(interrupted=self._stopped(), resumable=resumable)
            if late.found:
                late.compile_later(self.settings, self.console)
            if self._journal is not None and self._journal.path.suffix == BESIDE and not self._stopped():
                self._journal.close(remove=True)
        return self._signals.exit_code or self._writer.exit_code

    def _stopped(self) -> bool:
        return self._signals.received != 0

    def _display(self) -> Overview | Observer:
        settings = self.settings
        deadline = None if settings.time_limit is None else settings.started + settings.time_limit
        if not self.many:
            return Observer(self.outputs, self.console, self._tasks, deadline)
        from nsa_cli.solver.shared import expected_work

        work = [expected_work(task, settings) for task in self._tasks]
        unread = len(self.items) - len(self._tasks)
        return Overview(self.console, self._tasks, work, unread, settings.started, deadline)

    def _take(self, place: int, result: Result | NsaError, *, known: bool) -> bool:
        """Say what there is to say about an answer, and write it; False if the reader has gone."""
        task = self._tasks[place]
        name = task.instance.name or task.file
        if isinstance(result, NsaError):
            say(f"error: {name}: {describe(result)}")
        elif not self._noted:
            self._noted = True
            self._note_choices(result)
        taken = self._writer.take(self._places[place], result, known=known)
        if taken and not isinstance(result, NsaError):
            if result.violation is not None:
                cure = "penalise that more, or search longer"
                if result.stop_reason == "time_limit":
                    cure = "the time limit ended the search, give it more"
                why = f"{result.violation}; {cure}"
                self.console.warn(f"{name}: the answer is infeasible: {why}")
            if not self.many:
                self._warn_late(result)
        return taken

    def _note_choices(self, result: Result) -> None:
        """Print how an answer was found, if verbose."""
        self.console.note(
            f"seed {result.seed}, policy {result.policy}, start {result.start}, "
            f"{result.backend} on {result.device}, threads {result.threads}"
        )
        schedule = ", ".join(f"{key} {readable(value)}" for key, value in result.schedule.items())
        self.console.note(f"{result.steps} steps, {result.chains} chains; schedule: {schedule}")

    def _warn_late(self, result: Result) -> None:
        """Say why an answer comes long after a limit that was too short for anything but a first solution."""
        limit = self.settings.time_limit
        if limit is None or result.stop_reason != "time_limit" or result.found_by != "start":
            return
        if (late := time.monotonic() - self.settings.started - limit) > _LATE:
            spent = {
                "reading": "load",
                "a first solution": "setup",
                "improving it": "solve",
                "a bound": "bound",
            }
            parts = {what: result.seconds[key] for what, key in spent.items()}
            parts = {"starting the program": limit + late - sum(parts.values()), **parts}
            took = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in parts.items() if seconds >= 0.05)
            self.console.warn(
                f"the limit of {limit:g} s was too short ({took}); "
                f"the answer is a first solution, {late:.1f} s late"
            )

    def _finished(self, display: Overview | Observer) -> Generator[Finished, None, None]:
        if self._journal is None and self.pool == HERE:
            return self._at_once(display)
        # Files are written with care, which takes time that is not to be missing where there is a limit.
        return ahead(self._shared(display))

    def _at_once(self, display: Overview | Observer) -> Generator[Finished, None, None]:
        """Solve instances in this process, in batches as large as they can be."""
        from nsa_cli.solver.solve import solve_each

        seen = display if isinstance(display, Observer) else None
        looks = None if seen is None else seen.looks
        found = solve_each(self._tasks, self.settings, asked=self._stopped, on_progress=seen, looks=looks)
        while True:
            with contextlib.redirect_stdout(sys.stderr):  # what functions of an own problem print
                place, result = next(found, (None, None))
            if place is None or result is None:
                return
            yield place, result, False

    def _shared(self, display: Overview | Observer) -> Generator[Finished, None, None]:
        """Give what the journal has, and share out the rest; a result is in the journal before it is given.

        What was interrupted, or failed, is not, so that the next run solves it. If the journal cannot be
        written, that is said, and the rest is solved without it.
        """
        from nsa_cli.solver.shared import SolveTasks, completed, outcome_of, result_from, units_of

        journal, settings = self._journal, self.settings
        units = units_of(self._tasks, settings)
        known = [i for i, unit in enumerate(units) if journal is not None and unit.key in journal]
        todo = sorted({*range(len(units))} - {*known})
        if journal is not None and known:
            rest = f"{len(todo)} {'is' if len(todo) == 1 else 'are'} solved" if todo else "nothing is solved"
            self.console.tell(f"{len(known)} of {len(units)} instances are in {journal.path}; {rest}")
            for i in known:
                try:
                    yield i, result_from(journal[units[i].key], self._tasks[i]), True
                except DataError as error:
                    raise InputError(error.message, str(journal.path), use={"again": None}) from None
        if not todo:
            return
        pool = replace(self.pool, jobs=min(self.pool.jobs, len(self._tasks)))
        seed = draw_seed() if settings.seed is None else settings.seed
        do = SolveTasks(replace(settings, seed=seed, threads=settings.threads or pool.threads))
        with pool.executors() as executors:
            for k, found in executors.share([units[i] for i in todo], do, self._to_end):
                if isinstance(found, NsaError):
                    yield todo[k], found, False
                    continue
                result = completed(found, self._tasks[todo[k]], settings)
                if journal is not None and result.stop_reason != "interrupted":
                    try:
                        journal.append(units[todo[k]].key, outcome_of(result))
                    except UsageError as error:
                        with display.aside():
                            say(f"error: {describe(error)}")
                        self._writer.fail()
                        journal = None
                yield todo[k], result, False

    def _to_end(self) -> bool:
        return self._stopped() or self._gone.is_set()
