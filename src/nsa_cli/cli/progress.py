"""Progress of a run on stderr: a live line on a terminal, lasting lines with ``-v``, or JSON lines."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, Status, log_event, log_is_json, say
from nsa_cli.core.task import Task
from nsa_cli.report.progress import Snapshot, recent_acceptance

if TYPE_CHECKING:
    from nsa_cli.anneal.progress import Progress

#: Seconds between two lines: one that is written over, JSON, and one that stays.
_LIVE, _JSON, _LASTING = 0.1, 1.0, 10.0


def _width() -> int:
    """Columns of the terminal but the last, which would begin a new line."""
    try:
        return max(os.get_terminal_size(sys.stderr.fileno()).columns, 20) - 1
    except (OSError, ValueError):
        return 79


@dataclass
class ProgressLine:
    """Progress display of a run.

    Attributes
    ----------
    console : Console
    tasks : list of Task
    deadline : float, optional
        Of `time.monotonic`.
    """

    console: Console
    tasks: list[Task]
    deadline: float | None = None
    _began: float | None = field(default=None, init=False)
    _due: float = field(default=0.0, init=False)
    _unsaid: Progress | None = field(default=None, init=False)
    _last: Progress | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._status = Status(self.console)
        live = sys.stderr.isatty() and not log_is_json()
        self._every = _JSON if log_is_json() else _LIVE if live else _LASTING
        self._shown = not self.console.quiet and (live or log_is_json() or self.console.verbose)
        self._live = live

    def __call__(self, progress: Progress) -> None:
        """Show the progress if a line is due."""
        if not self._shown:
            return
        now = time.monotonic()
        if self._began is None or progress.step == 0:
            self._began = self._due = now
            if not log_is_json():
                self._due = now + self._every
        self._unsaid = progress
        if now >= self._due:
            self._due = now + self._every
            self._show(progress, now)

    def _show(self, progress: Progress, now: float) -> None:
        assert self._began is not None
        self._unsaid = None
        last, self._last = self._last, progress
        progress = progress._replace(acceptance=recent_acceptance(progress, last))
        deadline = None if self.deadline is None else self.deadline - self._began
        snapshot = Snapshot(progress, now - self._began, self.tasks, deadline)
        if log_is_json():
            log_event("progress", **snapshot.event())
        elif self._live:
            self._status.update(snapshot.line(_width(), self.console.verbose))
        else:
            say(snapshot.line(200, verbose=True))

    def end(self) -> None:
        """Print the last line where lines stay; erase a live one."""
        if self._unsaid is not None and log_is_json():
            self._show(self._unsaid, time.monotonic())
        if self._live:
            self._status.clear()
