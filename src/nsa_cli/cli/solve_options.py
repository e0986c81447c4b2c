"""Options of `nsa solve` that are no settings of the search: names, types and help."""

from __future__ import annotations

from typing import Annotated

import typer

from nsa_cli.cli.help import choice
from nsa_cli.core.setting import OUTPUT, READING

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files of instances, folders of them, patterns; - is stdin. Or a problem's name, with --set.",
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
Plot = Annotated[
    str | None,
    typer.Option(
        "--plot", metavar="FILE", help="Draw the solution: .png, .svg or .pdf.", rich_help_panel=OUTPUT
    ),
]
Curve = Annotated[
    str | None,
    typer.Option(
        "--curve",
        metavar="FILE",
        help="Write the annealing curve, .csv, or draw it: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    ),
]
