"""Progress of a run in words, and as a bar for Python, in a terminal or a notebook."""

from __future__ import annotations

import html
import math
import time
from types import TracebackType
from typing import Any

from nsa_cli.anneal.progress import Progress
from nsa_cli.core.bound import relative_gap
from nsa_cli.core.task import Task

#: Seconds between two pictures of a bar; columns of a bar, and of the words beside it in a notebook.
_EVERY, _BAR, _WORDS = 0.1, 20, 90


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

    @property
    def share(self) -> float:
        """Share done, from 0 to 1: of the steps, or of the time limit; 0 if neither is known."""
        if self.progress.steps is not None:
            return self.progress.step / max(self.progress.steps, 1)
        return 0.0 if self.left is None else self.seconds / max(self.seconds + self.left, 1e-9)

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


def recent_acceptance(progress: Progress, last: Progress | None) -> float:
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


def duration(seconds: float) -> str:
    """Format a duration: 7 s, 1:05, 2:00:00."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class ProgressBar:
    """Progress of a run as a bar: on standard error if that is a terminal, or in a notebook; else nothing.

    Parameters
    ----------
    tasks : list of Task
    deadline : float, optional
        By `time.monotonic`.
    """

    def __init__(self, tasks: list[Task], deadline: float | None = None) -> None:
        self._tasks, self._deadline = tasks, deadline
        self._began = self._due = time.monotonic()
        self._last: Progress | None = None
        self._display: _TerminalBar | _NotebookBar | None = None

    def __enter__(self) -> ProgressBar:
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_jupyter:
            self._display = _NotebookBar()
        elif console.is_terminal:
            self._display = _TerminalBar(console)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.end()

    def __call__(self, progress: Progress) -> None:
        """Show the progress if it is time to."""
        now = time.monotonic()
        if self._display is None or now < self._due:
            return
        self._due, last, self._last = now + _EVERY, self._last, progress
        progress = progress._replace(acceptance=recent_acceptance(progress, last))
        deadline = None if self._deadline is None else self._deadline - self._began
        snapshot = Snapshot(progress, now - self._began, self._tasks, deadline)
        self._display.show(snapshot.share, snapshot.line(self._display.width))


class _TerminalBar:
    """Bar of rich, which is erased in the end."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.width = max(console.width - _BAR - 2, 20)
        columns = (BarColumn(_BAR), TextColumn("{task.description}", markup=False))
        self._bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
        self._row = self._bar.add_task("", total=1.0)
        self._bar.start()

    def show(self, share: float, line: str) -> None:
        """Draw it anew."""
        self._bar.update(self._row, completed=share, description=line, refresh=True)

    def end(self) -> None:
        """Erase it."""
        self._bar.stop()


class _NotebookBar:
    """Bar of HTML, which needs no widgets; it is emptied in the end."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html, self.width = HTML, _WORDS
        self._handle = display(HTML(""), display_id=True)

    def show(self, share: float, line: str) -> None:
        """Draw it anew."""
        self._handle.update(
            self._html(f'<progress value="{share:.3f}"></progress> <code>{html.escape(line)}</code>')
        )

    def end(self) -> None:
        """Empty it."""
        self._handle.update(self._html(""))
