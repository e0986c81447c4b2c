"""`nsa solve`: reads instances, solves them, writes results."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from nsa_cli.api import Task, Unread, first_solution
from nsa_cli.cli.console import Console, describe, say
from nsa_cli.cli.options import Given
from nsa_cli.cli.run import Run
from nsa_cli.cli.writing import Outputs, check_destination, choose_instance
from nsa_cli.core.clock import began
from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import READING
from nsa_cli.core.record import Reading
from nsa_cli.inputs import Skipped, is_many, named, read_inputs
from nsa_cli.pool import Pool, check_alone
from nsa_cli.solver.settings import Settings


def solve(
    given: Given,
    reading: Reading,
    settings: Settings,
    pool: Pool,
    outputs: Outputs,
    console: Console,
    instance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Solve this one of several, by its name or its number from 1.",
            rich_help_panel=READING,
        ),
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]…",
            help="Files of instances, folders, patterns; - is stdin. None for a problem without data.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Solve FILEs and print the best solutions found.

    \b
    Examples:
      nsa solve cities.csv --time-limit 10
      nsa solve stops.csv --start Depot --format stops -o route.stops
      nsa solve items.csv --capacity 15 --plot packed.png
    """  # noqa: D301 (typer leaves the lines after a \b as they are)
    started = began()
    check_alone()
    files = files or ([given.problem] if given.problem else [])
    if not files:
        raise UsageError("expected a FILE, or several; - is standard input; see nsa solve --help")
    check_destination(outputs.output, files)
    items, skipped = read_inputs(files, given.problem, given.keys(), **vars(reading))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    if len(items) == 1 and isinstance(items[0], Unread) and outputs.format_ != "jsonl":
        raise items[0].error
    outputs = outputs.chosen(tasks, len(items))
    first = settings.init
    if isinstance(first, str):
        first = first_solution(first, tasks, console.warn)
    settings = replace(settings, init=first, started=started)
    _report_input(items, skipped, console)
    many = len(items) > 1 or (any(map(is_many, files)) and not outputs.draws)
    place = outputs.journal(len(items)) if many else None
    return Run(items, settings, console, outputs, pool, place, many).solve()


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
