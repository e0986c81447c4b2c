"""Progress of many instances as a whole, and the summary at the end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nsa_cli.cli.console import Console, say
from nsa_cli.core.errors import NsaError
from nsa_cli.core.problem import Task
from nsa_cli.report.progress import Line, Live, duration

if TYPE_CHECKING:
    from nsa_cli.report.result import Result

#: Names in a line, at most.
_NAMES = 5


class Overview(Live):
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

    def __init__(
        self,
        console: Console,
        tasks: Sequence[Task],
        work: Sequence[float],
        unread: int,
        began: float,
        deadline: float | None = None,
    ) -> None:
        super().__init__(shown=not console.quiet, lasting=say if console.verbose else None)
        self._quiet, self._tasks, self._work, self._unread = console.quiet, tasks, work, unread
        self._began, self._deadline, self._since = began, deadline, time.monotonic()
        self._left = dict.fromkeys(range(len(tasks)))
        self._done = self._known = self._optimal = self._unfinished = self._unbounded = 0
        self._failed: list[int] = []
        self._worst: tuple[float, int] | None = None
        self._gained = 0.0

    def add(self, place: int, result: Result | NsaError, *, known: bool = False) -> None:
        """Count a result or an error, made room for; `known` are those of an earlier run."""
        self._left.pop(place, None)
        self._known += known
        self._gained += 0.0 if known else self._work[place]
        if isinstance(result, NsaError):
            self._failed.append(place)
            return
        interrupted = result.stop_reason == "interrupted"
        self._done += not interrupted
        self._unfinished += interrupted
        self._optimal += result.status == "optimal"
        self._unbounded += result.gap is None
        if result.gap is not None and (self._worst is None or result.gap > self._worst[0]):
            self._worst = result.gap, place

    def summarise(self, *, interrupted: bool, resumable: bool) -> None:
        """Print the summary, unless quiet or nothing was done."""
        if self._quiet or not (interrupted or self._done or self._unfinished or self._failed):
            return
        head = f"{self._done} of {len(self._tasks) + self._unread} solved"
        parts = [f"interrupted: {head}" if interrupted else head, f"{self._optimal} optimal"]
        if self._worst is not None and self._optimal < self._done + self._unfinished:
            parts.append(f"worst gap {100 * self._worst[0]:.3g} % ({self._names([self._worst[1]])})")
        if self._unbounded:
            parts.append(f"{self._unbounded} without a known gap")
        if failed := len(self._failed) + self._unread:
            names = f" ({self._names(self._failed)})" if self._failed else ""
            parts.append(f"{failed} failed{names}")
        if self._unfinished:
            parts.append(f"{self._unfinished} ended early")
        if self._left:
            parts.append(f"{len(self._left)} not begun or lost ({self._names([*self._left])})")
        if self._known:
            parts.append(f"{self._known} from an earlier run")
        more = "; the same command goes on" if interrupted and resumable else ""
        say(", ".join([*parts, duration(time.monotonic() - self._began)]) + more)

    def line(self, width: int) -> Line:
        """Say how many are done, how many failed, and how long the rest takes."""
        parts = [f"{self._done}/{len(self._tasks) + self._unread} done"]
        if failed := len(self._failed) + self._unread:
            parts.append(f"{failed} failed")
        if self._worst is not None and self._worst[0] > 0:
            parts.append(f"worst gap {100 * self._worst[0]:.2f} %")
        if (left := self._seconds_left()) is not None:
            parts.append(f"{duration(left)} left")
        return ", ".join(parts), 1 - len(self._left) / max(len(self._tasks), 1)

    def _names(self, places: Sequence[int]) -> str:
        tasks = [(place, self._tasks[place]) for place in places[:_NAMES]]
        names = [task.instance.name or task.file or f"number {place + 1}" for place, task in tasks]
        return ", ".join(names) + (", …" if len(places) > _NAMES else "")

    def _seconds_left(self) -> float | None:
        """Seconds until all is done at the pace so far, or the time limit is over; None if unknown."""
        now, work = time.monotonic(), sum(self._work[i] for i in self._left)
        by_pace = (now - self._since) * work / self._gained if self._gained else None
        if self._deadline is None or not self._left:
            return by_pace
        by_clock = max(self._deadline - now, 0.0)
        return by_clock if by_pace is None else min(by_clock, by_pace)
