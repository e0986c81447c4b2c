"""`nsa benchmark`: the paper's protocol beside the paper's figures; with `--budget`, quality against time."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from nsa_cli.bench.request import Request
from nsa_cli.cli.command import completion
from nsa_cli.cli.console import Console, Signals, emit, say
from nsa_cli.io.journal import Journal
from nsa_cli.pool import Pool, check_alone
from nsa_cli.problems import builtin_names
from nsa_cli.report.progress import Live

_What = Annotated[
    list[str],
    typer.Argument(
        metavar="PROBLEM|FILE…",
        help="Name of a problem, or FILE.py:CLASS; with --budget also files and folders.",
        autocompletion=completion(builtin_names),
    ),
]


def benchmark(what: _What, request: Request, pool: Pool, console: Console) -> int:
    """Measure solvers on test sets or files. Solve as it is, annealing, heuristics, and peers if named."""
    check_alone()
    from nsa_cli.bench.benchmark import prepare

    with Signals() as signals, contextlib.ExitStack() as stack:
        ready = prepare(replace(request, what=tuple(what), threads=pool.threads))
        folder, journal, size = None, None, ready.size()
        if request.out is not None:
            folder = Path(request.out)
            journal = Journal(folder / "journal.jsonl", "benchmark", anew=request.again)
            stack.enter_context(journal)
            if known := ready.size(journal):
                rest = f"{size - known} are measured" if known < size else "nothing is measured"
                console.tell(f"{known} of {size} runs are in {journal.path}; {rest}")
        try:
            with Live("measuring", shown=not console.quiet) as live:
                for _ in ready.run(lambda: signals.received != 0, journal, pool):
                    live.tell(f"{len(ready.runs)} of {size} runs", len(ready.runs) / size)
        finally:
            if folder is not None:
                ready.write(folder)
        if table := ready.table():
            emit(table, None)
        if len(ready.runs) == size:
            return signals.exit_code
        rest = "; the same command measures the rest" if journal is not None else ""
        say(f"interrupted: {len(ready.runs)} of {size} runs are complete{rest}")
        return signals.exit_code or 1
