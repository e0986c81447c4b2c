"""Many instances in one command: what an earlier run has done, who does the rest, and how it is shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
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
from nsa_cli.core.launch import several
from nsa_cli.core.machine import cores
from nsa_cli.core.options import parse_count
from nsa_cli.core.task import Task
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import SolveTasks, dressed, expected_work, outcome_of, result_from, units_of
from nsa_cli.work.journal import Journal, key_of
from nsa_cli.work.processes import among_processes
from nsa_cli.work.ranks import Ranks
from nsa_cli.work.sharing import Stopped, Unit, ahead, alone

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


@dataclass(frozen=True)
class Crew:
    """Who solves: this process, some processes of this machine, or ranks.

    Attributes
    ----------
    jobs : int
    ranks : Ranks, optional
    """

    jobs: int = 1
    ranks: Ranks | None = None

    @classmethod
    def of(cls, jobs: str | None, files: Sequence[str]) -> Crew:
        """Make the crew that the user, or `torchrun`, asks for.

        Raises
        ------
        UsageError
            If both do, or ranks cannot read the input.
        """
        count = parse_count("jobs", jobs)
        if (process := several()) is None:
            return cls(count or 1)
        if count is not None:
            raise UsageError("torchrun has started the processes", option="jobs", drop={"jobs": None})
        if "-" in files:
            raise UsageError("standard input has one reader, and each rank reads the instances; give files")
        return cls(ranks=Ranks.joined(process))

    @property
    def leads(self) -> bool:
        """Whether this process writes the answers."""
        return self.ranks is None or self.ranks.rank == 0

    def share(
        self, units: Sequence[Unit], settings: Settings, stopped: Stopped
    ) -> Iterator[tuple[int, Result | NsaError]]:
        """Solve units; give each result, as `bare` makes it, with its place, once it is ready."""
        if self.ranks is not None:
            return self.ranks.share(units, SolveTasks(_with_threads(settings, self.ranks.local)), stopped)
        if (jobs := min(self.jobs, len(units))) > 1:
            return among_processes(units, SolveTasks(_with_threads(settings, jobs)), stopped, jobs)
        return alone(units, SolveTasks(settings), stopped)

    def take_part(self, tasks: Sequence[Task], settings: Settings, stopped: Stopped) -> None:
        """Do a rank's share of what rank 0 gives out."""
        assert self.ranks is not None
        units = units_of(tasks, settings)
        todo, seed = self.ranks.agree(_digest(units), None, stopped)
        for _ in self.share([units[i] for i in todo], replace(settings, seed=seed), stopped):
            pass


def _with_threads(settings: Settings, processes: int) -> Settings:
    """Share out the cores, unless the user says how many threads each process has."""
    return settings if settings.threads else replace(settings, threads=max(cores() // processes, 1))


def _digest(units: Sequence[Unit]) -> str:
    return key_of({"units": [unit.key for unit in units]})


def _shared(
    tasks: Sequence[Task],
    settings: Settings,
    crew: Crew,
    journal: Journal | None,
    stopped: Stopped,
    console: Console,
    fault: Callable[[NsaError], None],
) -> Generator[Finished, None, None]:
    """Give what a journal has, and solve the rest; each result goes into the journal before it is given.

    What was interrupted, or failed, does not, so that the next run solves it.

    Parameters
    ----------
    tasks : sequence of Task
    settings : Settings
    crew : Crew
    journal : Journal, optional
    stopped : callable
    console : Console
    fault : callable
        Is told if the journal cannot be written; the rest is solved without it.

    Raises
    ------
    InputError
        If the journal has something else than results.
    """
    units = units_of(tasks, settings)
    known = [] if journal is None else [i for i, unit in enumerate(units) if unit.key in journal]
    there = set(known)
    todo = [i for i in range(len(units)) if i not in there]
    seed = draw_seed() if settings.seed is None else settings.seed
    if crew.ranks is not None:
        crew.ranks.agree(_digest(units), (todo, seed), stopped)
    if journal is not None and known:
        rest = f"{len(todo)} {'is' if len(todo) == 1 else 'are'} solved" if todo else "nothing is solved"
        console.tell(f"{len(known)} of {len(units)} instances are in {journal.path}; {rest}")
        for i in known:
            yield Finished(i, _known(journal, units[i], tasks[i]), known=True)
    for k, found in crew.share([units[i] for i in todo], replace(settings, seed=seed), stopped):
        place = todo[k]
        result = found if isinstance(found, NsaError) else dressed(found, tasks[place], settings)
        if journal is not None and not isinstance(result, NsaError) and result.stop_reason != "interrupted":
            try:
                journal.append(units[place].key, outcome_of(result))
            except UsageError as error:
                fault(error)
                journal = None
        yield Finished(place, result)


def _known(journal: Journal, unit: Unit, task: Task) -> Result:
    try:
        return result_from(journal[unit.key], task)
    except DataError as error:
        raise InputError(error.message, str(journal.path), use={"again": None}) from None


def run_many(
    items: Sequence[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    crew: Crew | None,
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
    crew : Crew, optional
        This process alone by default.
    place : Path, optional
        Of the journal.
    again : bool
        Whether to forget what is in it.
    """
    tasks = [item for item in items if isinstance(item, Task)]
    crew = crew or Crew()
    if not crew.leads:
        return _take_part(crew, tasks, settings)
    if len(tasks) < 2:
        crew = Crew()  # the other ranks know that, too
    with contextlib.ExitStack() as stack:
        journal = None
        if place is not None and tasks:
            journal = stack.enter_context(Journal(place, "solve", anew=again))
        signals = stack.enter_context(Signals())
        run = _Run(
            items, tasks, settings, console, writer, crew, journal, lambda: signals.received != 0, Event()
        )
        run.solve()
        if journal is not None and place is not None and place.suffix == BESIDE and not signals.received:
            journal.close(remove=True)
        return signals.exit_code or writer.exit_code


def _take_part(crew: Crew, tasks: Sequence[Task], settings: Settings) -> int:
    """Work for rank 0, which says and writes all there is to say and write; one instance it does alone."""
    with Signals() as signals:
        if len(tasks) > 1:
            crew.take_part(tasks, settings, lambda: signals.received != 0)
        return signals.exit_code


class _Run(NamedTuple):
    """A run with all that it needs; `gone` tells that nobody takes answers any more."""

    items: Sequence[Task | Unread]
    tasks: Sequence[Task]
    settings: Settings
    console: Console
    writer: Writer
    crew: Crew
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

        if self.journal is None and self.crew == Crew():
            return _all_at_once(self.tasks, self.settings, self.stopped)

        def stopped() -> bool:
            return self.stopped() or self.gone.is_set()

        # Files are written with care, which takes time that is not to be missing where there is a limit.
        arguments = self.tasks, self.settings, self.crew, self.journal, stopped, self.console
        return ahead(_shared(*arguments, fault))


def _all_at_once(
    tasks: Sequence[Task], settings: Settings, stopped: Stopped
) -> Generator[Finished, None, None]:
    """Solve instances in this process, in batches as large as they can be."""
    from nsa_cli.solver.solve import solve_each

    for place, result in solve_each(tasks, settings, asked=stopped):
        yield Finished(place, result)
