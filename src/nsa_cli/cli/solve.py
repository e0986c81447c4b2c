"""`nsa solve`: reads instances, solves them, writes results."""

from __future__ import annotations

from dataclasses import fields

from nsa_cli.api import Task, Unread, first_solution
from nsa_cli.cli import solve_options as option
from nsa_cli.cli.console import (
    Console,
    Signals,
    announce_compiling,
    describe,
    say,
    set_log_format,
)
from nsa_cli.cli.observer import Extras, Observer
from nsa_cli.cli.options import (
    Candidates,
    Capacity,
    Cluster,
    Columns,
    Decimal,
    Device,
    From,
    Ignore,
    Jobs,
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
from nsa_cli.cli.remarks import LateKernels, note_choices, say_error, warn_infeasible, warn_late
from nsa_cli.cli.writing import Writer, choose_format, choose_instance, journal_of
from nsa_cli.core.clock import began
from nsa_cli.core.errors import NsaError
from nsa_cli.core.limits import memory_limit
from nsa_cli.core.options import parse_bytes
from nsa_cli.inputs import Skipped, is_many, named, read_inputs
from nsa_cli.pool import Pool
from nsa_cli.solver.settings import Settings

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
    jobs: Jobs = None,
    cluster: Cluster = None,
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
    pool = Pool.of(jobs, cluster)
    limit = parse_bytes("max_memory", max_memory)
    with memory_limit(limit):
        keys = record_keys(set_, capacity, open_, from_, to)
        items, skipped = read_inputs(files, problem, keys, **reading_options(options))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    if len(items) == 1 and isinstance(items[0], Unread) and fmt != "jsonl":
        raise items[0].error
    fmt = choose_format(fmt, output, tasks, len(items))
    extras = Extras(trace, plot, plot_run)
    extras.check(tasks, output)
    with memory_limit(limit):
        first = first_solution(init, tasks, console.warn)
    settings = Settings(
        **{name: options[name] for name in _SETTINGS},
        init=first,
        bound=not no_bound,
        started=started,
    )
    _report_input(items, skipped, console)
    writer = Writer(items, output, fmt)
    if len(items) == 1 and (extras.wanted or not any(map(is_many, files))):
        observer = Observer(extras, console, tasks, settings)
        return _run_one(items, settings, console, writer, observer, output)
    from nsa_cli.cli.many import run_many

    place = journal_of(output, files, len(items))
    return run_many(items, settings, console, writer, pool, place, again=again)


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
    tasks, told, late = [item for item in items if isinstance(item, Task)], "", LateKernels()
    announce_compiling(console)
    with Signals() as signals:
        from nsa_cli.anneal.stop import Interrupt
        from nsa_cli.solver.solve import solve_each

        stop = (Interrupt(lambda: signals.received != 0),)
        observer.begin()
        try:
            for i, result in solve_each(
                tasks, settings, stop=stop, on_progress=observer, looks=observer.looks
            ):
                observer.end()
                if isinstance(result, NsaError):
                    say_error(tasks[i], result)
                else:
                    note_choices(console, result)
                if not writer.take(i, result):
                    break
                if not isinstance(result, NsaError):
                    warn_infeasible(console, tasks[i], result)
                    told = f"objective {result.objective}, {result.status}: {output}"
                    observer.write(result)
                    late.note(result)
                    warn_late(console, result, settings)
        finally:
            observer.end()
            writer.finish()
        if told and output not in (None, "-"):
            console.tell(told)
        late.warn(console)
        return signals.exit_code or writer.exit_code
