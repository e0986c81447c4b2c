"""Progress of a run on stderr: a live line on a terminal, lasting lines with ``-v``, or JSON lines."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nsa_cli.cli.console import Console, Status, log_event, log_is_json, say
from nsa_cli.core.bound import relative_gap
from nsa_cli.core.task import Task

if TYPE_CHECKING:
    from nsa_cli.anneal.stop import Progress

#: Seconds between two lines: one that is written over, JSON, and one that stays.
_LIVE, _JSON, _LASTING = 0.1, 1.0, 10.0


class Snapshot:
    """Progress at one time, in the file's sense and units.

    Parameters
    ----------
    progress : Progress
        With the acceptance rate to show.
    seconds : float
        Since the first step.
    tasks : list of Task
        All that are being solved; of several no objectives are shown.
    deadline : float, optional
        Seconds at which a time limit ends the run.
    """

    def __init__(
        self, progress: Progress, seconds: float, tasks: list[Task], deadline: float | None = None
    ) -> None:
        self.progress, self.seconds, self.instances = progress, seconds, len(tasks)
        self.left = _seconds_left(progress, seconds, deadline)
        self.best: float | None = None
        self.mean: float | None = None
        self.bound: float | None = None
        self.gap: float | None = None
        self.gap_to = "bound"
        if len(tasks) == 1:
            self._objectives(progress, tasks[0])

    def _objectives(self, progress: Progress, task: Task) -> None:
        sense, known = task.problem.sense, task.instance.best_known
        sign = 1.0 if sense == "min" else -1.0
        self.best = best = sign * progress.best + 0.0
        self.mean = None if progress.mean is None else sign * progress.mean + 0.0
        self.bound = progress.bound
        if self.bound is not None:
            self.gap = relative_gap(best, self.bound, sense)
        elif known is not None:
            self.gap, self.gap_to = relative_gap(best, known, sense), "best known"

    def event(self) -> dict[str, Any]:
        """Fields of a line of JSON."""
        progress = self.progress
        numbers = {
            "temperature": progress.temperature,
            "acceptance": progress.acceptance,
            "best": self.best,
            "mean": self.mean,
            "bound": self.bound,
            "gap": self.gap,
            "seconds": round(self.seconds, 3),
            "seconds_left": None if self.left is None else round(self.left, 3),
        }
        finite = {k: v if v is not None and math.isfinite(v) else None for k, v in numbers.items()}
        return {"step": progress.step, "steps": progress.steps, **finite}

    def line(self, width: int, verbose: bool = False) -> str:
        """One line of at most `width` characters; the least important parts are left out first."""
        progress = self.progress
        # Each part with its rank: the highest goes first where the line is too narrow.
        parts = [
            (0, self._step()),
            (4, f"T {progress.temperature:.3g}"),
            (3, f"accepted {100 * progress.acceptance:.0f} %"),
        ]
        if self.instances > 1:
            parts.append((5, f"{self.instances} instances"))
        if self.best is not None:
            parts.append((0, f"best {self.best:.10g}"))
        if verbose and self.mean is not None:
            parts.append((6, f"chains {self.mean:.8g}"))
        if self.bound is not None:
            parts.append((5, f"bound {self.bound:.10g}"))
        if self.gap is not None:
            to = "" if self.gap_to == "bound" else f" to {self.gap_to}"
            parts.append((2, f"gap {100 * self.gap:.2f} %{to}"))
        if self.left is not None:
            parts.append((1, f"{duration(self.left)} left"))
        while len(text := "  ".join(part for _, part in parts)) > width and len(parts) > 1:
            parts.remove(max(parts, key=lambda part: part[0]))
        return text[:width]

    def _step(self) -> str:
        """Step number and share done: of the steps, or of the time limit."""
        step, steps = self.progress.step, self.progress.steps
        if steps is not None:
            return f"step {step}/{steps} ({100 * step // max(steps, 1)} %)"
        if self.left is None:
            return f"step {step}"
        return f"step {step} ({int(100 * self.seconds / max(self.seconds + self.left, 1e-9))} %)"


def _recent(progress: Progress, last: Progress | None) -> float:
    """Acceptance rate since the previous line."""
    if last is None or last.step >= progress.step:
        return progress.acceptance
    accepted = progress.acceptance * progress.step - last.acceptance * last.step
    return min(max(accepted / (progress.step - last.step), 0.0), 1.0)


def _seconds_left(progress: Progress, seconds: float, deadline: float | None) -> float | None:
    """Seconds until the steps at the present pace, or the time limit, end the run; None if unknown."""
    by_clock = math.inf if deadline is None else max(deadline - seconds, 0.0)
    by_pace = math.inf
    if progress.step and progress.steps is not None:
        by_pace = seconds / progress.step * (progress.steps - progress.step)
    left = min(by_clock, by_pace)
    return left if math.isfinite(left) else None


def _width() -> int:
    """Columns of the terminal but the last, which would begin a new line."""
    try:
        return max(os.get_terminal_size(sys.stderr.fileno()).columns, 20) - 1
    except (OSError, ValueError):
        return 79


def duration(seconds: float) -> str:
    """Format a duration: 7 s, 1:05, 2:00:00."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
        progress = progress._replace(acceptance=_recent(progress, last))
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
