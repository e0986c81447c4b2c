"""`nsa generate`: instances of the paper's distributions, and its test sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nsa_cli.api import generate as make
from nsa_cli.cli.console import emit
from nsa_cli.cli.help import completion
from nsa_cli.cli.options import ProblemName, Seed, check_destination, file_in, is_directory
from nsa_cli.core.draws import draw_seed
from nsa_cli.core.errors import UsageError
from nsa_cli.core.machine import check_memory
from nsa_cli.core.options import parse_count
from nsa_cli.core.problem import Problem
from nsa_cli.core.task import Task

#: What an instance takes at least before it is written, and each of its elements.
_INSTANCE_BYTES, _ELEMENT_BYTES = 1_000, 8


def generate(
    problem: ProblemName,
    size: Annotated[int, typer.Option("-n", "--size", metavar="N", help="Cities, items or dimensions.")],
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", help="How many instances; with --paper the first so many."),
    ] = None,
    seed: Seed = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's test set of this size, not random instances.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|DIR",
            help="Where to write; - is stdout; DIR/: a file for each instance.",
        ),
    ] = None,
    fmt: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="json|jsonl|csv|tsplib",
            help="tsplib is for tours.",
            autocompletion=completion(("json", "jsonl", "csv", "tsplib")),
        ),
    ] = None,
) -> int:
    """Write random instances of PROBLEM. Or, with --paper, the test sets of the paper's tables."""
    from nsa_cli.problems import find_problem
    from nsa_cli.problems.files import write_instances

    found = find_problem(problem)
    directory = is_directory(output)
    check_destination(output)
    if paper and seed is not None:
        raise UsageError("the paper's sets are fixed", option="paper", drop={"seed": None})
    parse_count("count", count)
    check_memory((count or 1) * (_INSTANCE_BYTES + _ELEMENT_BYTES * max(size, 0)))
    if paper:
        tasks = [Task(found, instance) for instance in found.paper_set(size, count)]
    else:
        # A drawn seed is in the instances' names, from which the same instances can be made again.
        tasks = make(problem, size, count or 1, draw_seed() if seed is None else seed)
    fmt = fmt or _format(found, output if not directory else None, len(tasks))
    instances = [task.instance for task in tasks]
    if not directory:
        emit(write_instances(found, instances, fmt), output)
        return 0
    for instance in instances:
        suffix = next((f.suffixes[0] for f in found.formats if f.name == fmt), f".{fmt}")
        emit(write_instances(found, [instance], fmt), file_in(output, f"{instance.name}{suffix}"))
    return 0


def _format(problem: Problem[Any], output: str | None, count: int) -> str:
    """Choose the format by the ending of the file name, else JSON."""
    suffix = Path(output or "").suffix.lower()
    own = {s: f.name for f in problem.formats if f.write for s in f.suffixes}
    known = {**own, ".csv": "csv", ".json": "json", ".jsonl": "jsonl"}
    return known.get(suffix, "json" if count == 1 else "jsonl")
