"""`nsa check`: feasibility, objective, bound and gap of a solution from a file."""

from __future__ import annotations

from typing import Annotated

import typer

from nsa_cli.api import read
from nsa_cli.cli.console import Console, emit
from nsa_cli.cli.declared import expanded
from nsa_cli.cli.help import completion
from nsa_cli.cli.options import Given, Quiet, check_output
from nsa_cli.core.errors import DataError, InfeasibleError, InputError, UsageError
from nsa_cli.core.reading import Reading


@expanded
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
    given: Given,
    reading: Reading,
    no_bound: Annotated[
        bool, typer.Option("--no-bound", help="Check and evaluate only, without a bound.")
    ] = False,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; - is stdout.")
    ] = None,
    fmt: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="text|json",
            help="json: an object, one a line if several.",
            autocompletion=completion(("text", "json")),
        ),
    ] = "text",
    quiet: Quiet = False,
) -> int:
    """Check a SOLUTION of an INSTANCE. Feasible or why not (exit code 3), exact cost, bound and gap."""
    from nsa_cli.io.source import read_source
    from nsa_cli.problems.solutions import read_answers
    from nsa_cli.report.result import format_evaluations
    from nsa_cli.solver.check import evaluate, pair

    if fmt not in ("text", "json"):
        raise UsageError(f"expected text or json, got {fmt!r}", option="format")
    if instance == solution == "-":
        raise UsageError("-: only one of INSTANCE and SOLUTION can be standard input")
    check_output(output, inputs=(instance, solution))
    console = Console(quiet)
    tasks = read(instance, given.problem, given.keys(), **vars(reading))
    answers = read_answers(read_source(solution), tasks[0].problem)
    pairs = pair(tasks, answers, solution)
    if len(pairs) < len(tasks):
        console.warn(
            f"{solution}: has no solution of {len(tasks) - len(pairs)} of the {len(tasks)} instances"
        )
    for task in tasks:
        for remark in task.remarks():
            console.warn(f"{task.instance.name or instance}: {remark}")
    try:
        evaluations = [evaluate(task, answer, bound=not no_bound) for task, answer in pairs]
    except DataError as error:
        raise InputError(error.message, solution) from None
    for evaluation in evaluations:
        for remark in evaluation.remarks:
            console.warn(f"{evaluation.instance.name or solution}: {remark}")
    emit(format_evaluations(evaluations, fmt), output)
    return 0 if all(e.violation is None for e in evaluations) else InfeasibleError.exit_code
