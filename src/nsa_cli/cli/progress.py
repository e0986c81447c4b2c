"""Progress of a run on stderr: a live line on a terminal, lasting lines with ``-v``."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, say
from nsa_cli.core.task import Task
from nsa_cli.report.progress import Live, RunLine

if TYPE_CHECKING:
    from nsa_cli.anneal.chains import Progress

#: Seconds between two lines that stay.
_LASTING = 10.0


class ProgressLine:
    """Progress display of a run.

    Parameters
    ----------
    console : Console
    tasks : list of Task
    deadline : float, optional
        Of `time.monotonic`.
    """

    def __init__(self, console: Console, tasks: list[Task], deadline: float | None = None) -> None:
        self._run = RunLine(tasks, deadline, verbose=console.verbose)
        on_terminal = sys.stderr.isatty()
        self._live = Live(self._run.line, shown=on_terminal and not console.quiet)
        self._lasting = console.verbose and not (on_terminal or console.quiet)
        self._due: float | None = None

    def begin(self) -> None:
        """Begin to show it."""
        self._live.__enter__()

    def __call__(self, progress: Progress) -> None:
        """Note the progress, and show it if a line that stays is due."""
        self._run(progress)
        now = time.monotonic()
        if self._due is None:
            self._due = now + _LASTING
        if self._lasting and now >= self._due and (snapshot := self._run.snapshot()) is not None:
            self._due = now + _LASTING
            say(snapshot.line(200, verbose=True))

    def end(self) -> None:
        """Erase a live line."""
        self._live.__exit__()
