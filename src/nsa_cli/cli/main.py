"""The `nsa` command and the one place where an exception becomes an exit code."""

from __future__ import annotations

from typing import Annotated

import typer

from nsa_cli.cli.benchmark import benchmark
from nsa_cli.cli.check import check
from nsa_cli.cli.check_problem import check_problem
from nsa_cli.cli.command import GroupedCommand, command
from nsa_cli.cli.console import describe, say
from nsa_cli.cli.example import example
from nsa_cli.cli.generate import generate
from nsa_cli.cli.plot import policy as plot_policy
from nsa_cli.cli.plot import solution as plot_solution
from nsa_cli.cli.show import show
from nsa_cli.cli.solve import solve
from nsa_cli.cli.train import train
from nsa_cli.core.errors import NoMemoryError, NsaError, StoppedError
from nsa_cli.core.machine import is_out_of_memory
from nsa_cli.version import __version__

app = typer.Typer(
    name="nsa",
    help="Solve tours, knapsacks, bins, and problems of your own by annealing.",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (solve, check, show, generate, train, benchmark, example):
    app.command(cls=GroupedCommand)(command(_command))
app.command("check-problem", cls=GroupedCommand)(command(check_problem))

pictures = typer.Typer(help="Draw a policy or a solution.", rich_markup_mode=None)
pictures.command("policy", cls=GroupedCommand)(command(plot_policy))
pictures.command("solution", cls=GroupedCommand)(command(plot_solution))
app.add_typer(pictures, name="plot")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"nsa {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def exit_code(arguments: list[str]) -> int:
    """Run a command and return 0 answer, 1 fault, 2 input, 3 infeasible, 130/143 interrupted."""
    try:
        program = typer.main.get_command(app)
        returned = program.main(arguments or ["--help"], prog_name="nsa", standalone_mode=False)
    except StoppedError as error:
        say(describe(error))
        return error.exit_code
    except NsaError as error:
        say(f"error: {describe(error)}")
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return StoppedError.exit_code
    except SystemExit:  # how typer ends where the reader of its help has gone
        return 0
    except OSError as error:  # of the system, at a place that has no better words for it
        say(f"error: {error.filename or 'the system refused to read or write'}: {error.strerror or error}")
        return NsaError.exit_code
    except Exception as error:
        if is_out_of_memory(error):
            say(f"error: {NoMemoryError()}")
            return NoMemoryError.exit_code
        # Typer's own errors have a message and a code, whichever module of it they come from.
        message, code = getattr(error, "format_message", None), getattr(error, "exit_code", None)
        if callable(message) and isinstance(code, int):
            say(f"error: {message() or 'give a command'} (see nsa --help)")
            return code
        say(f"internal error: {type(error).__name__}: {error}; this is a fault of nsa, please report it")
        if "--verbose" in arguments or "-v" in arguments:
            raise
        return 1
    return returned if isinstance(returned, int) else 0
