"""`nsa train`: trains a policy, resumably."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from nsa_cli.cli.compiling import announce_compiling
from nsa_cli.cli.config import option_names
from nsa_cli.cli.console import Console, Signals, say
from nsa_cli.cli.options import ProblemName
from nsa_cli.cli.writing import check_output
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import check_installed, need
from nsa_cli.problems import find_problem
from nsa_cli.report.progress import Live, duration
from nsa_cli.train.config import TrainOptions, choose_config

#: Columns of the log that the progress line shows.
_SHOWN = ("cost", "validation", "acceptance")


def train(
    problem: ProblemName,
    options: TrainOptions,
    console: Console,
    *,
    config: str | None = None,
    context: typer.Context,
) -> int:
    """Train a policy for PROBLEM. Its log and its state lie beside it; Ctrl-C saves them."""
    # A process that ends makes torch warn in all others, with a trace; a line of ours says it.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    need("torch", "training")
    check_installed("numba", "training")
    from nsa_cli.train.group import joined

    names = tuple(option_names(context))
    with joined() as group:
        try:
            return _train(problem, options, config, names, group, console)
        except Exception as error:
            if group.fails_first():
                raise
            # A mistake that all processes make, or the loss of one, is a line as from a single one.
            raise typer.Exit(getattr(error, "exit_code", 1)) from None


def _train(
    name: str,
    options: TrainOptions,
    config: str | None,
    names: tuple[str, ...],
    group: Any,
    console: Console,
) -> int:
    """Train in this process of a group."""
    import torch

    from nsa_cli.solver.search import choose_device
    from nsa_cli.train.es import train_es
    from nsa_cli.train.loop import Training
    from nsa_cli.train.ppo import train_ppo

    console, problem = Console(console.quiet or not group.leads), find_problem(name)
    _check_own(problem, console)
    out = _destination(options.out, problem.name, f"{options.method}-{options.preset}", console)
    if group.leads:
        check_output(out)
    if options.neighbourhood is not None:
        options = replace(options, neighbourhood=problem.neighbourhood(options.neighbourhood).name)
    chosen = choose_config(type(problem).__module__, options, config, names)
    live = Live("first epoch", shown=not console.quiet)

    def show(row: Mapping[str, Any]) -> None:
        live.tell(_progress(row, chosen.epochs), row["epoch"] / chosen.epochs)

    with Signals() as signals:
        run = Training(
            problem,
            chosen,
            options.seed,
            Path(out),
            torch.device(choose_device(options.device, problem)),
            threads=group.threads,
            group=group,
            asked_to_stop=lambda: signals.received,
            on_epoch=show,
        )
        run.find_temperatures()
        with live:
            (train_es if options.method == "es" else train_ppo)(run, resume=options.resume)
    if not console.quiet:
        how = "stopped; --resume goes on" if run.stopped else "done"
        say(f"{how}: validation {run.best_score:.6g} after {run.seconds:.0f} s, policy in {out}")
        if not run.stopped:
            words = ("nsa", "benchmark", name, "--sizes", str(chosen.size), "--budget", "20ms")
            say(f"beside uniform proposals at equal time: {shlex.join([*words, '--policies', out])}")
    return 128 + run.stopped if run.stopped else signals.exit_code


def _progress(row: Mapping[str, Any], epochs: int) -> str:
    """Write a row of the log as the line of status."""
    figures = "  ".join(f"{key} {row[key]:.4g}" for key in _SHOWN if isinstance(row.get(key), float))
    left = row["seconds"] / row["epoch"] * (epochs - row["epoch"])
    return f"epoch {row['epoch']}/{epochs}  {row['seconds']:.0f} s, {duration(left)} left  {figures}"


def _check_own(problem: Any, console: Console) -> None:
    """Check an own problem before hours go by with a mistake in it.

    Raises
    ------
    NsaError
        For the first fault.
    """
    announce_compiling(console)
    model = getattr(problem, "model", None)
    if model is None:
        return
    from nsa_cli.contract import faults

    for name, why in (("features", "what a policy sees"), ("generate", "instances to learn from")):
        if not model.learns if name == "features" else model.function(name) is None:
            raise UsageError(f"{model.spec}: has no {name}, {why}; without, solve proposes moves uniformly")
    for fault in faults(problem)[1]:
        raise fault


def _destination(out: str | None, problem: str, recipe: str, console: Console) -> str:
    """Give the policy's file; not by the name of a shipped policy, which that name would still mean."""
    from nsa_cli.policy.checkpoint import available, directories

    shipped = available(problem)
    if out is None:
        name = f"{problem}-{recipe}"
        return f"{name}-own.json" if name in shipped else f"{name}.json"
    path = Path(out)
    if path.stem in shipped and path.resolve().parent not in [d.resolve() for d in directories()]:
        console.warn(f"{path.stem} is a shipped policy, too; yours is meant by its path, --policy ./{out}")
    return out
