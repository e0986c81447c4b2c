"""Many instances in one command: what an earlier run has done, who does the rest, and how it is shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from nsa_cli.api import Unread
from nsa_cli.cli.compiling import LateFunctions, announce_compiling
from nsa_cli.cli.console import Console, Signals, describe, say
from nsa_cli.cli.overview import Overview
from nsa_cli.cli.remarks import note_choices, say_error, warn_infeasible
from nsa_cli.cli.writing import BESIDE, Writer
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import DataError, InputError, NsaError, UsageError
from nsa_cli.core.task import Task
from nsa_cli.io.journal import Journal
from nsa_cli.pool import HERE, Pool, Stopped, Unit, ahead
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import SolveTasks, dressed, expected_work, outcome_of, result_from, units_of

if TYPE_CHECKING:
    from nsa_cli.report.result import Result


class Finished(NamedTuple):
    """An instance that is done.

    Attributes
    ----------
    place : int
        Among the tasks.
    result : Result or NsaError
    known : bool
        Whether an earlier run has done it.
    """

    place: int
    result: Result | NsaError
    known: bool = False


def run_many(
    items: Sequence[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    pool: Pool,
    place: Path | None,
    *,
    again: bool,
) -> int:
    """Solve several instances, showing how many are done, and sum up; give the exit code.

    Parameters
    ----------
    items : sequence of Task or Unread
    settings : Settings
    console : Console
    writer : Writer
    pool : Pool
        Who solves them, if they are several.
    place : Path, optional
        Of the journal.
    again : bool
        Whether to forget what is in it.
    """
    tasks = [item for item in items if isinstance(item, Task)]
    pool = Pool(min(pool.jobs, len(tasks)), pool.cluster) if len(tasks) > 1 else HERE
    with contextlib.ExitStack() as stack:
        journal = None
        if place is not None and tasks:
            journal = stack.enter_context(Journal(place, "solve", anew=again))
        signals = stack.enter_context(Signals())
        run = _Run(
            items, tasks, settings, console, writer, pool, journal, lambda: signals.received != 0, Event()
        )
        run.solve()
        if journal is not None and journal.path.suffix == BESIDE and not signals.received:
            journal.close(remove=True)
        return signals.exit_code or writer.exit_code


class _Run(NamedTuple):
    """A run with all that it needs; `gone` tells that nobody takes answers any more."""

    items: Sequence[Task | Unread]
    tasks: Sequence[Task]
    settings: Settings
    console: Console
    writer: Writer
    pool: Pool
    journal: Journal | None
    stopped: Stopped
    gone: Event

    def solve(self) -> None:
        """Write each answer as it is ready, and the summary."""
        overview, late, noted = self._overview(), LateFunctions(self.settings), False
        places = [i for i, item in enumerate(self.items) if isinstance(item, Task)]
        announce_compiling(self.console)
        try:
            with overview, contextlib.closing(self._finished(overview)) as finished:
                try:
                    for place, result, known in finished:
                        with overview.aside():
                            overview.add(place, result, known=known)
                            if isinstance(result, NsaError):
                                say_error(self.tasks[place], result)
                            elif not noted:
                                noted = True
                                note_choices(self.console, result)
                            if not self.writer.take(places[place], result, known=known):
                                break
                            if not isinstance(result, NsaError):
                                warn_infeasible(self.console, self.tasks[place], result)
                                if not known:
                                    late.note(self.tasks[place], result)
                finally:
                    self.gone.set()
        finally:
            self.writer.finish()
            # In a pipe the lines themselves say it all.
            piped = not (self.writer.hides or self.console.verbose or sys.stderr.isatty())
            if self.stopped() or not piped:
                overview.summarise(interrupted=self.stopped(), resumable=self.journal is not None)
        late.end(self.console)

    def _overview(self) -> Overview:
        settings = self.settings
        work = [expected_work(task, settings) for task in self.tasks]
        deadline = None if settings.time_limit is None else settings.started + settings.time_limit
        unread = len(self.items) - len(self.tasks)
        return Overview(self.console, self.tasks, work, unread, settings.started, deadline)

    def _finished(self, overview: Overview) -> Generator[Finished, None, None]:
        def fault(error: NsaError) -> None:
            with overview.aside():
                say(f"error: {describe(error)}")
            self.writer.fail()

        if self.journal is None and self.pool == HERE:
            return self._at_once()
        # Files are written with care, which takes time that is not to be missing where there is a limit.
        return ahead(self._shared(fault))

    def _at_once(self) -> Generator[Finished, None, None]:
        """Solve instances in this process, in batches as large as they can be."""
        from nsa_cli.solver.solve import solve_each

        for place, result in solve_each(self.tasks, self.settings, asked=self.stopped):
            yield Finished(place, result)

    def _shared(self, fault: Callable[[NsaError], None]) -> Generator[Finished, None, None]:
        """Give what the journal has, and share out the rest; a result is in the journal before it is given.

        What was interrupted, or failed, is not, so that the next run solves it. If the journal cannot be
        written, `fault` is told, and the rest is solved without it.
        """
        journal, settings = self.journal, self.settings
        units = units_of(self.tasks, settings)
        known = [i for i, unit in enumerate(units) if journal is not None and unit.key in journal]
        todo = sorted({*range(len(units))} - {*known})
        if journal is not None and known:
            rest = f"{len(todo)} {'is' if len(todo) == 1 else 'are'} solved" if todo else "nothing is solved"
            self.console.tell(f"{len(known)} of {len(units)} instances are in {journal.path}; {rest}")
            for i in known:
                yield Finished(i, _known(journal, units[i], self.tasks[i]), known=True)
        if not todo:
            return
        seed = draw_seed() if settings.seed is None else settings.seed
        do = SolveTasks(replace(settings, seed=seed, threads=settings.threads or self.pool.threads))
        with self.pool.crew() as crew:
            for k, found in crew.share([units[i] for i in todo], do, self._to_end):
                place = todo[k]
                result = found if isinstance(found, NsaError) else dressed(found, self.tasks[place], settings)
                if not (
                    journal is None or isinstance(result, NsaError) or result.stop_reason == "interrupted"
                ):
                    try:
                        journal.append(units[place].key, outcome_of(result))
                    except UsageError as error:
                        fault(error)
                        journal = None
                yield Finished(place, result)

    def _to_end(self) -> bool:
        return self.stopped() or self.gone.is_set()


def _known(journal: Journal, unit: Unit, task: Task) -> Result:
    try:
        return result_from(journal[unit.key], task)
    except DataError as error:
        raise InputError(error.message, str(journal.path), use={"again": None}) from None
