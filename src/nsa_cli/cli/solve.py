"""`nsa solve`: reads instances, solves them, writes results."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import TYPE_CHECKING

from nsa_cli.api import Task, Unread, first_solution, read_each
from nsa_cli.cli import solve_options as option
from nsa_cli.cli.console import Console, Signals, announce_compiling, describe, say, set_log_format
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
from nsa_cli.cli.writing import Writer, choose_format, choose_instance
from nsa_cli.core.clock import began
from nsa_cli.core.errors import NsaError
from nsa_cli.core.kernel import compiled, is_compiling
from nsa_cli.core.limits import memory_limit
from nsa_cli.core.options import parse_bytes
from nsa_cli.solver.settings import Settings

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Seconds after the limit from which on an answer is late.
_LATE = 1.0

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
    limit = parse_bytes("max_memory", max_memory)
    with memory_limit(limit):
        keys = record_keys(set_, capacity, open_, from_, to)
        items = read_each(files, problem, keys, **reading_options(options))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    if len(items) == 1 and isinstance(items[0], Unread) and fmt != "jsonl":
        raise items[0].error
    fmt = choose_format(fmt, output, tasks, len(items))
    extras = Extras(trace, plot, plot_run)
    extras.check(tasks)
    _report_input(items, console)
    with memory_limit(limit):
        first = first_solution(init, tasks, console.warn)
    settings = Settings(
        **{name: options[name] for name in _SETTINGS},
        init=first,
        bound=not no_bound,
        started=started,
    )
    observer = Observer(extras, console, tasks, settings)
    return _run(items, settings, console, Writer(items, output, fmt), observer, output)


def _report_input(items: list[Task | Unread], console: Console) -> None:
    """Print errors of instances that could not be read, one a cause, and warnings about the others."""
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


def _run(
    items: list[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    observer: Observer,
    output: str | None,
) -> int:
    places = [i for i, item in enumerate(items) if isinstance(item, Task)]
    tasks = [item for item in items if isinstance(item, Task)]
    compiled_late, told, before = False, "", len(compiled)
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
                    say(f"error: {tasks[i].instance.name or tasks[i].file}: {describe(result)}")
                elif i == 0:
                    _note(console, result)
                if not writer.take(places[i], result):
                    break
                if not isinstance(result, NsaError):
                    told = f"objective {result.objective}, {result.status}: {output}"
                    observer.write(result)
                    has_compiled = len(compiled) > before or is_compiling()
                    compiled_late = compiled_late or (result.found_by == "start" and has_compiled)
                    _say_late(console, result, settings)
        finally:
            observer.end()
            writer.finish()
        if told and len(items) == 1 and output not in (None, "-"):
            console.tell(told)
        if compiled_late:
            console.warn(
                "there was no time to compile the kernels for this machine: the answer is a start, as good "
                "as can be without them; "
                "they are compiled in the background now, and the next run has them"
            )
        return signals.exit_code or writer.exit_code


def _say_late(console: Console, result: Result, settings: Settings) -> None:
    """Say why an answer comes long after a limit that was too short for anything but a first solution."""
    limit = settings.time_limit
    if limit is None or result.stop_reason != "time_limit" or result.found_by != "start":
        return
    if (late := time.monotonic() - settings.started - limit) > _LATE:
        console.warn(
            f"the limit of {limit:g} s was too short: reading took {result.seconds['load']:.1f} s and a "
            f"first solution {result.seconds['setup']:.1f} s more; it is the answer, {late:.1f} s late"
        )


def _note(console: Console, result: Result) -> None:
    console.note(
        f"seed {result.seed}, policy {result.policy}, start {result.start}, "
        f"{result.backend} on {result.device}, threads {result.threads}"
    )
    console.note(f"{result.steps} steps, {result.chains} chains, schedule {dict(result.schedule)}")
