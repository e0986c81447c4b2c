"""Options of `nsa solve`: names, types and help."""

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
    str | None,
    typer.Option("--gap", help="Stop at this relative gap to the bound: 1%, 0.01; 0 is optimal."),
]
NoImprovement = Annotated[
    str | None,
    typer.Option(
        "--no-improvement",
        metavar="STEPS|SECONDS",
        help="Stop after 5000 or 10N steps, or 2s, without improvement.",
    ),
]
NoBound = Annotated[
    bool, typer.Option("--no-bound", help="Search only: no bound, no proof of optimality, no exact method.")
]
Method = Annotated[
    str,
    typer.Option(
        "--method",
        help="anneal (a policy proposes moves), large-step (kicks, each repaired by local search; no policy) "
        "or auto: large-step where possible, unless a policy or steps are given.",
    ),
]
Backend = Annotated[
    str,
    typer.Option("--backend", help="numba (compiled kernels, CPU), torch (reference, any device) or auto."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="CPU threads; they change no answer. Default: all cores.")
]
Chains = Annotated[
    str | None,
    typer.Option(
        "--chains",
        metavar="N|auto",
        help="Independent chains, the best of which counts; auto: by size and time limit.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", help="uniform, the name of a shipped policy, or a file. Default: the best shipped one."
    ),
]
Greedy = Annotated[bool, typer.Option("--greedy", help="Take the policy's most probable move each time.")]
TStart = Annotated[
    str | None,
    typer.Option(
        "--t-start",
        metavar="T",
        help="First temperature, in normalised units; auto: estimated from a sample of moves.",
    ),
]
TEnd = Annotated[str | None, typer.Option("--t-end", metavar="T", help="Last temperature, likewise.")]
Schedule = Annotated[str, typer.Option("--schedule", help="geometric, linear, constant or adaptive.")]
Reheat = Annotated[
    int, typer.Option("--reheat", metavar="N", help="Restart the schedule at the first temperature N times.")
]
Acceptance = Annotated[
    str,
    typer.Option("--acceptance", help="Acceptance rule: metropolis (the paper's), hastings or threshold."),
]
Init = Annotated[
    str | None,
    typer.Option("--init", help="Initial solution: a named start (greedy, random, paper, …) or a file."),
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
