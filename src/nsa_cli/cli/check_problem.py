"""`nsa check-problem`: the contract of a problem of one's own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nsa_cli.cli.compiling import announce_compiling
from nsa_cli.cli.console import Console, describe, emit, say
from nsa_cli.cli.options import ProblemName, Seed
from nsa_cli.core.errors import NsaError
from nsa_cli.core.options import parse_seed


def check_problem(
    problem: ProblemName,
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INSTANCE]…", help="Files to check it on; by default its own random instances."
        ),
    ] = None,
    seed: Seed = None,
    *,
    console: Console,
) -> int:
    """Check that the functions of PROBLEM go together; a line each fault, with the smallest case."""
    from nsa_cli.api import read
    from nsa_cli.contract import SIZES, faults, own_problem
    from nsa_cli.problems import find_problem

    found = own_problem(find_problem(problem))
    announce_compiling(console)
    given: list[Any] = [task.instance for file in instances or () for task in read(file, problem)]
    done, wrong = faults(found, given, seed=parse_seed("seed", seed) or 0)
    for fault in wrong:
        say(f"error: {describe(fault)}")
    if wrong:
        return NsaError.exit_code
    sizes = ", ".join(str(i.size) for i in given) or ", ".join(map(str, SIZES))
    emit(f"{found.name}: good, on instances of size {sizes}: {', '.join(done)}\n", None)
    return 0
