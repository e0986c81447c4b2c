"""`nsa benchmark`: the paper's protocol beside the paper's figures; with `--budget`, quality against time."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Annotated

import typer

from nsa_cli.bench.request import Request
from nsa_cli.cli.console import Console, Signals, emit, say
from nsa_cli.cli.declared import expanded
from nsa_cli.cli.help import completion
from nsa_cli.cli.options import Cluster, Jobs, Quiet, problem_names
from nsa_cli.core.extras import how_to_install, is_installed
from nsa_cli.io.journal import Journal
from nsa_cli.pool import HERE, Pool
from nsa_cli.report.progress import Live

_What = Annotated[
    list[str],
    typer.Argument(
        metavar="PROBLEM|FILE…",
        help="Name of a problem, or FILE.py:CLASS; with --budget also files of instances, and folders.",
        autocompletion=completion(problem_names),
    ),
]


@expanded
def benchmark(
    what: _What, request: Request, jobs: Jobs = None, cluster: Cluster = None, quiet: Quiet = False
) -> int:
    """Measure solvers on test sets or files. Solve as it is, annealing, heuristics, and peers if named."""
    pool, console = Pool.of(jobs, cluster), Console(quiet)
    from nsa_cli.bench.benchmark import prepare
    from nsa_cli.bench.results import Results
    from nsa_cli.bench.solvers import Monitor

    with Signals() as signals, contextlib.ExitStack() as stack:
        ready = prepare(replace(request, what=tuple(what), threads=pool.threads))
        results, journal, size = Results(ready), None, ready.size()
        if results.folder is not None:
            if request.budget and not is_installed("matplotlib"):
                console.warn(f"no picture: it needs {how_to_install('matplotlib')}")
            path = results.folder / "journal.jsonl"
            journal = stack.enter_context(Journal(path, "benchmark", anew=request.again))
            if known := ready.size(journal):
                rest = f"{size - known} are measured" if known < size else "nothing is measured"
                console.tell(f"{known} of {size} runs are in {path}; {rest}")
        try:
            with Live("measuring", shown=not quiet) as live:
                for place, runs in ready.runs(
                    Monitor(lambda: signals.received != 0, live.tell), journal, pool
                ):
                    results.add(place, runs)
                    if pool != HERE:
                        done = len(results.runs)
                        live.tell(f"{done} of {size} runs", done / size)
        finally:
            results.write(last=True)
        if table := results.table():
            emit(table, None)
        if results.complete:
            return signals.exit_code
        rest = "; the same command measures the rest" if journal is not None else ""
        say(f"interrupted: {len(results.runs)} of {size} runs are complete{rest}")
        return signals.exit_code or 1
