"""`nsa benchmark`: the paper's protocol beside the paper's figures; with budgets, quality against time."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsa_cli.cli.console import Console, Signals, Status, emit, say
from nsa_cli.cli.options import Candidates, Device, Quiet, problem_names
from nsa_cli.core.errors import UsageError
from nsa_cli.core.options import parse_names, parse_numbers
from nsa_cli.problems import find_problem

if TYPE_CHECKING:
    from nsa_cli.bench.plan import Benchmark, Plan
    from nsa_cli.bench.runner import Measured


def benchmark(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="PROBLEM|FILE…",
            help="Name of a problem, or FILE.py:CLASS; with --budget also files of instances, and folders.",
            autocompletion=problem_names,
        ),
    ],
    sizes: Annotated[str | None, typer.Option("--sizes", help="Sizes of instances: 50,100.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget", metavar="TIMES", help="Curves instead: what is found in 5ms,20ms,1s an instance."
        ),
    ] = None,
    steps: Annotated[
        str, typer.Option("--steps", help="Multiples of N (of N^2 for tours): 1,2,5,10. Greedy rows need 1.")
    ] = "10",
    seeds: Annotated[str, typer.Option("--seeds", help="1..5, or 1,2,3.")] = "1",
    count: Annotated[int, typer.Option("--count", help="Instances of each size, at most.")] = 100,
    policies: Annotated[
        str | None, typer.Option("--policies", help="Names or files; none; default: all that are shipped.")
    ] = None,
    neighbourhood: Annotated[
        str | None,
        typer.Option("--neighbourhood", help="Uniform proposals in this one, too: nearest:10 for tours."),
    ] = None,
    candidates: Candidates = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Solvers of others, or all that are installed.")
    ] = None,
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="SECONDS", help="For each instance, of the solvers of others."),
    ] = 1.0,
    references: Annotated[
        str | None,
        typer.Option(
            "--references", metavar="DIR", help="Reference objectives for the gaps; a file for files."
        ),
    ] = None,
    device: Device = "auto",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where runs.csv, summary.json and curves.png go."),
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Measure annealing, heuristics and solvers of others on the paper's test sets of PROBLEM."""
    chosen_seeds = parse_numbers("seeds", seeds, minimum=0)
    if count < 1:
        raise UsageError(f"--count: expected at least 1, got {count}")
    if not 0 < time_limit < float("inf"):
        raise UsageError(f"--time-limit: expected seconds above 0, got {time_limit}")
    chosen_policies = None if policies is None else () if policies == "none" else parse_names(policies)
    if budget is not None:
        from nsa_cli.cli.curves import Asked, run_curves

        asked = Asked(what, sizes, count, budget, chosen_seeds, chosen_policies, parse_names(against or ""))
        return run_curves(asked, references, out, Console(quiet))
    if len(what) > 1:
        raise UsageError("several files: give --budget; the paper's protocol is for a PROBLEM's own sets")
    problem = what[0]
    found = find_problem(problem)
    if sizes is None:
        raise UsageError("--sizes: expected sizes of instances, as 50,100; it was not given")
    multiples, numbers = parse_numbers("steps", steps), parse_numbers("sizes", sizes)
    from nsa_cli.bench.choose import Wanted
    from nsa_cli.bench.plan import Plan
    from nsa_cli.solver.choose import choose_device

    moves = found.requested_neighbourhood(neighbourhood, candidates)
    wanted = Wanted(
        steps=multiples,
        policies=chosen_policies,
        against=parse_names(against or ""),
        seconds=time_limit,
        device=choose_device(device),
        neighbourhood=None if moves is None else moves.name,
    )
    plan = Plan(
        problem=found,
        sizes=numbers,
        seeds=chosen_seeds,
        count=count,
        wanted=wanted,
        references=None if references is None else Path(references),
    )
    return _run(plan, _command(plan, problem), out, Console(quiet))


def _run(plan: Plan, command: str, out: str | None, console: Console) -> int:
    """Run, write what is there after each run, and print the table, whole or not."""
    from nsa_cli.bench.files import circumstances, make_directory, write_files
    from nsa_cli.bench.solvers import Watch
    from nsa_cli.bench.table import format_rows

    with Signals() as signals:
        ready = plan.prepare()
        directory = None if out is None else make_directory(out)
        about = {"command": command, "caption": ready.caption()}
        about |= circumstances(_peers(ready)) | {"device": plan.wanted.device}
        status, measured = Status(console), list["Measured"]()
        watch = Watch(lambda: signals.received != 0, status.update)
        try:
            for run in ready.runs(watch):
                measured.append(run)
                if directory is not None:
                    write_files(directory, measured, ready.rows(measured), about)
        finally:
            status.clear()
        if measured:
            emit(format_rows(ready.rows(measured), ready.caption()), None)
        if signals.received:
            say(f"interrupted: {len(measured)} runs are whole, of what was asked for")
        return signals.exit_code


def _peers(ready: Benchmark) -> list[str]:
    """Packages of the solvers of others that run, for their versions."""
    peers = ready.contribution.peers if ready.contribution else {}
    names = {solver.name for solvers in ready.solvers.values() for solver in solvers}
    return sorted({peer.package for name, peer in peers.items() if name in names and peer.program is None})


def _command(plan: Plan, problem: str) -> str:
    """Write the command that makes the same figures again."""
    wanted = plan.wanted
    options: dict[str, object] = {
        "--sizes": ",".join(map(str, plan.sizes)),
        "--steps": ",".join(map(str, wanted.steps)),
        "--seeds": ",".join(map(str, plan.seeds)),
        "--count": plan.count,
        "--policies": None if wanted.policies is None else ",".join(wanted.policies) or "none",
        "--neighbourhood": wanted.neighbourhood,
        "--against": ",".join(wanted.against) or None,
        "--time-limit": f"{wanted.seconds:g}" if wanted.against else None,
        "--references": plan.references,
        "--device": wanted.device,
    }
    given = [str(x) for pair in options.items() if pair[1] is not None for x in pair]
    return shlex.join(["nsa", "benchmark", problem, *given])
