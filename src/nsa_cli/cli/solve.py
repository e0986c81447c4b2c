"""`nsa solve`: from a file to an exactly checked answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsa_cli.api import Settings, Task, Unread, read_each
from nsa_cli.cli.compile import Compilation
from nsa_cli.cli.console import Console, Signals, say, set_log_format
from nsa_cli.cli.options import Quiet, Seed, Verbose, Walk, check_destination, parse_settings
from nsa_cli.cli.watch import Extras, Watch
from nsa_cli.cli.writing import Writer, choose_format, choose_instance
from nsa_cli.core.clock import began
from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.core.kernel import on_first_compilation

if TYPE_CHECKING:
    from nsa_cli.core.result import Result


def solve(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Instances; - is stdin. Or a problem's name with --set."),
    ],
    problem: Annotated[
        str | None,
        typer.Option(
            "-p", "--problem", help="Problem, or FILE.py:CLASS; recognised from the file by default."
        ),
    ] = None,
    steps: Annotated[
        str | None, typer.Option("--steps", help="Steps of each chain: 20000, 10N, 10N2 (N: the size).")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop after this wall-clock time.")
    ] = None,
    target: Annotated[
        float | None, typer.Option("--target", metavar="COST", help="Stop at this objective or a better one.")
    ] = None,
    gap: Annotated[
        str | None, typer.Option("--gap", help="Stop this near the bound: 1% or 0.01; 0 is proved optimal.")
    ] = None,
    no_improvement: Annotated[
        str | None,
        typer.Option(
            "--no-improvement", metavar="STEPS|SECONDS", help="Stop after 5000, 10N or 2s without a better."
        ),
    ] = None,
    no_bound: Annotated[
        bool, typer.Option("--no-bound", help="Anneal only: no bound, no proof, no exact method beside it.")
    ] = False,
    seed: Seed = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto; anneal (a policy proposes moves); large-step (kicks with their repair). "
            "auto is large-step where it can be, unless a policy or steps are asked for.",
        ),
    ] = "auto",
    backend: Annotated[
        str, typer.Option("--backend", help="auto, numba (fused kernels on a CPU) or torch (the reference).")
    ] = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads; changes no answer.")] = None,
    chains: Annotated[
        str | None,
        typer.Option(
            "--chains",
            metavar="N|auto",
            help="Independent chains; the best answer counts. auto: by size and time.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="uniform, a shipped policy's name, or a file; the best by default."),
    ] = None,
    walk: Walk = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Always take the policy's likeliest move.")
    ] = False,
    t_start: Annotated[
        str | None,
        typer.Option(
            "--t-start", metavar="T", help="First temperature, in normalised units; auto samples moves."
        ),
    ] = None,
    t_end: Annotated[
        str | None, typer.Option("--t-end", metavar="T", help="Last temperature, likewise.")
    ] = None,
    schedule: Annotated[
        str, typer.Option("--schedule", help="geometric, linear, constant or adaptive.")
    ] = "geometric",
    reheat: Annotated[
        int, typer.Option("--reheat", metavar="N", help="Begin at the first temperature again N times.")
    ] = 0,
    acceptance: Annotated[
        str, typer.Option("--acceptance", help="metropolis (the paper's) or hastings.")
    ] = "metropolis",
    init: Annotated[
        str | None, typer.Option("--init", help="Named start (greedy, random, paper, …) or a solution file.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option("--capacity", help="Capacity, where the file has none.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another key of the instance; may be repeated."),
    ] = None,
    instance: Annotated[
        str | None,
        typer.Option("--instance", metavar="NAME", help="One of several, by its name or number from 1."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE|DIR/", help="Where to write; - is stdout; DIR/: a file each."
        ),
    ] = None,
    fmt: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="json, jsonl, table, csv, or tour for tours. Default: table on a terminal, else json.",
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE.csv", help="Write the annealing curve.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Draw the solution: .png, .svg or .pdf.")
    ] = None,
    plot_run: Annotated[
        str | None, typer.Option("--plot-run", metavar="FILE", help="Draw the annealing curve.")
    ] = None,
    log_format: Annotated[str, typer.Option("--log-format", help="stderr: text or json lines.")] = "text",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Solve the instances of all FILEs and print the best solutions found."""
    from nsa_cli.anneal.schedule import parse_count

    started = began()
    set_log_format(log_format)
    console = Console(quiet, verbose)
    check_destination(output, files)
    items = read_each(files, problem, parse_settings(set_ or [], capacity))
    if instance is not None:
        items = [choose_instance(items, instance, ", ".join(files[:3]))]
    tasks = [item for item in items if isinstance(item, Task)]
    _check_settings(tasks, set_ or [], capacity)
    failed = [item for item in items if isinstance(item, Unread)]
    if failed and len(items) == 1 and fmt != "jsonl":
        raise failed[0].error
    fmt = choose_format(fmt, output, tasks, len(items))
    for item in failed:
        say(f"error: {item.error}")
    extras = Extras(trace, plot, plot_run)
    extras.check(tasks)
    for task in tasks:
        for remark in task.instance.remarks():
            console.warn(f"{task.instance.name or task.file}: {remark}")
    settings = Settings(
        steps=steps,
        seed=seed,
        device=device,
        method=method,
        backend=backend,
        threads=threads,
        chains=parse_count("--chains", chains),
        policy=policy,
        walk=walk,
        greedy=greedy,
        t_start=t_start,
        t_end=t_end,
        schedule=schedule,
        reheat=reheat,
        acceptance=acceptance,
        init=_start(init, tasks),
        time_limit=time_limit,
        target=target,
        gap=gap,
        no_improvement=no_improvement,
        bound=not no_bound,
        started=started,
    )
    watch = Watch(extras, console, tasks, settings)
    return _run(items, settings, console, Writer(items, output, fmt), watch)


def _run(
    items: list[Task | Unread],
    settings: Settings,
    console: Console,
    writer: Writer,
    watch: Watch,
) -> int:
    places = [i for i, item in enumerate(items) if isinstance(item, Task)]
    tasks = [item for item in items if isinstance(item, Task)]
    compilation = Compilation(console)
    with Signals() as signals, on_first_compilation(compilation.begins):
        from nsa_cli.anneal.stop import Interrupt
        from nsa_cli.run import solve_each

        stop = (Interrupt(lambda: signals.received != 0),)
        try:
            for i, result in solve_each(tasks, settings, stop=stop, on_progress=watch, looks=watch.looks):
                watch.end()
                if isinstance(result, NsaError):
                    say(f"error: {tasks[i].instance.name or tasks[i].file}: {result}")
                elif i == 0:
                    _note(console, result)
                if not writer.take(places[i], result):
                    break
                if not isinstance(result, NsaError):
                    compilation.check(result)
                    watch.write(result)
        finally:
            watch.end()
            writer.finish()
        return signals.exit_code or writer.exit_code


def _note(console: Console, result: Result) -> None:
    console.note(
        f"seed {result.seed}, policy {result.policy}, start {result.start}, "
        f"{result.backend} on {result.device}, threads {result.threads}"
    )
    console.note(f"{result.steps} steps, {result.chains} chains, schedule {dict(result.schedule)}")


def _start(init: str | None, tasks: list[Task]) -> Any:
    """Turn ``--init`` into a start's name or a solution."""
    from nsa_cli.io.source import read_source
    from nsa_cli.problems.files import read_solution

    if init is None or all(init in task.problem.starts for task in tasks):
        return init
    if not Path(init).exists():
        tasks[0].problem.start(init)  # says which names there are
    if len(tasks) > 1:
        raise UsageError(f"--init: a solution file starts one instance, not {len(tasks)}")
    return read_solution(read_source(init), tasks[0].problem, tasks[0].instance)


def _check_settings(tasks: list[Task], pairs: list[str], capacity: str | None) -> None:
    """Refuse settings that an instance has no use for; of --capacity, that none has."""
    if capacity is not None and tasks and not any("capacity" in task.problem.settings for task in tasks):
        raise UsageError(f"--capacity: {tasks[0].problem.name} has none")
    for pair in pairs:
        key = pair.partition("=")[0].strip()
        for task in tasks:
            if key not in task.problem.settings:
                known = ", ".join(task.problem.settings)
                raise UsageError(f"--set: {task.problem.name} has no {key!r}; there are {known}")
