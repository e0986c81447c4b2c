"""`nsa solve`: reads instances, solves them, writes results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from dataclasses import fields
from typing import TYPE_CHECKING

from nsa_cli.api import Task, Unread, first_solution
from nsa_cli.cli import solve_options as option
from nsa_cli.cli.console import (
    Console,
    Signals,
    announce_compiling,
    describe,
    log_is_json,
    say,
    set_log_format,
)
from nsa_cli.cli.many import (
    BESIDE,
    Crew,
    Finished,
    check_apart_from_instances,
    journal_of,
    solve_shared,
)
from nsa_cli.cli.observer import Extras, Observer
from nsa_cli.cli.options import (
    Candidates,
    Capacity,
    Columns,
    Decimal,
    Device,
    From,
    Ignore,
    MaxMemory,
    Neighbourhood,
    Open,
    Owner,
    Pairs,
    Quiet,
    Seed,
    Separator,
    Thousands,
    To,
    Verbose,
    check_destination,
    reading_options,
    record_keys,
)
from nsa_cli.cli.overview import Overview
from nsa_cli.cli.writing import Writer, choose_format, choose_instance
from nsa_cli.core.clock import began
from nsa_cli.core.errors import NsaError
from nsa_cli.core.kernel import compiled, is_compiling
from nsa_cli.core.limits import memory_limit
from nsa_cli.core.options import parse_bytes
from nsa_cli.inputs import Skipped, is_many, named, read_inputs
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.shared import expected_work
from nsa_cli.work.journal import Journal
from nsa_cli.work.sharing import Stopped

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Options that are settings as they are.
_SETTINGS = {f.name for f in fields(Settings)} - {"init", "bound", "started", "unit"}


def solve(
    files: option.Files,
    problem: Owner = None,
    steps: option.Steps = None,
    time_limit: option.TimeLimit = None,
    target: option.Target = None,
    gap: option.Gap = None,
    no_improvement: option.NoImprovement = None,
    no_bound: option.NoBound = False,
    seed: Seed = None,
    device: Device = "auto",
    method: option.Method = "auto",
    backend: option.Backend = "auto",
    threads: option.Threads = None,
    chains: option.Chains = None,
    policy: option.Policy = None,
    neighbourhood: Neighbourhood = None,
    candidates: Candidates = None,
    greedy: option.Greedy = False,
    t_start: option.TStart = None,
    t_end: option.TEnd = None,
    schedule: option.Schedule = "geometric",
    reheat: option.Reheat = 0,
    acceptance: option.Acceptance = "metropolis",
    init: option.Init = None,
    capacity: Capacity = None,
    open_: Open = False,
    from_: From = None,
    to: To = None,
    set_: Pairs = None,
    columns: Columns = None,
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    ignore: Ignore = None,
    max_memory: MaxMemory = None,
    instance: option.Instance = None,
    output: option.Output = None,
    fmt: option.Format = None,
    jobs: option.Jobs = None,
    again: option.Again = False,
    trace: option.Trace = None,
    plot: option.Plot = None,
    plot_run: option.PlotRun = None,
    log_format: option.LogFormat = "text",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Solve FILEs and print the best solutions found."""
    options, started = locals(), began()
    set_log_format(log_format)
    console = Console(quiet, verbose)
    check_destination(output, files)
    check_apart_from_instances(output, files)
    crew = Crew.of(jobs, files)
    limit = parse_bytes("max_memory", max_memory)
    with memory_limit(limit):
        keys = record_keys(set_, capacity, open_, from_, to)
        items, skipped = read_inputs(files, problem, keys, **reading_options(options))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    if not crew.leads:
        console = Console(quiet=True)
    elif len(items) == 1 and isinstance(items[0], Unread) and fmt != "jsonl":
        raise items[0].error
    fmt = choose_format(fmt, output, tasks, len(items))
    extras = Extras(trace, plot, plot_run)
    extras.check(tasks)
    with memory_limit(limit):
        first = first_solution(init, tasks, console.warn)
    settings = Settings(
        **{name: options[name] for name in _SETTINGS},
        init=first,
        bound=not no_bound,
        started=started,
    )
    if not crew.leads:
        return _take_part(crew, tasks, settings)
    _report_input(items, skipped, console)
    writer = Writer(items, output, fmt)
    if len(items) == 1 and (extras.wanted or not any(map(is_many, files))):
        observer = Observer(extras, console, tasks, settings)
        return _run_one(items, settings, console, writer, observer, output)
    place = journal_of(output, files, len(items)) if tasks else None
    journal = None if place is None else Journal(place, "solve", anew=again)
    with contextlib.nullcontext() if journal is None else journal:
        return _run_many(items, settings, console, writer, crew, journal)


def _take_part(crew: Crew, tasks: list[Task], settings: Settings) -> int:
    """Work for rank 0, which says and writes all there is to say and write; one instance it does alone."""
    with Signals() as signals:
        if len(tasks) > 1:
            crew.take_part(tasks, settings, lambda: signals.received != 0)
        return signals.exit_code


def _report_input(items: list[Task | Unread], skipped: list[Skipped], console: Console) -> None:
    """Print what was left out, errors of instances that could not be read, one a cause, and warnings."""
    for place, files in skipped:
        count = "1 file holds" if len(files) == 1 else f"{len(files)} files hold"
        console.tell(f"{place}: {count} no instance: {named(files)}")
    causes: dict[tuple[str, str], list[Unread]] = {}
    for item in items:
        if isinstance(item, Unread):
            error = item.error
            causes.setdefault((str(getattr(error, "source", "")), error.message), []).append(item)
        else:
            for remark in item.remarks():
                console.warn(f"{item.instance.name or item.file}: {remark}")
    for alike in causes.values():
        more = f" (and {len(alike) - 1} more like it)" if len(alike) > 1 else ""
        say(f"error: {describe(alike[0].error)}{more}")


def _run_one(
    items: list[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    observer: Observer,
    output: str | None,
) -> int:
    """Solve the only instance, showing how it goes."""
    tasks, told, late = [item for item in items if isinstance(item, Task)], "", _Late()
    announce_compiling(console)
    with Signals() as signals:
        from nsa_cli.anneal.stop import Interrupt
        from nsa_cli.solver.solve import solve_each

        stop = (Interrupt(lambda: signals.received != 0),)
        try:
            for i, result in solve_each(
                tasks, settings, stop=stop, on_progress=observer, looks=observer.looks
            ):
                observer.end()
                if isinstance(result, NsaError):
                    _say_error(tasks[i], result)
                else:
                    _note(console, result)
                if not writer.take(i, result):
                    break
                if not isinstance(result, NsaError):
                    told = f"objective {result.objective}, {result.status}: {output}"
                    observer.write(result)
                    late.note(result)
        finally:
            observer.end()
            writer.finish()
        if told and output not in (None, "-"):
            console.tell(told)
        late.warn(console)
        return signals.exit_code or writer.exit_code


def _run_many(
    items: list[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    crew: Crew,
    journal: Journal | None,
) -> int:
    """Solve several instances, showing how many are done, and sum up."""
    places = [i for i, item in enumerate(items) if isinstance(item, Task)]
    tasks = [item for item in items if isinstance(item, Task)]
    work, late, noted = [expected_work(task, settings) for task in tasks], _Late(), False
    deadline = None if settings.time_limit is None else settings.started + settings.time_limit
    overview = Overview(console, tasks, work, len(items) - len(tasks), settings.started, deadline)
    announce_compiling(console)

    def fault(error: NsaError) -> None:
        with overview.aside():
            say(f"error: {describe(error)}")
        writer.fail()

    with Signals() as signals:

        def stopped() -> bool:
            return signals.received != 0

        if journal is not None or crew.jobs > 1 or (crew.ranks is not None and len(tasks) > 1):
            solving = solve_shared(tasks, settings, crew, journal, stopped, console, fault)
        else:
            solving = _solve_all_at_once(tasks, settings, stopped)
        try:
            with overview, contextlib.closing(solving):
                for place, result, known in solving:
                    with overview.aside():
                        overview.add(place, result, known=known)
                        if isinstance(result, NsaError):
                            _say_error(tasks[place], result)
                        elif not noted:
                            noted = True
                            _note(console, result)
                        if not writer.take(places[place], result, known=known):
                            break
                        if not (known or isinstance(result, NsaError)):
                            late.note(result)
        finally:
            writer.finish()
            # Lines on stdout are there to be seen, unless they are many for a terminal.
            if writer.hides or stopped() or console.verbose or log_is_json() or sys.stderr.isatty():
                overview.summarise(interrupted=stopped(), resumable=journal is not None and stopped())
        late.warn(console)
        if journal is not None and journal.path.suffix == BESIDE and not stopped():
            journal.close(remove=True)
        return signals.exit_code or writer.exit_code


def _solve_all_at_once(
    tasks: list[Task], settings: Settings, stopped: Stopped
) -> Generator[Finished, None, None]:
    """Solve instances in this process, in batches as large as they can be."""
    from nsa_cli.anneal.stop import Interrupt
    from nsa_cli.solver.solve import solve_each

    for place, result in solve_each(tasks, settings, stop=(Interrupt(stopped),)):
        yield Finished(place, result)


class _Late:
    """Notes whether there was no time to compile, and says so."""

    def __init__(self) -> None:
        self._before, self._late = len(compiled), False

    def note(self, result: Result) -> None:
        has_compiled = len(compiled) > self._before or is_compiling()
        self._late = self._late or (result.found_by == "start" and has_compiled)

    def warn(self, console: Console) -> None:
        if self._late:
            console.warn(
                "there was no time to compile the kernels for this machine: the answer is a start, as good "
                "as can be without them; "
                "they are compiled in the background now, and the next run has them"
            )


def _say_error(task: Task, error: NsaError) -> None:
    say(f"error: {task.instance.name or task.file}: {describe(error)}")


def _note(console: Console, result: Result) -> None:
    console.note(
        f"seed {result.seed}, policy {result.policy}, start {result.start}, "
        f"{result.backend} on {result.device}, threads {result.threads}"
    )
    console.note(f"{result.steps} steps, {result.chains} chains, schedule {dict(result.schedule)}")
