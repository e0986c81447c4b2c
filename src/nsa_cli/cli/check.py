"""`nsa check`: feasibility, objective, bound and gap of a solution from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from nsa_cli.api import read
from nsa_cli.cli.console import Console, emit
from nsa_cli.cli.options import Given
from nsa_cli.cli.writing import check_output, format_of
from nsa_cli.core.errors import DataError, InfeasibleError, InputError, UsageError
from nsa_cli.core.options import OPTIONS, read_settings, setting
from nsa_cli.core.record import Reading

_ENDINGS = {".txt": "text", ".json": "json", ".jsonl": "json"}


@dataclass(frozen=True, kw_only=True)
class Report:
    """What is found out, and where it goes.

    Attributes
    ----------
    bound : bool
        Without a bound: check and evaluate only.
    certificate : str, optional
        Check this proof of a bound, and take no other; it is refused if it does not hold.
    output : str, optional
        Write to this file; - is stdout.
    format_ : str, optional
        json: an object, one a line if several. Default: by the ending of FILE, else text.
    """

    bound: bool = setting(True, OPTIONS)
    certificate: str | None = setting(None, OPTIONS, metavar="FILE")
    output: str | None = setting(None, OPTIONS, metavar="FILE", short=("-o",))
    format_: str | None = setting(None, OPTIONS, words=("text", "json"))

    def __post_init__(self) -> None:
        read_settings(self)


def check(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE", help="File of the instance; - is stdin. Or the name of a problem."
        ),
    ],
    solution: Annotated[
        str,
        typer.Argument(metavar="SOLUTION", help="A result of nsa, a tour, or ids in plain text; - is stdin."),
    ],
    given: Given,
    reading: Reading,
    report: Report,
    console: Console,
) -> int:
    """Check a SOLUTION of an INSTANCE. Feasible or why not (exit code 3), exact cost, bound and gap."""
    from nsa_cli.io.source import read_source
    from nsa_cli.problems.solutions import read_answers
    from nsa_cli.report.result import format_evaluations
    from nsa_cli.solver.check import evaluate, pair

    if instance == solution == "-":
        raise UsageError("-: only one of INSTANCE and SOLUTION can be standard input")
    check_output(report.output, inputs=(instance, solution))
    fmt = report.format_ or format_of(report.output, _ENDINGS, "text")
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
    known = None
    if report.certificate is not None:
        from nsa_cli.solver.certificates import bound_from

        if len(pairs) != 1:
            raise UsageError(f"expected one instance, got {len(pairs)}", option="certificate")
        known = bound_from(pairs[0][0], read_source(report.certificate))
    try:
        evaluations = [evaluate(task, answer, bound=report.bound, known=known) for task, answer in pairs]
    except DataError as error:
        raise InputError(error.message, solution) from None
    for evaluation in evaluations:
        for remark in evaluation.remarks:
            console.warn(f"{evaluation.instance.name or solution}: {remark}")
    emit(format_evaluations(evaluations, fmt), report.output)
    return 0 if all(e.violation is None for e in evaluations) else InfeasibleError.exit_code
