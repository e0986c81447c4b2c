"""`nsa train`: trains a policy, resumably."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from nsa_cli.cli.config import option_names
from nsa_cli.cli.console import Console, Signals, Status, say
from nsa_cli.cli.help import completion
from nsa_cli.cli.options import Candidates, Device, Neighbourhood, ProblemName, Quiet, check_output
from nsa_cli.core.extras import need
from nsa_cli.core.options import parse_seed

#: Columns of the log that the progress line shows.
_SHOWN = ("cost", "validation", "acceptance")


def train(
    problem: ProblemName,
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="es|ppo", help="How to train.", autocompletion=completion(("ppo", "es"))
        ),
    ] = "es",
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="best, or paper (the published recipe), or another of the problem's.",
            autocompletion=completion(("paper", "best")),
        ),
    ] = "best",
    size: Annotated[
        int | None, typer.Option("-n", "--size", metavar="N", help="Size of training instances.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", metavar="N", help="Updates of the policy.")
    ] = None,
    features: Annotated[
        str | None, typer.Option("--features", metavar="NAME", help="What the network sees.")
    ] = None,
    neighbourhood: Neighbourhood = None,
    candidates: Candidates = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Same seed, same policy.")] = 0,
    device: Device = "cpu",
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Where the policy goes.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the state beside FILE.")] = False,
    tensorboard: Annotated[
        str | None, typer.Option("--tensorboard", metavar="DIR", help="Write the log for TensorBoard, too.")
    ] = None,
    quiet: Quiet = False,
    *,
    config: str | None = None,  # this and the next are filled by nsa_cli.cli.config
    context: typer.Context,
) -> int:
    """Train a policy for PROBLEM. Its log and its state lie beside it; Ctrl-C saves them."""
    from nsa_cli.problems import find_problem

    found = find_problem(problem)
    out = out or f"{found.name}-{method}-{preset}.json"
    check_output(out)
    need("torch", "training")
    import torch

    from nsa_cli.solver.choose import choose_device
    from nsa_cli.train.config import choose_config
    from nsa_cli.train.es import train_es
    from nsa_cli.train.loop import Training
    from nsa_cli.train.ppo import train_ppo
    from nsa_cli.train.tensorboard import board

    asked = found.requested_neighbourhood(neighbourhood, candidates)
    given = {
        "size": size,
        "epochs": epochs,
        "features": features,
        "neighbourhood": None if asked is None else asked.name,
    }
    chosen = choose_config(
        type(found).__module__, method, preset, config, given, options=tuple(option_names(context))
    )
    console = Console(quiet)
    status = Status(console)
    with board(tensorboard) as write, Signals() as signals:

        def show(row: Mapping[str, Any]) -> None:
            write(row)
            figures = "  ".join(f"{key} {row[key]:.4g}" for key in _SHOWN if isinstance(row.get(key), float))
            status.update(f"epoch {row['epoch']}/{chosen.epochs}  {row['seconds']:.0f} s  {figures}")

        run = Training(
            found,
            chosen,
            parse_seed("seed", seed),
            Path(out),
            torch.device(choose_device(device)),
            asked_to_stop=lambda: signals.received != 0,
            on_epoch=show,
        )
        (train_es if method == "es" else train_ppo)(run, resume=resume)
        status.clear()
    if not quiet:
        how = "stopped; --resume goes on" if signals.received else "done"
        say(f"{how}: validation {run.best_score:.6g} after {run.seconds:.0f} s, policy in {out}")
    return signals.exit_code
