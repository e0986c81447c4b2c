"""`nsa benchmark`: the paper's protocol beside the paper's figures; with `--budget`, quality against time."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsa_cli.cli.console import Console, Signals, Status, emit, say
from nsa_cli.cli.help import completion
from nsa_cli.cli.options import Candidates, Device, MaxMemory, Quiet, problem_names
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import is_installed
from nsa_cli.core.limits import memory_limit
from nsa_cli.core.options import parse_budgets, parse_bytes, parse_names, parse_numbers, parse_seconds

if TYPE_CHECKING:
    from nsa_cli.bench.choose import Request
    from nsa_cli.bench.runs import MeasuredRun

#: Seconds between two writings of all files while the benchmark runs.
_PAUSE = 5.0


def benchmark(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PROBLEM|FILE…",
            help="Name of a problem, or FILE.py:CLASS; with --budget also files of instances, and folders.",
            autocompletion=completion(problem_names),
        ),
    ],
    sizes: Annotated[
        str | None, typer.Option("--sizes", metavar="SIZES", help="Sizes of instances: 50,100.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="TIMES", help="Measure by time instead of steps: 5ms,20ms,1s an instance."
        ),
    ] = None,
    steps: Annotated[
        str,
        typer.Option(
            "--steps",
            metavar="FACTORS",
            help="Multiples of N (of N^2 for tours): 1,2,5,10. Greedy rows need 1.",
        ),
    ] = "10",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="SEEDS", help="Runs of each instance: 1..5, or 1,2,3.")
    ] = "1",
    count: Annotated[
        int, typer.Option("--count", metavar="N", help="Instances of each size, at most.")
    ] = 100,
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies", metavar="NAMES", help="Names or files, or none. Default: all shipped ones."
        ),
    ] = None,
    neighbourhood: Annotated[
        str | None,
        typer.Option(
            "--neighbourhood",
            metavar="NAME",
            help="Uniform proposals in this one, too: nearest:10 for tours.",
        ),
    ] = None,
    candidates: Candidates = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="NAMES", help="Peers, other projects' solvers, by name; or all."),
    ] = None,
    time_limit: Annotated[
        str,
        typer.Option("--time-limit", metavar="TIME", help="Time of a peer for each instance: 10, 500ms, 2m."),
    ] = "1",
    references: Annotated[
        str | None,
        typer.Option(
            "--references",
            metavar="DIR",
            help="Folder of reference objectives; for files, a list NAME : OBJECTIVE.",
        ),
    ] = None,
    device: Device = "auto",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where runs.csv, summary.json and curves.png go."),
    ] = None,
    max_memory: MaxMemory = None,
    quiet: Quiet = False,
) -> int:
    """Measure solvers on test sets or files. Annealing, heuristics, and peers if they are named."""
    if count < 1:
        raise UsageError(f"expected at least 1, got {count}", option="count")
    seconds = parse_seconds("time_limit", time_limit)
    if not seconds:
        raise UsageError(f"expected seconds above 0, got {time_limit}", option="time_limit")
    from nsa_cli.bench.choose import Request

    request = Request(
        what=tuple(what),
        sizes=None if sizes is None else parse_numbers("sizes", sizes),
        seeds=parse_numbers("seeds", seeds, minimum=0),
        count=count,
        steps=parse_numbers("steps", steps),
        budget=None if budget is None else parse_budgets("budget", budget),
        policies=None if policies is None else () if policies == "none" else parse_names(policies),
        against=parse_names(against or "") or None,
        time_limit=seconds,
        references=None if references is None else Path(references),
        device=_device(device, budget),
        neighbourhood=neighbourhood,
        candidates=candidates,
    )
    with memory_limit(parse_bytes("max_memory", max_memory)):
        return _run(request, out, Console(quiet))


def _run(request: Request, out: str | None, console: Console) -> int:
    """Run, write the files now and then and at the end, and print the table, complete or not."""
    from nsa_cli.bench import files
    from nsa_cli.bench.benchmark import prepare
    from nsa_cli.bench.solvers import Monitor
    from nsa_cli.bench.tables import format_rows

    timed = request.budget is not None
    with Signals() as signals:
        ready = prepare(request)
        directory = None if out is None else files.make_directory(out)
        if directory is not None and timed and not is_installed("matplotlib"):
            console.warn("no picture: it needs matplotlib: pip install 'nsa-cli[plot]'")
        about = files.circumstances(ready.packages()) | {"device": request.device}
        status, runs, written = Status(console), list["MeasuredRun"](), float("-inf")

        def write(*, picture: bool) -> None:
            if runs and directory is not None:
                head = {"command": _command(request), "caption": ready.caption(runs)} | about
                files.write_files(directory, runs, ready.rows(runs), head, picture=picture)

        try:
            for some in ready.runs(Monitor(lambda: signals.received != 0, status.update)):
                runs += some
                if time.monotonic() > written + _PAUSE:
                    write(picture=False)
                    written = time.monotonic()
        finally:
            status.clear()
            write(picture=timed and is_installed("matplotlib"))
        if runs:
            emit(format_rows(ready.rows(runs), ready.caption(runs), by_seconds=timed), None)
        if signals.received:
            say(f"interrupted: {len(runs)} runs are complete, of what was asked for")
        return signals.exit_code


def _command(request: Request) -> str:
    """Write the command that repeats the benchmark; by seconds, as far as the clock allows."""
    unused = ("what", "steps", "time_limit", "device") if request.budget else ("what",)
    words = ["nsa", "benchmark", *request.what]
    for name, value in vars(request).items():
        if name not in unused and value is not None:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += ["--" + name.replace("_", "-"), text or "none"]
    return shlex.join(words)


def _device(name: str, budget: str | None) -> str:
    """Choose the device: by seconds, solvers take turns on a CPU."""
    from nsa_cli.core.options import parse_device
    from nsa_cli.solver.choose import choose_device

    if budget is not None and parse_device("device", name) not in ("auto", "cpu"):
        why = f"by seconds all solvers take turns on a CPU, got {name}"
        raise UsageError(why, option="device", use={"device": "cpu"})
    return choose_device(name)
