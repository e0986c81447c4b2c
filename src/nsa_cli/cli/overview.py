"""Progress of many instances as a whole, and the summary at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event, RLock, Thread
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, say
from nsa_cli.core.errors import NsaError
from nsa_cli.core.problem import Task
from nsa_cli.report.progress import Live, LiveLine, duration

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Seconds between two lines that stay.
_LASTING = 10.0

#: Names in a line, at most.
_NAMES = 5


@dataclass
class Overview:
    """Count of what is done: a live line on a terminal, lasting lines with ``-v``, and a summary.

    Parameters
    ----------
    console : Console
    tasks : sequence of Task
    work : sequence of float
        Expected of each.
    unread : int
        Instances that could not be read.
    began : float
        By `time.monotonic`, for the seconds of the summary.
    deadline : float, optional
        By the same clock.
    """

    console: Console
    tasks: Sequence[Task]
    work: Sequence[float]
    unread: int
    began: float
    deadline: float | None = None
    done: int = field(default=0, init=False)
    known: int = field(default=0, init=False)
    optimal: int = field(default=0, init=False)
    unfinished: int = field(default=0, init=False)
    failed: list[int] = field(default_factory=list, init=False)
    worst: tuple[float, int] | None = field(default=None, init=False)
    _left: dict[int, None] = field(init=False)
    _gained: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._left = dict.fromkeys(range(len(self.tasks)))
        self._lock, self._over = RLock(), Event()
        self._on_terminal = sys.stderr.isatty()
        self._live = Live(self._live_line, shown=self._on_terminal and not self.console.quiet)
        self._thread = Thread(target=copy_context().run, args=(self._show,), name="nsa overview", daemon=True)
        self._since = time.monotonic()

    def __enter__(self) -> Overview:
        self._live.__enter__()
        if self.console.verbose and not (self.console.quiet or self._on_terminal):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._live.__exit__()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Make room for other lines."""
        with self._lock, self._live.aside():
            yield

    def add(self, place: int, result: Result | NsaError, *, known: bool = False) -> None:
        """Count a result or an error; `known` are those of an earlier run."""
        with self._lock:
            self._left.pop(place, None)
            if known:
                self.known += 1
            else:
                self._gained += self.work[place]
            if isinstance(result, NsaError):
                self.failed.append(place)
                return
            self.done += 1
            self.unfinished += result.stop_reason == "interrupted"
            self.optimal += result.status == "optimal"
            if result.gap is not None and (self.worst is None or result.gap > self.worst[0]):
                self.worst = result.gap, place

    def summarise(self, *, interrupted: bool, resumable: bool) -> None:
        """Print the summary, unless quiet or nothing was done."""
        if self.console.quiet or not (interrupted or self.done or self.failed):
            return
        total, seconds = len(self.tasks) + self.unread, time.monotonic() - self.began
        done = self.done - self.unfinished
        head = f"interrupted: {done} of {total} solved" if interrupted else f"{done} of {total} solved"
        parts = [head, f"{self.optimal} optimal"]
        if self.worst is not None and self.worst[0] > 0:
            parts.append(f"worst gap {100 * self.worst[0]:.3g} % ({self._name(self.worst[1])})")
        if failed := len(self.failed) + self.unread:
            names = f" ({self._names(self.failed)})" if self.failed else ""
            parts.append(f"{failed} failed{names}")
        if self.unfinished:
            parts.append(f"{self.unfinished} ended early")
        if self._left:
            parts.append(f"{len(self._left)} not begun or lost ({self._names([*self._left])})")
        if self.known:
            parts.append(f"{self.known} from an earlier run")
        say(
            ", ".join([*parts, duration(seconds)])
            + ("; the same command goes on" if interrupted and resumable else "")
        )

    def _name(self, place: int) -> str:
        return self.tasks[place].instance.name or self.tasks[place].file or f"number {place + 1}"

    def _names(self, places: Sequence[int]) -> str:
        return ", ".join(map(self._name, places[:_NAMES])) + (", …" if len(places) > _NAMES else "")

    def _seconds_left(self) -> float | None:
        """Seconds until all is done at the pace so far, or the time limit is over; None if unknown."""
        now, work = time.monotonic(), sum(self.work[i] for i in self._left)
        by_pace = (now - self._since) * work / self._gained if self._gained else None
        if self.deadline is None or not self._left:
            return by_pace
        by_clock = max(self.deadline - now, 0.0)
        return by_clock if by_pace is None else min(by_clock, by_pace)

    def _line(self) -> str:
        parts = [f"{self.done - self.unfinished}/{len(self.tasks) + self.unread} done"]
        failed, left = len(self.failed) + self.unread, self._seconds_left()
        parts += [f"{failed} failed"] if failed else []
        parts += [f"worst gap {100 * self.worst[0]:.2f} %"] if self.worst and self.worst[0] > 0 else []
        return ", ".join([*parts, *([] if left is None else [f"{duration(left)} left"])])

    def _show(self) -> None:
        while not self._over.wait(_LASTING):
            with self._lock:
                say(self._line())

    def _live_line(self, width: int) -> LiveLine:
        return LiveLine(self._line()[:width], 1 - len(self._left) / max(len(self.tasks), 1))
