"""`nsa benchmark`: the paper's protocol beside the paper's figures; with `--budget`, quality against time."""

from __future__ import annotations

import contextlib
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsa_cli.cli.command import completion
from nsa_cli.cli.console import Console, Signals, emit, say
from nsa_cli.cli.options import Cluster, Device, Jobs, Quiet
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import how_to_install, is_installed
from nsa_cli.core.options import parse_budgets, parse_names, parse_numbers, parse_seconds
from nsa_cli.io.journal import Journal
from nsa_cli.pool import HERE, Pool
from nsa_cli.problems import builtin_names
from nsa_cli.report.progress import Live, ToldLine

if TYPE_CHECKING:
    from nsa_cli.bench.benchmark import Benchmark
    from nsa_cli.bench.choose import Request
    from nsa_cli.bench.runs import MeasuredRun

#: Seconds between two writings of all files while the benchmark runs.
_PAUSE = 5.0

#: Name of the journal in a folder of results.
_JOURNAL = "journal.jsonl"


def benchmark(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PROBLEM|FILE…",
            help="Name of a problem, or FILE.py:CLASS; with --budget also files of instances, and folders.",
            autocompletion=completion(builtin_names),
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
    again: Annotated[
        bool, typer.Option("--again", help="Measure anew what an earlier run has left in DIR.")
    ] = False,
    jobs: Jobs = None,
    cluster: Cluster = None,
    quiet: Quiet = False,
) -> int:
    """Measure solvers on test sets or files. Solve as it is, annealing, heuristics, and peers if named."""
    pool = Pool(jobs or 1, cluster)  # type: ignore[arg-type]
    if count < 1:
        raise UsageError(f"expected at least 1, got {count}", option="count")
    seconds = parse_seconds("time_limit", time_limit)
    if not seconds:
        raise UsageError(f"expected seconds above 0, got {time_limit}", option="time_limit")
    if again and out is None:
        raise UsageError("nothing is kept without a folder", option="again", use={"out": "DIR"})
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
        threads=pool.threads,
        neighbourhood=neighbourhood,
    )
    return _run(request, out, Console(quiet), pool, again=again)


def _run(request: Request, out: str | None, console: Console, pool: Pool, *, again: bool) -> int:
    """Run, write the files now and then and at the end, and print the table, complete or not."""
    from nsa_cli.bench import files
    from nsa_cli.bench.benchmark import prepare
    from nsa_cli.bench.solvers import Monitor

    with Signals() as signals:
        ready, told = prepare(request), ToldLine("measuring")
        monitor = Monitor(lambda: signals.received != 0, told.tell)
        directory = None if out is None else files.make_directory(out)
        if directory is not None and request.budget and not is_installed("matplotlib"):
            console.warn(f"no picture: it needs {how_to_install('matplotlib')}")
        about = files.circumstances(ready.packages()) | {"device": request.device}
        results = _Results(ready, directory, about)
        journal = None if directory is None else Journal(directory / _JOURNAL, "benchmark", anew=again)
        with contextlib.nullcontext() if journal is None else journal:
            if journal is not None and (known := ready.known(journal)):
                rest = f"{ready.size - known} are measured" if known < ready.size else "nothing is measured"
                console.tell(f"{known} of {ready.size} runs are in {journal.path}; {rest}")
            try:
                with Live(told.line, shown=not console.quiet):
                    for place, some in ready.runs(monitor, journal, pool):
                        results.add(place, some)
                        if pool != HERE:
                            done = len(results.runs)
                            told.tell(f"{done} of {ready.size} runs", done / ready.size)
            finally:
                results.write(last=True)
        results.show()
        if results.complete:
            return signals.exit_code
        rest = "; the same command measures the rest" if journal is not None else ""
        say(f"interrupted: {len(results.runs)} of {ready.size} runs are complete{rest}")
        return signals.exit_code or 1


@dataclass
class _Results:
    """Runs that are complete, the files that have them, and the table.

    Attributes
    ----------
    ready : Benchmark
    directory : Path or None
        Of the files; none without.
    about : dict
        Date, versions and machine.
    """

    ready: Benchmark
    directory: Path | None
    about: dict[str, Any]
    _found: dict[int, list[MeasuredRun]] = field(default_factory=dict)
    _written: float = float("-inf")

    @property
    def runs(self) -> list[MeasuredRun]:
        """All runs, in order."""
        return [run for place in sorted(self._found) for run in self._found[place]]

    @property
    def complete(self) -> bool:
        """Whether none is missing."""
        return len(self._found) == len(self.ready.units)

    def add(self, place: int, runs: list[MeasuredRun]) -> None:
        """Take runs, and write the files now and then."""
        self._found[place] = runs
        if time.monotonic() > self._written + _PAUSE:
            self.write()
            self._written = time.monotonic()

    def write(self, *, last: bool = False) -> None:
        """Write the files, at the end with the picture."""
        from nsa_cli.bench import files

        if self._found and self.directory is not None:
            ready, runs = self.ready, self.runs
            head = {"command": _command(ready.request), "caption": ready.caption(runs)} | self.about
            picture = last and ready.request.budget is not None and is_installed("matplotlib")
            files.write_files(self.directory, runs, ready.rows(runs), head, picture=picture)

    def show(self) -> None:
        """Print the table, if there is anything in it."""
        from nsa_cli.bench.tables import format_rows

        if self._found:
            ready, runs = self.ready, self.runs
            by_seconds = ready.request.budget is not None
            emit(format_rows(ready.rows(runs), ready.caption(runs), by_seconds=by_seconds), None)


def _command(request: Request) -> str:
    """Write the command that repeats the benchmark; by seconds, as far as the clock allows."""
    unused = ("what", "threads", *(("steps", "time_limit", "device") if request.budget else ()))
    words = ["nsa", "benchmark", *request.what]
    for name, value in vars(request).items():
        if name not in unused and value is not None:
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            words += ["--" + name.replace("_", "-"), text or "none"]
    return shlex.join(words)


def _device(name: str, budget: str | None) -> str:
    """Choose the device: by seconds, solvers take turns on a CPU."""
    from nsa_cli.core.options import parse_device
    from nsa_cli.solver.search import choose_device

    if budget is not None and parse_device("device", name) not in ("auto", "cpu"):
        why = f"by seconds all solvers take turns on a CPU, got {name}"
        raise UsageError(why, option="device", use={"device": "cpu"})
    return choose_device(name)
