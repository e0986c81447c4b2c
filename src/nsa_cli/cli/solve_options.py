"""The options of `nsa solve`: their names, types and what the help says of them."""

from __future__ import annotations

from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Instances; - is stdin. Or a problem's name with --set."),
]
Steps = Annotated[
    str | None, typer.Option("--steps", help="Steps of each chain: 20000, 10N, 10N2 (N: the size).")
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop after this wall-clock time.")
]
Target = Annotated[
    float | None, typer.Option("--target", metavar="COST", help="Stop at this objective or a better one.")
]
Gap = Annotated[
    str | None, typer.Option("--gap", help="Stop this near the bound: 1% or 0.01; 0 is proved optimal.")
]
NoImprovement = Annotated[
    str | None,
    typer.Option(
        "--no-improvement", metavar="STEPS|SECONDS", help="Stop after 5000, 10N or 2s without a better."
    ),
]
NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Anneal only: no bound, no proof, no exact method beside it.")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="auto; anneal (a policy proposes moves); large-step (kicks with their repair). "
        "auto is large-step where it can be, unless a policy or steps are asked for.",
    ),
]
Backend = Annotated[
    str, typer.Option("--backend", help="auto, numba (fused kernels on a CPU) or torch (the reference).")
]
Threads = Annotated[int | None, typer.Option("--threads", help="CPU threads; changes no answer.")]
Chains = Annotated[
    str | None,
    typer.Option(
        "--chains",
        metavar="N|auto",
        help="Independent chains; the best answer counts. auto: by size and time.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", help="uniform, a shipped policy's name, or a file; the best by default."),
]
Greedy = Annotated[bool, typer.Option("--greedy", help="Always take the policy's likeliest move.")]
TStart = Annotated[
    str | None,
    typer.Option(
        "--t-start", metavar="T", help="First temperature, in normalised units; auto samples moves."
    ),
]
TEnd = Annotated[str | None, typer.Option("--t-end", metavar="T", help="Last temperature, likewise.")]
Schedule = Annotated[str, typer.Option("--schedule", help="geometric, linear, constant or adaptive.")]
Reheat = Annotated[
    int, typer.Option("--reheat", metavar="N", help="Begin at the first temperature again N times.")
]
Acceptance = Annotated[
    str, typer.Option("--acceptance", help="metropolis (the paper's), hastings or threshold.")
]
Init = Annotated[
    str | None, typer.Option("--init", help="Named start (greedy, random, paper, …) or a solution file.")
]
Instance = Annotated[
    str | None,
    typer.Option("--instance", metavar="NAME", help="One of several, by its name or number from 1."),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o", "--output", metavar="FILE|DIR/", help="Where to write; - is stdout; DIR/: a file each."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="json, jsonl, table, csv, or tour for tours. Default: table on a terminal, else json.",
    ),
]
Trace = Annotated[str | None, typer.Option("--trace", metavar="FILE.csv", help="Write the annealing curve.")]
Plot = Annotated[
    str | None, typer.Option("--plot", metavar="FILE", help="Draw the solution: .png, .svg or .pdf.")
]
PlotRun = Annotated[str | None, typer.Option("--plot-run", metavar="FILE", help="Draw the annealing curve.")]
LogFormat = Annotated[str, typer.Option("--log-format", help="stderr: text or json lines.")]
