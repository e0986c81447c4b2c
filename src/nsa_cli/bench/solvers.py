"""Solvers with a budget of steps or seconds: ours, heuristics and peers."""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import metadata
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Progress
from nsa_cli.bench.paper import Cell
from nsa_cli.bench.suites import Suite
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.instance import Solution
from nsa_cli.core.options import Steps
from nsa_cli.core.task import Task
from nsa_cli.policy.checkpoint import digest
from nsa_cli.problems.contribution import Heuristic, Peer, TemperaturesBySize
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_all

#: Seconds of a rehearsal.
REHEARSAL = 0.3

#: Steps, or seconds for each instance; None for a solver without limit.
Budget: TypeAlias = Steps | float | None


def format_budget(budget: Budget) -> str:
    """Write a budget as ``10N2``, ``20ms`` or ``1s``; nothing for none."""
    if not isinstance(budget, float):
        return "" if budget is None else str(budget.plain())
    return f"{budget:g}s" if budget >= 1 else f"{1e3 * budget:g}ms"


#: Hashes a policy's file, once.
_digest = cache(digest)


class Stopped(Exception):  # noqa: N818 - no error
    """The user asked to stop before a run was complete."""


class Monitor(NamedTuple):
    """The user's side of a benchmark that runs: a stop flag, and a line of status.

    Attributes
    ----------
    asked_to_stop : callable
    show : callable
        Shows a text.
    """

    asked_to_stop: Callable[[], bool] = lambda: False
    show: Callable[[str], None] = lambda _: None

    def report(self, text: str) -> None:
        """Show a text, unless asked to stop: raises `Stopped` then."""
        if self.asked_to_stop():
            raise Stopped
        self.show(text)

    def within(self, head: str) -> Monitor:
        """Begin every text with `head`."""
        return self._replace(show=lambda text: self.show(head + text))


class Solved(NamedTuple):
    """A solution with the steps that it took.

    Attributes
    ----------
    solution : ndarray
    steps : int or None
        Of each chain.
    """

    solution: Solution
    steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """A solver with its budget: one row of the table.

    Attributes
    ----------
    name : str
        Ours begin with ``nsa``.
    kind : {'nsa', 'heuristic', 'peer'}
    batched : bool
        Whether it solves many instances side by side.
    budget : Steps, float or None
    mode : {'sampled', 'greedy', ''}
    paper : str or None
        The solver of the paper that it is compared with.
    threads : int or None
        At most; None where the solver decides.
    """

    kind: ClassVar[str]
    batched: ClassVar[bool] = False
    name: str
    budget: Budget = None
    mode: str = ""
    paper: str | None = None
    threads: int | None = 1

    @abstractmethod
    def solve(self, tasks: Sequence[Task], seed: int, monitor: Monitor) -> list[Solved]:
        """Solve instances of one size.

        Raises
        ------
        Stopped
            If asked to stop before all are solved.
        """

    def is_random(self, task: Task) -> bool:
        """Tell whether another seed could give another answer."""
        return True

    def identity(self, suite: Suite) -> dict[str, Any]:
        """Name what an answer depends on beside the instance and the seed, as plain data."""
        budget = self.budget if isinstance(self.budget, float | None) else str(self.budget.plain())
        return {"kind": self.kind, "name": self.name, "budget": budget, "mode": self.mode}

    def expected_seconds(self, suite: Suite, count: int) -> float:
        """Guess the seconds that `count` instances take, for sharing them out."""
        return count * (self.budget if isinstance(self.budget, float) else 1e-6 * suite.size)

    def rehearsal(self) -> Solver:
        """Give the same solver with a small budget, for imports and compilation."""
        return replace(self, budget=Steps(1) if isinstance(self.budget, Steps) else REHEARSAL)

    def cell(self, size: int) -> Cell | None:
        """Give the cell of the paper's tables that the solver is compared with at a size."""
        multiple = int(self.budget.factor) if isinstance(self.budget, Steps) else None
        return None if self.paper is None else Cell(self.paper, size, multiple, self.mode)


@dataclass(frozen=True, kw_only=True)
class NsaSolver(Solver):
    """`solve` of this package.

    Attributes
    ----------
    settings : mapping
        Fields of `Settings`.
    temperatures : callable, optional
        First and last temperature by size; the problem's own if not given.
    """

    kind: ClassVar[str] = "nsa"
    batched: ClassVar[bool] = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    temperatures: TemperaturesBySize | None = None

    def solve(self, tasks: Sequence[Task], seed: int, monitor: Monitor) -> list[Solved]:
        size = tasks[0].instance.size
        start, end = (None, None) if self.temperatures is None else self.temperatures(size)
        by_steps = isinstance(self.budget, Steps)
        limit: dict[str, Any] = {"steps" if by_steps else "time_limit": self.budget}
        settings = Settings(seed=seed, t_start=start, t_end=end, **limit, **self.settings)

        def show(progress: Progress) -> None:
            monitor.show(f"step {progress.step}/{progress.steps}")

        results = solve_all(
            tasks, settings, asked=monitor.asked_to_stop, on_progress=show if by_steps else None
        )
        if any(result.stop_reason == "interrupted" for result in results):
            raise Stopped
        return [Solved(result.raw, result.steps) for result in results]

    def identity(self, suite: Suite) -> dict[str, Any]:
        # Threads share out chains, and all devices of a kind are alike.
        settings = {name: value for name, value in self.settings.items() if name != "threads"}
        if "device" in settings:
            settings["device"] = settings["device"].partition(":")[0]
        policy = settings.get("policy")
        return super().identity(suite) | {
            "settings": settings,
            "temperatures": None if self.temperatures is None else [*self.temperatures(suite.size)],
            "policy": None if policy is None else _digest(policy, suite.problem.name),
        }

    def expected_seconds(self, suite: Suite, count: int) -> float:
        if self.budget is None:  # what `solve` takes without a limit
            return 1e-2 * suite.size * count
        if not isinstance(self.budget, Steps):
            return super().expected_seconds(suite, count)
        wide = 1 if self.settings.get("policy") == "uniform" else suite.size  # a network sees all candidates
        return 1e-7 * self.budget.of(suite.size) * count * wide


@dataclass(frozen=True, kw_only=True)
class HeuristicSolver(Solver):
    """A heuristic of the problem's, with the random numbers that a start of `solve` gets with this seed."""

    kind: ClassVar[str] = "heuristic"
    heuristic: Heuristic

    def solve(self, tasks: Sequence[Task], seed: int, monitor: Monitor) -> list[Solved]:
        keys = stream_keys(seed, np.array([task.stream << 32 for task in tasks]))
        pairs = zip(tasks, keys, strict=True)
        return [Solved(self.heuristic.solve(task.instance, partial(start_draws, key))) for task, key in pairs]

    def is_random(self, task: Task) -> bool:
        drawn: list[int] = []

        def draws(count: int) -> NDArray[np.float64]:
            drawn.append(count)
            return np.full(count, 0.5)

        self.heuristic.solve(task.instance, draws)
        return bool(drawn)


@dataclass(frozen=True, kw_only=True)
class PeerSolver(Solver):
    """Another project's solver, with its output kept from stdout."""

    kind: ClassVar[str] = "peer"
    threads: int | None = None
    peer: Peer

    def solve(self, tasks: Sequence[Task], seed: int, monitor: Monitor) -> list[Solved]:
        assert isinstance(self.budget, float)
        with stdout_closed():
            return [Solved(self.peer.solve(task.instance, self.budget)) for task in tasks]

    def is_random(self, task: Task) -> bool:
        return False

    def identity(self, suite: Suite) -> dict[str, Any]:
        package = None if self.peer.program is not None else metadata.version(self.peer.package)
        return super().identity(suite) | {"package": package}


@contextlib.contextmanager
def stdout_closed() -> Iterator[None]:
    """Send file descriptor 1 to nowhere: compiled libraries write to it, past `sys.stdout`."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
