"""`nsa solve`: from a file to an exactly checked answer."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from nsa_cli.api import Settings, Task, read
from nsa_cli.cli.console import Console, Signals, emit, set_log_format
from nsa_cli.cli.options import Output, Quiet, Seed, Verbose, check_output, parse_settings
from nsa_cli.cli.watch import Extras, Watch
from nsa_cli.core.errors import UsageError


def solve(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Instance; - is stdin. Or a problem's name with --set.")
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
    seed: Seed = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, typer.Option("--threads", help="CPU threads; changes no answer.")] = None,
    chains: Annotated[
        int | None, typer.Option("--chains", help="Independent chains; the best answer counts.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="uniform, a shipped policy's name, or a file; the best by default."),
    ] = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Always take the policy's likeliest move.")
    ] = False,
    t_start: Annotated[
        float | None, typer.Option("--t-start", help="First temperature, in normalised units.")
    ] = None,
    t_end: Annotated[
        float | None, typer.Option("--t-end", help="Last temperature, in normalised units.")
    ] = None,
    schedule: Annotated[str, typer.Option("--schedule", help="geometric, linear or constant.")] = "geometric",
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
    output: Output = None,
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
    """Solve the instances of FILE and print the best solution found."""
    started = time.monotonic()
    set_log_format(log_format)
    console = Console(quiet, verbose)
    check_output(output)
    tasks = read(file, problem, parse_settings(set_ or [], capacity))
    _check_settings(tasks, set_ or [])
    extras = Extras(trace, plot, plot_run)
    extras.check(tasks)
    fmt = _format(fmt, output, tasks)
    for task in tasks:
        for remark in task.instance.remarks():
            console.warn(f"{task.instance.name or file}: {remark}")
    settings = Settings(
        steps=steps,
        seed=seed,
        device=device,
        chains=chains,
        policy=policy,
        greedy=greedy,
        t_start=t_start,
        t_end=t_end,
        schedule=schedule,
        acceptance=acceptance,
        init=_start(init, tasks),
        time_limit=time_limit,
        started=started,
    )
    watch = Watch(extras, console, tasks, settings)
    return _run(tasks, settings, threads, console, output, fmt, watch)


def _run(
    tasks: list[Task],
    settings: Settings,
    threads: int | None,
    console: Console,
    output: str | None,
    fmt: str,
    watch: Watch,
) -> int:
    with Signals() as signals:
        import torch

        from nsa_cli.anneal.stop import Interrupt
        from nsa_cli.report.text import format_results
        from nsa_cli.run import solve_all

        if threads is not None:
            if threads < 1:
                raise UsageError(f"--threads: expected at least 1, got {threads}")
            torch.set_num_threads(threads)
        stop = (Interrupt(lambda: signals.received != 0),)
        try:
            results = solve_all(tasks, settings, stop=stop, on_progress=watch, looks=watch.looks)
        finally:
            watch.end()
        first = results[0]
        console.note(f"seed {first.seed}, policy {first.policy}, start {first.start}, device {first.device}")
        console.note(f"{first.steps} steps, {first.chains} chains, schedule {dict(first.schedule)}")
        emit(format_results(tasks[0].problem, results, fmt), output)
        watch.write(first)
        return signals.exit_code


def _format(fmt: str | None, output: str | None, tasks: list[Task]) -> str:
    """Choose the format: what is asked for, what the file name says, or what the reader can use."""
    from nsa_cli.report.text import check_format, format_of_suffix

    problem = tasks[0].problem
    if fmt is None and output not in (None, "-"):
        fmt = format_of_suffix(problem, Path(output or "").suffix.lower()) or "json"
    elif fmt is None:
        fmt = "table" if sys.stdout.isatty() and output is None else "json"
    check_format(problem, fmt, len(tasks))
    return fmt


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


def _check_settings(tasks: list[Task], pairs: list[str]) -> None:
    for pair in pairs:
        key = pair.partition("=")[0].strip()
        for task in tasks:
            if key not in task.problem.settings:
                known = ", ".join(task.problem.settings)
                raise UsageError(f"--set: {task.problem.name} has no {key!r}; there are {known}")
