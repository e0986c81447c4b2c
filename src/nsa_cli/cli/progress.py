"""Progress of a run on stderr: a live line on a terminal, lasting lines with ``-v``, or JSON lines."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, log_event, log_is_json, say
from nsa_cli.core.task import Task
from nsa_cli.report.progress import Live, RunLine

if TYPE_CHECKING:
    from nsa_cli.anneal.stop import Progress

#: Seconds between two lines that stay, of JSON and in words.
_JSON, _LASTING = 1.0, 10.0


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
        on_terminal = sys.stderr.isatty() and not log_is_json()
        self._live = Live(self._run.line, shown=on_terminal and not console.quiet)
        self._lasting = not (on_terminal or console.quiet) and (log_is_json() or console.verbose)
        self._due: float | None = None
        self._unsaid = False

    def begin(self) -> None:
        """Begin to show it."""
        self._live.__enter__()

    def __call__(self, progress: Progress) -> None:
        """Note the progress, and show it if a line that stays is due."""
        self._run(progress)
        if not self._lasting:
            return
        now = time.monotonic()
        if self._due is None:
            self._due = now if log_is_json() else now + _LASTING
        self._unsaid = True
        if now >= self._due:
            self._due = now + (_JSON if log_is_json() else _LASTING)
            self._say()

    def _say(self) -> None:
        self._unsaid, snapshot = False, self._run.snapshot()
        assert snapshot is not None
        if log_is_json():
            log_event("progress", **snapshot.event())
        else:
            say(snapshot.line(200, verbose=True))

    def end(self) -> None:
        """Print the last line where lines stay; erase a live one."""
        if self._unsaid and log_is_json():
            self._say()
        self._live.__exit__()
