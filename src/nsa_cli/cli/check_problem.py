"""`nsa check-problem`: the contract of a problem of one's own."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nsa_cli.cli.compiling import announce_compiling
from nsa_cli.cli.console import Console, describe, emit, say
from nsa_cli.cli.options import ProblemName, Seed
from nsa_cli.core.errors import NsaError, UsageError
from nsa_cli.core.extras import need
from nsa_cli.core.options import parse_seed


def check_problem(
    problem: ProblemName,
    instances: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INSTANCE]…", help="Files to check it on; random instances of its own by default."
        ),
    ] = None,
    seed: Seed = None,
    *,
    console: Console,
) -> int:
    """Check that the functions of PROBLEM go together; a line each fault, with the smallest case."""
    from nsa_cli.api import read
    from nsa_cli.problems import find_problem

    found = find_problem(problem)
    announce_compiling(console)
    from nsa_cli.user.adapter import AdaptedProblem

    if not isinstance(found, AdaptedProblem):
        if found.built_in and not problem.partition(":")[2]:
            raise UsageError(f"{problem}: is built in, and checked by its tests; give FILE.py:CLASS")
        return _check_tensors(found)
    from nsa_cli.user.contract import faults

    given: list[Any] = [task.instance for file in instances or () for task in read(file, problem)]
    done, wrong = faults(found, given, seed=parse_seed("seed", seed) or 0)
    return _report(found, done, wrong, sizes=[i.size for i in given])


def _report(problem: Any, done: list[str], wrong: list[NsaError], sizes: list[int]) -> int:
    from nsa_cli.user.contract import SIZES

    for fault in wrong:
        say(f"error: {describe(fault)}")
    if wrong:
        return NsaError.exit_code
    on = ", ".join(map(str, sizes or SIZES))
    emit(f"{problem.name}: good, on instances of size {on}: {', '.join(done)}\n", None)
    return 0


def _check_tensors(problem: Any) -> int:
    """Check a problem that is written as the built-in ones are, in tensors."""
    need("torch", "a problem of tensor methods")
    from nsa_cli.contract import check_problem as check

    check(problem)
    emit(f"{problem.name}: good\n", None)
    return 0
