"""Many instances in one command: what an earlier run has done, and who does the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsa_cli.cli.console import Console
from nsa_cli.cli.options import identities, is_directory
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import DataError, InputError, NsaError, UsageError
from nsa_cli.core.launch import launch
from nsa_cli.core.machine import cores
from nsa_cli.core.options import parse_count
from nsa_cli.core.task import Task
from nsa_cli.inputs import is_many
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import SolveTasks, dressed, outcome_of, result_from, units_of
from nsa_cli.work.journal import Journal, key_of
from nsa_cli.work.processes import among_processes
from nsa_cli.work.ranks import Ranks
from nsa_cli.work.sharing import Stopped, Unit, alone

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Name of the journal in a folder of answers; ending of that beside a file of them.
JOURNAL, BESIDE = "journal.jsonl", ".part"


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
        if (process := launch()) is None or process.size == 1:
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


def journal_of(output: str | None, files: Sequence[str], count: int) -> Path | None:
    """Find the place of the journal; None where there is none: for one instance, and on stdout.

    A folder of answers has one if its instances come from a folder, too, though it be one: the next run may
    find more.
    """
    if output in (None, "-") or not (count > 1 or any(map(is_many, files))):
        return None
    assert output is not None
    if is_directory(output):
        return Path(output) / JOURNAL
    if count < 2 or (os.path.exists(output) and not os.path.isfile(output)):  # a pipe
        return None
    return Path(output + BESIDE)


def check_apart_from_instances(output: str | None, files: Sequence[str]) -> None:
    """Check that the folder of the answers is none of the instances'.

    Raises
    ------
    UsageError
        If it is: another run would take tables of answers for instances.
    """
    if is_directory(output) and identities([output]) & identities(f for f in files if os.path.isdir(f)):
        raise UsageError(
            f"-o {output}: is the folder of the instances, and the next run would read answers among them; "
            "give another folder"
        )


def solve_shared(
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
