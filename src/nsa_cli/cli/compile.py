"""`nsa compile`: kernels compiled beforehand; messages about compilation during a solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nsa_cli.cli.console import Console
from nsa_cli.cli.options import Quiet, problem_names

if TYPE_CHECKING:
    from nsa_cli.core.result import Result


class Compilation:
    """Messages about kernels that are compiled for the first time during a solve.

    Parameters
    ----------
    console : Console
    """

    def __init__(self, console: Console) -> None:
        self._console, self._under_way = console, False

    def begins(self) -> None:
        """Announce that a compilation begins."""
        self._under_way = True
        self._console.tell("compiling kernels for this machine, once: some 20 seconds")

    def check(self, result: Result) -> None:
        """Warn, once, of an answer that the compilation left no time for."""
        if self._under_way and result.found_by in ("start", "annealing, uncompiled"):
            self._under_way = False
            self._console.warn(
                f"there was no time to compile the kernels: the answer is from {result.found_by}; "
                "nsa compile makes them ready"
            )


def compile_(
    problems: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROBLEM]...", help="All by default.", autocompletion=problem_names),
    ] = None,
    quiet: Quiet = False,
) -> int:
    """Compile the kernels for this machine now, instead of in the first solve; some 20 seconds each."""
    from nsa_cli.problems import builtin_names, find_problem
    from nsa_cli.solver.precompile import precompile

    console = Console(quiet)
    for problem in [find_problem(name) for name in problems or builtin_names()]:
        console.tell(f"compiling {problem.name}")
        precompile(problem)
    return 0
