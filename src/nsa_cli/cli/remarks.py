"""What is said about answers beside them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, describe, say
from nsa_cli.core.errors import NsaError
from nsa_cli.core.task import Task
from nsa_cli.solver.settings import Settings

if TYPE_CHECKING:
    from nsa_cli.report.result import Result


#: Seconds after the limit from which on an answer is late.
_LATE = 1.0


def warn_late(console: Console, result: Result, settings: Settings) -> None:
    """Say why an answer comes long after a limit that was too short for anything but a first solution."""
    limit = settings.time_limit
    if limit is None or result.stop_reason != "time_limit" or result.found_by != "start":
        return
    if (late := time.monotonic() - settings.started - limit) > _LATE:
        console.warn(
            f"the limit of {limit:g} s was too short: reading took {result.seconds['load']:.1f} s and a "
            f"first solution {result.seconds['setup']:.1f} s more; it is the answer, {late:.1f} s late"
        )


def warn_infeasible(console: Console, task: Task, result: Result) -> None:
    """Say that an answer breaks a constraint."""
    if result.violation is not None:
        name = task.instance.name or task.file
        console.warn(
            f"{name}: the answer is infeasible: {result.violation}; penalise that more, or search longer"
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
