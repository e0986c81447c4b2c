"""`nsa solve`: reads instances, solves them, writes results."""

from __future__ import annotations

from dataclasses import replace

from nsa_cli.api import Task, Unread, first_solution
from nsa_cli.cli import solve_options as option
from nsa_cli.cli.compiling import LateFunctions, announce_compiling
from nsa_cli.cli.console import Console, Signals, describe, say
from nsa_cli.cli.declared import expanded
from nsa_cli.cli.observer import Extras, Observer
from nsa_cli.cli.options import Cluster, Given, Jobs, Quiet, Verbose, check_destination
from nsa_cli.cli.remarks import note_choices, say_error, warn_infeasible, warn_late
from nsa_cli.cli.writing import Writer, choose_format, choose_instance, journal_of
from nsa_cli.core.clock import began
from nsa_cli.core.errors import NsaError
from nsa_cli.core.reading import Reading
from nsa_cli.inputs import Skipped, is_many, named, read_inputs
from nsa_cli.pool import Pool
from nsa_cli.solver.settings import Settings


@expanded
def solve(
    files: option.Files,
    given: Given,
    reading: Reading,
    settings: Settings,
    instance: option.Instance = None,
    output: option.Output = None,
    fmt: option.Format = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    again: option.Again = False,
    plot: option.Plot = None,
    curve: option.Curve = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Solve FILEs and print the best solutions found."""
    started, console = began(), Console(quiet, verbose)
    check_destination(output, files)
    pool = Pool.of(jobs, cluster)
    items, skipped = read_inputs(files, given.problem, given.keys(), **vars(reading))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    if len(items) == 1 and isinstance(items[0], Unread) and fmt != "jsonl":
        raise items[0].error
    fmt = choose_format(fmt, output, tasks, len(items))
    extras = Extras(plot, curve)
    extras.check(tasks, output)
    first = settings.init
    if isinstance(first, str):
        first = first_solution(first, tasks, console.warn)
    settings = replace(settings, init=first, started=started)
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
    tasks, told, late = [item for item in items if isinstance(item, Task)], "", LateFunctions(settings)
    announce_compiling(console)
    with Signals() as signals:
        from nsa_cli.solver.solve import solve_each

        observer.begin()
        try:
            for i, result in solve_each(
                tasks,
                settings,
                asked=lambda: signals.received != 0,
                on_progress=observer,
                looks=observer.looks,
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
                    late.note(tasks[i], result)
                    warn_late(console, result, settings)
        finally:
            observer.end()
            writer.finish()
        if told and output not in (None, "-"):
            console.tell(told)
        late.end(console)
        return signals.exit_code or writer.exit_code
