"""What is measured: annealing with some policy and temperatures, or a method of another kind."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.schedule import parse_steps
from nsa_cli.anneal.stop import Interrupt, Progress
from nsa_cli.bench.paper import Cell
from nsa_cli.bench.suite import Suite
from nsa_cli.core.bench import Temperatures
from nsa_cli.core.draws import START, stream_keys, uniforms
from nsa_cli.core.errors import NsaError
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Draws, Problem, Start
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_all

#: Size of the instance, and seconds, of a rehearsal.
_SMALL, _REHEARSAL = 8, 0.05


class Stopped(Exception):  # noqa: N818 - no error: the user has seen enough
    """The user asked to stop before a run was whole."""


class Watch(NamedTuple):
    """What a run looks at while it works.

    Attributes
    ----------
    asked_to_stop : callable
    on_progress : callable
        Told what is going on, in words.
    """

    asked_to_stop: Callable[[], bool] = lambda: False
    on_progress: Callable[[str], None] = lambda _: None


class Answer(NamedTuple):
    """One instance solved once.

    Attributes
    ----------
    objective : float
        Exact evaluation of the solution.
    solution : ndarray
    seconds, cpu_seconds : float
        Wall-clock and process time, set-up included; of a batch, the instance's share.
    """

    objective: float
    solution: Solution
    seconds: float
    cpu_seconds: float


class Run(NamedTuple):
    """A suite solved once.

    Attributes
    ----------
    answers : list of Answer
    steps : int or None
        Of each chain.
    batch : int
        Instances solved side by side.
    random : bool
        Whether another seed could give something else.
    """

    answers: list[Answer]
    steps: int | None
    batch: int
    random: bool


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """One line of the table.

    Attributes
    ----------
    name : str
        Ours begin with ``nsa``.
    budget : str
        Steps or seconds in words: ``10N2``, ``60s``, or nothing.
    multiple : int or None
        Steps as a multiple of N, or N^2.
    mode : str
        ``sampled``, ``greedy`` or empty.
    paper : str or None
        The solver of the paper that it stands beside.
    kind : str
    """

    kind: ClassVar[str]
    name: str
    budget: str = ""
    multiple: int | None = None
    mode: str = ""
    paper: str | None = None

    def cell(self, size: int) -> Cell | None:
        """Give the cell of the paper's tables that the solver stands beside at a size."""
        return None if self.paper is None else Cell(self.paper, size, self.multiple, self.mode)

    @abstractmethod
    def run(self, suite: Suite, seed: int, watch: Watch) -> Run:
        """Solve all instances.

        Raises
        ------
        Stopped
            If asked to before all are solved.
        """

    @abstractmethod
    def warm_up(self, suite: Suite) -> None:
        """Do quickly what only the first run of a process has to do, such as importing."""


@dataclass(frozen=True, kw_only=True)
class Annealer(Solver):
    """Simulated annealing by the paper's protocol: its start, its units, one chain.

    Attributes
    ----------
    policy : str
    neighbourhood : str, optional
        Where it is not the policy's.
    temperatures : callable
        By size; None leaves them, and the unit, to the problem's own budget.
    device : str
    """

    kind: ClassVar[str] = "nsa"
    policy: str = "uniform"
    neighbourhood: str | None = None
    temperatures: Callable[[int], Temperatures] | None = None
    device: str = "cpu"

    def run(self, suite: Suite, seed: int, watch: Watch) -> Run:
        steps = parse_steps(self.budget, suite.size)
        settings = self._settings(suite.problem, suite.size, steps, seed)
        stop = (Interrupt(watch.asked_to_stop),)
        clock = Clock()
        results = solve_all(
            suite.tasks, settings, stop=stop, on_progress=lambda p: watch.on_progress(_words(p))
        )
        seconds, cpu_seconds = (total / len(results) for total in clock.read())
        if any(result.stop_reason == "interrupted" for result in results):
            raise Stopped
        answers = [Answer(float(r.objective), r.solution, seconds, cpu_seconds) for r in results]
        return Run(answers, steps, len(results), random=True)

    def warm_up(self, suite: Suite) -> None:
        solve_all(suite.tasks[:1], self._settings(suite.problem, suite.size, 1, seed=0))

    def _settings(self, problem: Problem[Any], size: int, steps: int, seed: int) -> Settings:
        start, end = (None, None) if self.temperatures is None else self.temperatures(size)
        return Settings(
            steps=Steps(steps),
            seed=seed,
            device=self.device,
            chains=1,
            policy=self.policy,
            neighbourhood=self.neighbourhood,
            greedy=self.mode == "greedy",
            t_start=start,
            t_end=end,
            init="paper" if "paper" in problem.starts else None,
            unit=None if self.temperatures is None else 1.0,
            bound=False,
        )


@dataclass(frozen=True, kw_only=True)
class OneByOne(Solver):
    """A solver of one instance after the other."""

    def run(self, suite: Suite, seed: int, watch: Watch) -> Run:
        # The numbers that a start of `solve` would get with this seed.
        keys = stream_keys(seed, np.array([task.stream << 32 for task in suite.tasks]))
        draws = [CountedDraws(key) for key in keys]
        answers = []
        for k, (task, numbers) in enumerate(zip(suite.tasks, draws, strict=True)):
            if watch.asked_to_stop():
                raise Stopped
            watch.on_progress(f"instance {k + 1}/{len(suite.tasks)}")
            answers.append(self._answer(task.instance, suite.names[k], numbers))
        return Run(answers, None, 1, random=any(d.taken for d in draws))

    def warm_up(self, suite: Suite) -> None:
        small = suite.problem.generate(_SMALL, np.random.default_rng(0))
        self._solve(small, CountedDraws(np.int64(0)), rehearsal=True)

    def _answer(self, instance: Instance, name: str, draws: Draws) -> Answer:
        clock = Clock()
        solution = self._solve(instance, draws)
        seconds, cpu_seconds = clock.read()
        if (why := instance.violation(solution)) is not None:
            raise NsaError(f"{self.name} returned an infeasible solution of {name}: {why}")
        return Answer(float(instance.objective(solution)), solution, seconds, cpu_seconds)

    @abstractmethod
    def _solve(self, instance: Instance, draws: Draws, *, rehearsal: bool = False) -> Solution:
        """Solve one instance."""


@dataclass(frozen=True, kw_only=True)
class Classical(OneByOne):
    """A heuristic.

    Attributes
    ----------
    heuristic : callable
        ``heuristic(instance, draws) -> solution``.
    """

    kind: ClassVar[str] = "heuristic"
    heuristic: Start

    def _solve(self, instance: Instance, draws: Draws, *, rehearsal: bool = False) -> Solution:
        return self.heuristic(instance, draws)


@dataclass(frozen=True, kw_only=True)
class Foreign(OneByOne):
    """A solver of others, whose own words must not mix with the result on stdout.

    Attributes
    ----------
    peer : callable
        ``peer(instance, seconds) -> solution``.
    seconds : float
        For each instance.
    """

    kind: ClassVar[str] = "peer"
    peer: Callable[[Any, float], Solution]
    seconds: float

    def _solve(self, instance: Instance, draws: Draws, *, rehearsal: bool = False) -> Solution:
        with stdout_closed():
            return self.peer(instance, min(self.seconds, _REHEARSAL) if rehearsal else self.seconds)


@contextlib.contextmanager
def stdout_closed() -> Iterator[None]:
    """Send what libraries write to file descriptor 1 nowhere: they know nothing of `sys.stdout`."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class CountedDraws:
    """Random numbers of one chain's start, and whether they were taken."""

    def __init__(self, key: np.int64) -> None:
        self._numbers = partial(uniforms, np.array([key]), START)
        self.taken = False

    def __call__(self, count: int) -> NDArray[np.float64]:
        self.taken = True
        return self._numbers(count)[:, 0]


class Clock:
    """Wall-clock and processor time since it was made, that of programs which were started and ended, too."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _processor_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, _processor_time() - self._cpu


def _processor_time() -> float:
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def _words(progress: Progress) -> str:
    return f"step {progress.step}/{progress.steps}"
