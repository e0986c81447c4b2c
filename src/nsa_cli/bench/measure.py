"""Runs: every solver on every instance, solver after solver or taking turns at each instance.

By steps a solver solves all instances with one seed, then with the next. By seconds solvers take turns
instance by instance, so that whatever else the machine does meets all alike; and differences between two
solvers are differences on the same instances, which vary far less than the gaps themselves.

What is measured at one go is a portion: a unit of work, whose outcome is plain data that a journal keeps.
"""

from __future__ import annotations

import dataclasses
import gc
import math
import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import Any, NamedTuple

from nsa_cli.bench.solvers import Interrupted, Solver
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import NsaError
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Task
from nsa_cli.io.journal import key_of
from nsa_cli.pool import Stopped, Unit
from nsa_cli.version import __version__

#: Seconds of a rehearsal; rehearsals at most, until one keeps to its time.
_REHEARSAL, _REHEARSALS = 0.3, 5

#: The solvers that have been rehearsed in this process, by suite.
_rehearsed: set[tuple[str, str]] = set()


class MeasuredRun(NamedTuple):
    """One instance solved once: a row of ``runs.csv``.

    Attributes
    ----------
    suite : Suite
        The instances that were measured at one go.
    place : int
        Of the instance among them.
    solver : Solver
    seed : int
    steps : int or None
        Of each chain.
    objective : float
        Exact evaluation of the solution.
    seconds, cpu_seconds : float
        Wall-clock and processor time of all threads, set-up included; of a batch, the instance's share.
    processes : int
        That measured at the same time on the machine.
    reference : float
        Of the instance; see `nsa_cli.bench.summary.scored`.
    gap : float
        To the reference; NaN where nothing is relative to 0.
    """

    suite: Suite
    place: int
    solver: Solver
    seed: int
    steps: int | None
    objective: float
    seconds: float
    cpu_seconds: float
    processes: int = 1
    reference: float = math.nan
    gap: float = math.nan

    @property
    def task(self) -> Task:
        """The instance; its stream is its number in the whole suite."""
        return self.suite.tasks[self.place]


class Portion(NamedTuple):
    """What is measured at one go: instances by a solver, or by seconds one by all solvers in their turns.

    Attributes
    ----------
    suite : Suite
        These instances alone.
    solvers : tuple of Solver
    seed : int
    timed : bool
        Whether solvers have seconds.
    """

    suite: Suite
    solvers: tuple[Solver, ...]
    seed: int
    timed: bool

    @property
    def size(self) -> int:
        """Number of runs."""
        return len(self.suite.tasks) * len(self.solvers)

    def unit(self, digests: Sequence[str]) -> Unit:
        """Make it a unit of work, whose key is the hash of all that its outcome depends on.

        That is the instances as they are recorded, with their streams, the problem with the source of a
        user's functions, the solvers with budgets, settings and the policies' files, the seed, and the
        versions of the programs. Not so: threads, the machine, references, and other portions.
        """
        problem, suite = self.suite.problem, self.suite
        model = getattr(problem, "model", None)
        parts = {
            "problem": [problem.name, problem.sense, None if model is None else model.digest],
            "instances": [digests[task.stream] for task in suite.tasks],
            "solvers": [solver.identity(suite) for solver in self.solvers],
            "seed": self.seed,
            "version": __version__,
        }
        work = sum(_expected_seconds(solver, suite.size) for solver in self.solvers)
        return Unit(key_of(parts), len(suite.tasks) * work, self)


def _expected_seconds(solver: Solver, size: int) -> float:
    """Guess the seconds that an instance takes, for sharing them out."""
    if isinstance(solver.budget, float):
        return solver.budget
    if isinstance(solver.budget, Steps):
        return 1e-7 * solver.budget.of(size) * size
    return (1e-2 if solver.kind == "nsa" else 1e-6) * size


def units_of(suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int], *, timed: bool) -> Iterator[Unit]:
    """List what is measured at one go each, in the order of ``runs.csv``.

    By seconds, the runs of an instance with a seed, one of each solver. By steps, the runs of a solver with a
    seed, side by side or each alone.
    """
    digests = [key_of({"instance": task.instance.record(), "stream": task.stream}) for task in suite.tasks]
    single = [suite.only(place) for place in range(len(suite.tasks))]
    if timed:
        for seed, (place, one) in product(seeds, enumerate(single)):
            yield Portion(one, (*_turns(solvers, place),), seed, timed).unit(digests)
        return
    for solver, seed in product(solvers, seeds):
        for some in [suite] if solver.kind == "nsa" else single:
            yield Portion(some, (solver,), seed, timed).unit(digests)


def _turns(solvers: Sequence[Solver], place: int) -> Iterator[Solver]:
    """Go through solvers, which are sorted by budget; another one is first at each instance."""
    for _, group in groupby(solvers, key=lambda solver: solver.budget):
        equal = [*group]
        first = place % len(equal)
        yield from (*equal[first:], *equal[:first])


def measure_each(
    processes: int, portions: Sequence[Portion], _share: float, stopped: Stopped
) -> Iterator[tuple[int, Any]]:
    """Measure portions until asked to stop, as `nsa_cli.pool.Do` has it; `processes` do so side by side."""
    for k, portion in enumerate(portions):
        try:
            yield k, measure(portion, stopped, processes)
        except Interrupted:
            return


def measure(portion: Portion, stopped: Stopped = bool, processes: int = 1) -> list[dict[str, Any]]:
    """Measure the runs of a portion; solvers are rehearsed before the first one that they are in.

    Returns
    -------
    list of dict
        Plain data that `runs_from` reads.

    Raises
    ------
    NsaError
        If a solution is infeasible.
    Interrupted
        When asked to stop.
    """
    _rehearse(portion)
    suite = portion.suite
    runs: list[dict[str, Any]] = []
    for solver in portion.solvers:
        if stopped():
            raise Interrupted
        tasks = [_fresh(task) for task in suite.tasks]
        wall, cpu = time.perf_counter(), _processor_time()
        answers = solver.solve(tasks, portion.seed, stopped)
        wall, cpu = time.perf_counter() - wall, _processor_time() - cpu
        spent = {"seconds": wall / len(tasks), "cpu_seconds": cpu / len(tasks)}
        for task, name, (solution, steps) in zip(suite.tasks, suite.names, answers, strict=True):
            if (why := task.instance.violation(solution)) is not None:  # whatever a solver says
                raise NsaError(f"{solver.name} returned an infeasible solution of {name}: {why}")
            found = {"steps": steps, "objective": float(task.instance.objective(solution))}
            runs.append(found | spent | {"processes": processes})
    return runs


def _rehearse(portion: Portion) -> None:
    """Import and compile, which only the first runs of a process have to do."""
    before = len(_rehearsed)
    for solver in portion.solvers:
        if (key := (portion.suite.label, solver.name)) in _rehearsed:
            continue
        _rehearsed.add(key)
        budget = Steps(1) if isinstance(solver.budget, Steps) else _REHEARSAL
        for _ in range(_REHEARSALS if portion.timed else 1):
            begin = _processor_time()
            dataclasses.replace(solver, budget=budget).solve([_fresh(portion.suite.tasks[0])], 0)
            if _processor_time() - begin < 1.2 * _REHEARSAL:
                break
    if portion.timed and len(_rehearsed) > before:
        # Compiled code is a great many objects: a collection that looks at them all takes a tenth of a
        # second, and would fall on any of the runs.
        gc.collect()
        gc.freeze()


def _fresh(task: Task) -> Task:
    """Copy an instance without its cached values: each run pays for its own set-up."""
    return dataclasses.replace(task, instance=dataclasses.replace(task.instance))


def _processor_time() -> float:
    """Processor time of this process, and of the programs that it started and that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def runs_from(outcome: Any, portion: Portion) -> list[MeasuredRun]:
    """Read the runs of a portion, as `measure` gives them or a journal has kept them.

    Raises
    ------
    TypeError, ValueError
        If they are none.
    """
    pairs = product(range(len(portion.suite.tasks)), portion.solvers)
    return [
        MeasuredRun(portion.suite, place, solver, portion.seed, **run)
        for (place, solver), run in zip(pairs, outcome, strict=True)
    ]
