"""How far work is: a line that lives on a terminal or in a notebook, or lines that stay; in a pipe none."""

from __future__ import annotations

import contextlib
import html
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from threading import Event, RLock, Thread
from typing import Any, Self, TypeAlias

from nsa_cli.anneal.chains import Progress
from nsa_cli.core.bound import relative_gap
from nsa_cli.core.problem import Task
from nsa_cli.core.words import readable

#: Seconds before the first picture, and between two; seconds between two lines that stay.
_AFTER, _EVERY, _LASTING = 0.3, 0.1, 10.0

#: Columns of a bar, of words beside it in a notebook, and of lines that stay.
_BAR, _WORDS, _WIDE = 20, 90, 200

#: Words, and the share of the work, or of the time, that is done; None where nobody knows.
Line: TypeAlias = tuple[str, float | None]


def duration(seconds: float) -> str:
    """Format a duration: 7 s, 1:05, 2:00:00."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Live:
    """Line that is shown while something goes on: on a terminal or in a notebook; elsewhere none is.

    It begins after a moment, goes on by itself, and is erased in the end.

    Parameters
    ----------
    words : str
        What it says until it is told something else.
    shown : bool
    lasting : callable, optional
        Gets lines that stay, one in ten seconds, where there is neither a terminal nor a notebook.
    """

    def __init__(
        self, words: str = "", *, shown: bool = True, lasting: Callable[[str], None] | None = None
    ) -> None:
        self._told: Line = (words, None)
        self._over, self._lock = Event(), RLock()
        self._lasting = lasting
        self._display: _Terminal | _Notebook | None = None
        self._there: Line | None = None
        self._thread: Thread | None = None
        if shown and (_can_be_live() or lasting is not None):
            run = copy_context().run
            self._thread = Thread(target=run, args=(self._show,), name="nsa live", daemon=True)

    def tell(self, words: str, share: float | None = None) -> None:
        """Show other words from now on."""
        self._told = words, share

    def line(self, width: int) -> Line:
        """Give what is to be shown now; words beyond `width` are cut off."""
        return self._told

    def __enter__(self) -> Self:
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
        width, pause = (_WIDE, _LASTING) if display is None else (display.width, _EVERY)
        while not self._over.wait(pause):
            with self._lock:
                words, share = self.line(width)
                line = words[:width], share
                if display is not None and line != self._there:
                    display.show(*line)
                elif display is None and self._lasting is not None:
                    self._lasting(words)
                self._there = line
        with self.aside():
            pass


class RunLive(Live):
    """Line of a run, from before its first step to its end.

    Parameters
    ----------
    tasks : list of Task
        All that are being solved; of several no objectives are shown.
    deadline : float, optional
        By `time.monotonic`.
    verbose : bool
    **options
        Of `Live`.
    """

    def __init__(
        self, tasks: Sequence[Task], deadline: float | None = None, *, verbose: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        self._tasks, self._deadline, self._verbose = tasks, deadline, verbose
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Note the progress; the first one is where the time begins."""
        if self._progress is None:
            self._began = time.monotonic()
        self._progress = progress

    def line(self, width: int) -> Line:
        """Write it in at most `width` columns; the least important parts are left out first."""
        now, progress, last = time.monotonic(), self._progress, self._last
        self._last = progress
        seconds = now - self._began
        left = math.inf if self._deadline is None else max(self._deadline - now, 0.0)
        steps = None if progress is None else progress.steps
        if progress is not None and progress.step and steps is not None:
            left = min(left, seconds / progress.step * (steps - progress.step))
        share = None if math.isinf(left) else seconds / max(seconds + left, 1e-9)
        if progress is not None and steps is not None:
            share = progress.step / max(steps, 1)
        # Each part with its rank: the highest goes first where the line is too narrow.
        parts = [(0, "first solution and bound")] if progress is None else self._parts(progress, last, share)
        parts += [] if math.isinf(left) else [(1, f"{duration(left)} left")]
        while len(text := "  ".join(part for _, part in parts)) > width and len(parts) > 1:
            parts.remove(max(parts, key=lambda part: part[0]))
        return text[:width], share

    def _parts(self, progress: Progress, last: Progress | None, share: float | None) -> list[tuple[int, str]]:
        """Say what is done, and of one instance how good its best solution is, in the file's sense."""
        if progress.step == 0 and progress.doing:
            parts = [(0, progress.doing)]
        else:
            of = "" if progress.steps is None else f"/{progress.steps}"
            done = "" if share is None else f" ({int(100 * share + 1e-9)} %)"
            accepted = 100 * _recent_acceptance(progress, last)
            parts = [(0, f"step {progress.step}{of}{done}"), (4, f"T {progress.temperature:.3g}")]
            parts += [(3, f"accepted {accepted:.0f} %")]
            parts += [(4, progress.doing)] if progress.doing else []
        if len(self._tasks) != 1:
            return [*parts, (5, f"{len(self._tasks)} instances")]
        sense, known = self._tasks[0].problem.sense, self._tasks[0].instance.best_known
        sign = 1.0 if sense == "min" else -1.0
        best = sign * progress.best + 0.0
        parts += [(0, f"best {readable(best)}")]
        if self._verbose and progress.mean is not None:
            parts += [(6, f"chains {sign * progress.mean + 0.0:.8g}")]
        reference, to = (known, " to best known") if progress.bound is None else (progress.bound, "")
        if progress.bound is not None:
            parts += [(5, f"bound {readable(float(progress.bound))}")]
        if reference is not None and (gap := relative_gap(best, reference, sense)) is not None:
            parts += [(2, f"gap {100 * gap:.2f} %{to}")]
        return parts


def _recent_acceptance(progress: Progress, last: Progress | None) -> float:
    """Acceptance rate since the previous line."""
    if last is None or last.step >= progress.step:
        return progress.acceptance
    accepted = progress.acceptance * progress.step - last.acceptance * last.step
    return min(max(accepted / (progress.step - last.step), 0.0), 1.0)


def _can_be_live() -> bool:
    return sys.stderr.isatty() or "IPython" in sys.modules


def _display() -> _Terminal | _Notebook | None:
    if _can_be_live():
        from rich.console import Console

        class Steady(Console):
            """Console that leaves the cursor where it can be seen, whatever ends the process."""

            def show_cursor(self, show: bool = True) -> bool:
                return False

        console = Steady(stderr=True)
        if console.is_jupyter:
            return _Notebook()
        if sys.stderr.isatty() and console.is_interactive:
            return _Terminal(console)
    return None


class _Terminal:
    """Bar of rich with words beside it."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        self.width = max(console.width - _BAR - 2, 20)
        columns = BarColumn(_BAR), TextColumn("{task.description}", markup=False)
        as_it_is: dict[str, Any] = dict.fromkeys(
            ("auto_refresh", "redirect_stdout", "redirect_stderr"), False
        )
        self._bar = Progress(*columns, console=console, transient=True, **as_it_is)
        self._row = self._bar.add_task("")

    def show(self, words: str, share: float | None) -> None:
        """Draw it anew."""
        total = None if share is None else 1.0
        self._bar.update(self._row, completed=share or 0.0, total=total, description=words)
        self._bar.start()
        self._bar.refresh()

    def erase(self) -> None:
        """Leave nothing of it, until it is drawn anew."""
        self._bar.stop()


class _Notebook:
    """Bar of HTML, which needs no widgets."""

    width = _WORDS

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html, self._handle = HTML, display(HTML(""), display_id=True)

    def show(self, words: str, share: float | None) -> None:
        """Draw it anew."""
        value = "" if share is None else f' value="{share:.3f}"'
        page = f"<progress{value}></progress> <code>{html.escape(words)}</code>"
        self._handle.update(self._html(page))

    def erase(self) -> None:
        """Empty it."""
        self._handle.update(self._html(""))
