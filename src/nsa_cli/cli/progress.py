"""Progress of a run on stderr: a live line on a terminal, lasting lines with ``-v``."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, Status, say
from nsa_cli.core.task import Task
from nsa_cli.report.progress import Snapshot, recent_acceptance

if TYPE_CHECKING:
    from nsa_cli.anneal.progress import Progress

#: Seconds between two lines: one that is written over, and one that stays.
_LIVE, _LASTING = 0.1, 10.0


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
    _last: Progress | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._status = Status(self.console)
        self._live = sys.stderr.isatty()
        self._every = _LIVE if self._live else _LASTING
        self._shown = not self.console.quiet and (self._live or self.console.verbose)

    def __call__(self, progress: Progress) -> None:
        """Show the progress if a line is due."""
        if not self._shown:
            return
        now = time.monotonic()
        if self._began is None or progress.step == 0:
            self._began, self._due = now, now + self._every
        if now >= self._due:
            self._due = now + self._every
            self._show(progress, now)

    def _show(self, progress: Progress, now: float) -> None:
        assert self._began is not None
        last, self._last = self._last, progress
        progress = progress._replace(acceptance=recent_acceptance(progress, last))
        deadline = None if self.deadline is None else self.deadline - self._began
        snapshot = Snapshot(progress, now - self._began, self.tasks, deadline)
        if self._live:
            self._status.update(snapshot.line(_width(), self.console.verbose))
        else:
            say(snapshot.line(200, verbose=True))

    def end(self) -> None:
        """Erase a live line."""
        if self._live:
            self._status.clear()
