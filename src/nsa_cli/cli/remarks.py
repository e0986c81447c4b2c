"""What is said about answers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, describe, say
from nsa_cli.core.errors import NsaError
from nsa_cli.core.kernel import compiled, is_compiling
from nsa_cli.core.task import Task

if TYPE_CHECKING:
    from nsa_cli.report.result import Result


class LateKernels:
    """Notes whether there was no time to compile, and says so."""

    def __init__(self) -> None:
        self._before, self._late = len(compiled), False

    def note(self, result: Result) -> None:
        """Look at an answer."""
        has_compiled = len(compiled) > self._before or is_compiling()
        self._late = self._late or (result.found_by == "start" and has_compiled)

    def warn(self, console: Console) -> None:
        """Print a warning if there was not."""
        if self._late:
            console.warn(
                "there was no time to compile the kernels for this machine: the answer is a start, as good "
                "as can be without them; "
                "they are compiled in the background now, and the next run has them"
            )


def say_error(task: Task, error: NsaError) -> None:
    """Print why an instance has no answer."""
    say(f"error: {task.instance.name or task.file}: {describe(error)}")


def note_choices(console: Console, result: Result) -> None:
    """Print how an answer was found, if verbose."""
    console.note(
        f"seed {result.seed}, policy {result.policy}, start {result.start}, "
        f"{result.backend} on {result.device}, threads {result.threads}"
    )
    console.note(f"{result.steps} steps, {result.chains} chains, schedule {dict(result.schedule)}")
