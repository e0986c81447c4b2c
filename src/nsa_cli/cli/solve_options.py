"""Options of `nsa solve`: names, types and help."""

from __future__ import annotations

from typing import Annotated

import typer

from nsa_cli.anneal.schedule import KINDS
from nsa_cli.cli.help import ANNEALING, OUTPUT, READING, SEARCH, STOPPING, choice, completion
from nsa_cli.cli.options import policy_names, start_names
from nsa_cli.kernels.acceptance import RULES
from nsa_cli.solver.settings import BACKENDS, METHODS

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files of instances, folders of them, patterns; - is stdin. Or a problem's name, with --set.",
    ),
]
Steps = Annotated[
    str | None,
    typer.Option(
        "--steps",
        metavar="STEPS",
        help="Steps of each chain: 20000, 1e6, 10N, 10N2 (N: the size). By default they are for annealing.",
        rich_help_panel=STOPPING,
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option(
        "--time-limit",
        metavar="TIME",
        help="Stop after this wall-clock time: 10 (seconds), 500ms, 2m, 1h.",
        rich_help_panel=STOPPING,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COST",
        help="Stop at this objective or a better one.",
        rich_help_panel=STOPPING,
    ),
]
Gap = Annotated[
    str | None,
    typer.Option(
        "--gap",
        metavar="SHARE",
        help="Stop at this relative gap to the bound: 1%, 0.01; 0 is optimal.",
        rich_help_panel=STOPPING,
    ),
]
NoImprovement = Annotated[
    str | None,
    typer.Option(
        "--no-improvement",
        metavar="STEPS|TIME",
        help="Stop after 5000 or 10N steps, or 2s, without improvement.",
        rich_help_panel=STOPPING,
    ),
]
NoBound = Annotated[
    bool,
    typer.Option(
        "--no-bound",
        help="Search only: no bound, no proof of optimality, no exact method.",
        rich_help_panel=STOPPING,
    ),
]
Method = Annotated[
    str,
    choice(
        "--method",
        words=METHODS,
        text="anneal: a policy proposes moves; large-step: kicks, each repaired by local search, no policy; "
        "auto: large-step where possible, unless a policy or steps are given.",
        panel=SEARCH,
    ),
]
Backend = Annotated[
    str,
    choice(
        "--backend",
        words=BACKENDS,
        text="numba: compiled kernels, on a CPU; torch: the reference, on any device.",
        panel=SEARCH,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="CPU threads; they change no answer. Default: all cores.",
        rich_help_panel=SEARCH,
    ),
]
Chains = Annotated[
    str | None,
    typer.Option(
        "--chains",
        metavar="N|auto",
        help="Independent chains, the best of which counts; auto: by size and time limit.",
        rich_help_panel=SEARCH,
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME|FILE|uniform",
        help="Where moves come from: a shipped policy, a file, uniform. Default: for annealing the best one.",
        autocompletion=completion(policy_names),
        rich_help_panel=ANNEALING,
    ),
]
Greedy = Annotated[
    bool,
    typer.Option(
        "--greedy", help="Take the policy's most probable move, do not sample.", rich_help_panel=ANNEALING
    ),
]
TStart = Annotated[
    str | None,
    typer.Option(
        "--t-start",
        metavar="T|auto",
        help="First temperature, in normalised units; auto: estimated from a sample of moves.",
        rich_help_panel=ANNEALING,
    ),
]
TEnd = Annotated[
    str | None,
    typer.Option(
        "--t-end", metavar="T|auto", help="Last temperature, in the same units.", rich_help_panel=ANNEALING
    ),
]
Schedule = Annotated[str, choice("--schedule", words=KINDS, text="How temperatures fall.", panel=ANNEALING)]
Reheat = Annotated[
    int,
    typer.Option(
        "--reheat",
        metavar="N",
        help="Restart the schedule at the first temperature N times.",
        rich_help_panel=ANNEALING,
    ),
]
Acceptance = Annotated[
    str,
    choice(
        "--acceptance",
        words=RULES,
        text="Acceptance rule: the paper's, one with the proposals' probabilities, or threshold accepting.",
        panel=ANNEALING,
    ),
]
Init = Annotated[
    str | None,
    typer.Option(
        "--init",
        metavar="NAME|FILE",
        help="Initial solution: a named start (greedy, random, paper, …) or a file.",
        autocompletion=completion(start_names),
        rich_help_panel=SEARCH,
    ),
]
Instance = Annotated[
    str | None,
    typer.Option(
        "--instance",
        metavar="NAME",
        help="One of several, by its name or number from 1.",
        rich_help_panel=READING,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE|DIR/",
        help="Where to write; - is stdout; DIR/: a file each.",
        rich_help_panel=OUTPUT,
    ),
]
Format = Annotated[
    str | None,
    choice(
        "--format",
        words=("json", "jsonl", "table", "csv", "tour"),
        text="tour: TSPLIB, of tours only. Default: table on a terminal, else json.",
        panel=OUTPUT,
    ),
]
Again = Annotated[
    bool,
    typer.Option(
        "--again",
        help="Solve all anew, also what an earlier run has written into the journal.",
        rich_help_panel=OUTPUT,
    ),
]
Trace = Annotated[
    str | None,
    typer.Option("--trace", metavar="FILE.csv", help="Write the annealing curve.", rich_help_panel=OUTPUT),
]
Plot = Annotated[
    str | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw the solution: .png, .svg or .pdf.", rich_help_panel=OUTPUT
    ),
]
PlotRun = Annotated[
    str | None,
    typer.Option("--plot-run", metavar="FILE", help="Draw the annealing curve.", rich_help_panel=OUTPUT),
]
LogFormat = Annotated[
    str, choice("--log-format", words=("text", "json"), text="Form of the lines on stderr.", panel=OUTPUT)
]
