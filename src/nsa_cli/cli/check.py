"""`nsa check`: whether a solution is feasible, what it is worth, and how good it can be."""

from __future__ import annotations

from typing import Annotated

import typer

from nsa_cli.api import read
from nsa_cli.cli.console import Console, emit
from nsa_cli.cli.options import Capacity, Owner, Pairs, Quiet, check_output, record_keys
from nsa_cli.core.errors import InfeasibleError, UsageError


def check(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="Instance file; - is stdin. Or a problem's name.")
    ],
    solution: Annotated[
        str,
        typer.Argument(
            metavar="SOLUTION", help="A result of ours, a tour, or ids in plain text; - is stdin."
        ),
    ],
    problem: Owner = None,
    capacity: Capacity = None,
    set_: Pairs = None,
    no_bound: Annotated[bool, typer.Option("--no-bound", help="Check and evaluate only.")] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is stdout.")
    ] = None,
    fmt: Annotated[
        str, typer.Option("--format", help="text, or json: an object, one a line if several.")
    ] = "text",
    quiet: Quiet = False,
) -> int:
    """Check SOLUTION of INSTANCE: feasible or why not (exit code 3), exact cost, bound and gap."""
    from nsa_cli.io.source import read_source
    from nsa_cli.problems.solutions import read_answers
    from nsa_cli.report.verdicts import format_verdicts
    from nsa_cli.solver.check import evaluate, pair

    if fmt not in ("text", "json"):
        raise UsageError(f"--format: expected text or json, got {fmt!r}")
    if instance == solution == "-":
        raise UsageError("-: only one of INSTANCE and SOLUTION can be standard input")
    check_output(output, inputs=(instance, solution))
    console = Console(quiet)
    tasks = read(instance, problem, record_keys(set_, capacity))
    pairs = pair(tasks, read_answers(read_source(solution), tasks[0].problem), solution)
    if len(pairs) < len(tasks):
        console.warn(
            f"{solution}: has no solution of {len(tasks) - len(pairs)} of the {len(tasks)} instances"
        )
    verdicts = [evaluate(task, answer, bound=not no_bound).to_dict() for task, answer in pairs]
    for verdict in verdicts:
        for remark in verdict["remarks"]:
            console.warn(f"{verdict['name'] or solution}: {remark}")
    emit(format_verdicts(verdicts, fmt), output)
    return 0 if all(verdict["feasible"] for verdict in verdicts) else InfeasibleError.exit_code
