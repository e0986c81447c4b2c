"""Progress: in words, and live, as a line on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import html
import math
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event, RLock, Thread
from typing import Any, NamedTuple

from nsa_cli.anneal.chains import Progress
from nsa_cli.core.bound import relative_gap
from nsa_cli.core.task import Task

#: Seconds before the first picture, and between two; columns of a bar, and of words beside it in a notebook.
_AFTER, _EVERY, _BAR, _WORDS = 0.3, 0.1, 20, 90


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
        parts = [(0, self._step())]
        if progress.step or not progress.doing:
            parts += [
                (4, f"T {progress.temperature:.3g}"),
                (3, f"accepted {100 * progress.acceptance:.0f} %"),
            ]
            parts += [(4, progress.doing)] if progress.doing else []
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
        """What is done, or the step number, and the share done: of the steps, or of the time limit."""
        step, steps = self.progress.step, self.progress.steps
        if step == 0 and self.progress.doing:
            return self.progress.doing
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


class LiveLine(NamedTuple):
    """What a live line shows.

    Attributes
    ----------
    words : str
    share : float, optional
        Of the work, or the time, that is done; None where nobody knows.
    """

    words: str
    share: float | None = None


class ToldLine:
    """Line of what it is told."""

    def __init__(self, words: str) -> None:
        self._line = LiveLine(words)

    def tell(self, words: str, share: float | None = None) -> None:
        """Show other words from now on."""
        self._line = LiveLine(words, share)

    def line(self, width: int) -> LiveLine:
        """Give at most `width` columns of them."""
        return self._line._replace(words=self._line.words[:width])


class RunLine:
    """Line of a run, from before its first step to its end.

    Parameters
    ----------
    tasks : list of Task
    deadline : float, optional
        By `time.monotonic`.
    verbose : bool
    """

    def __init__(self, tasks: list[Task], deadline: float | None = None, *, verbose: bool = False) -> None:
        self._tasks, self._deadline, self._verbose = tasks, deadline, verbose
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Note the progress; the first one is where the time begins."""
        if self._progress is None:
            self._began = time.monotonic()
        self._progress = progress

    def snapshot(self) -> Snapshot | None:
        """Give the progress, with the acceptance rate since the last time; None before there is any."""
        last, self._last = self._last, self._progress
        if self._progress is None:
            return None
        progress = self._progress._replace(acceptance=recent_acceptance(self._progress, last))
        deadline = None if self._deadline is None else self._deadline - self._began
        return Snapshot(progress, time.monotonic() - self._began, self._tasks, deadline)

    def line(self, width: int) -> LiveLine:
        """Write it in at most `width` columns."""
        if (shown := self.snapshot()) is not None:
            return LiveLine(shown.line(width, self._verbose), shown.share)
        words, now = "first solution and bound", time.monotonic()
        if self._deadline is None:
            return LiveLine(words[:width])
        left = max(self._deadline - now, 0.0)
        share = (now - self._began) / max(now - self._began + left, 1e-9)
        return LiveLine(f"{words}  {duration(left)} left"[:width], share)


class Live:
    """Line that is shown while something goes on: on a terminal or in a notebook; elsewhere nothing is.

    It begins after a moment, goes on by itself, and is erased in the end.

    Parameters
    ----------
    line : callable
        ``line(width) -> LiveLine``, of at most so many columns.
    shown : bool
    """

    def __init__(self, line: Callable[[int], LiveLine], *, shown: bool = True) -> None:
        self._line, self._over, self._lock = line, Event(), RLock()
        self._thread: Thread | None = None
        self._display: _Terminal | _Notebook | None = None
        self._there: LiveLine | None = None
        if shown and (sys.stderr.isatty() or "IPython" in sys.modules):
            self._thread = Thread(target=self._show, name="nsa live", daemon=True)

    def __enter__(self) -> Live:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for other lines."""
        with self._lock:
            if self._display is not None:
                self._display.erase()
            self._there = None
            yield

    def _show(self) -> None:
        if self._over.wait(_AFTER):
            return
        self._display = display = _display()
        while display is not None and not self._over.wait(_EVERY):
            with self._lock:
                if (line := self._line(display.width)) != self._there:
                    display.show(line)
                self._there = line
        with self.aside():
            pass


def _display() -> _Terminal | _Notebook | None:
    from rich.console import Console

    class Steady(Console):
        """Console that leaves the cursor where it can be seen, whatever ends the process."""

        def show_cursor(self, show: bool = True) -> bool:
            return False

    console = Steady(stderr=True)
    if console.is_jupyter:
        return _Notebook()
    return _Terminal(console) if sys.stderr.isatty() and console.is_interactive else None


class _Terminal:
    """Bar of rich with words beside it."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.width = max(console.width - _BAR - 2, 20)
        columns = (BarColumn(_BAR), TextColumn("{task.description}", markup=False))
        self._bar = Progress(
            *columns,
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._row = self._bar.add_task("")

    def show(self, line: LiveLine) -> None:
        """Draw it anew."""
        total = None if line.share is None else 1.0
        self._bar.update(self._row, completed=line.share or 0.0, total=total, description=line.words)
        self._bar.start()
        self._bar.refresh()

    def erase(self) -> None:
        """Leave nothing of it, until it is drawn anew."""
        self._bar.stop()


class _Notebook:
    """Bar of HTML, which needs no widgets."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html, self.width = HTML, _WORDS
        self._handle = display(HTML(""), display_id=True)

    def show(self, line: LiveLine) -> None:
        """Draw it anew."""
        share = "" if line.share is None else f' value="{line.share:.3f}"'
        words = html.escape(line.words)
        self._handle.update(self._html(f"<progress{share}></progress> <code>{words}</code>"))

    def erase(self) -> None:
        """Empty it."""
        self._handle.update(self._html(""))
