"""Runs: every solver on every instance, solver after solver or taking turns at each instance.

By steps a solver solves all instances with one seed, then with the next. By seconds solvers take turns
instance by instance, so that whatever else the machine does meets all alike; and differences between two
solvers are differences on the same instances, which vary far less than the gaps themselves.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import NamedTuple

from nsa_cli.bench.solvers import REHEARSAL, Monitor, Solver, format_budget
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import NsaError
from nsa_cli.core.problem import Task

#: A run that got less than this share of the processor is repeated, so often at most, where it is short.
_SHARE, _TRIES, _SHORT = 0.9, 3, 0.25

#: Rehearsals at most, until one keeps to its time.
_REHEARSALS = 5


class MeasuredRun(NamedTuple):
    """One instance solved once: a row of ``runs.csv``.

    Attributes
    ----------
    suite : Suite
    place : int
        Of the instance in the suite.
    solver : Solver
    seed : int
    steps : int or None
        Of each chain.
    objective : float
        Exact evaluation of the solution.
    seconds, cpu_seconds : float
        Wall-clock and processor time of all threads, set-up included; of a batch, the instance's share.
    batch : int
        Instances solved side by side.
    processor : str
        On which it was measured.
    processes : int
        That measured at the same time on the machine.
    """

    suite: Suite
    place: int
    solver: Solver
    seed: int
    steps: int | None
    objective: float
    seconds: float
    cpu_seconds: float
    batch: int
    processor: str = ""
    processes: int = 1


class Portion(NamedTuple):
    """What is measured at one go: instances by a solver, or by seconds one by all solvers in their turns.

    Attributes
    ----------
    suite : Suite
    solvers : tuple of Solver
    places : tuple of int
        Of the instances in the suite.
    seed : int
    timed : bool
        Whether solvers have seconds.
    """

    suite: Suite
    solvers: tuple[Solver, ...]
    places: tuple[int, ...]
    seed: int
    timed: bool

    @property
    def pairs(self) -> list[tuple[int, Solver]]:
        """The runs, each an instance and a solver, in their order."""
        return [*product(self.places, self.solvers)]

    def apart(self) -> Portion:
        """Give the same without the other instances of the suite."""
        tasks = tuple(self.suite.tasks[place] for place in self.places)
        names = tuple(self.suite.names[place] for place in self.places)
        suite = self.suite._replace(tasks=tasks, names=names, references=())
        return self._replace(suite=suite, places=tuple(range(len(tasks))))


def portions_by_steps(suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int]) -> Iterator[Portion]:
    """Give the runs of a solver with a seed, side by side or each alone; one seed if all are alike."""
    count = len(suite.tasks)
    for solver in solvers:
        batch = count if solver.batched else 1
        several = len(seeds) > 1 and solver.is_random(_fresh(suite.tasks[0]))
        for seed, first in product(seeds if several else seeds[:1], range(0, count, batch)):
            yield Portion(suite, (solver,), (*range(first, first + batch),), seed, timed=False)


def portions_by_seconds(suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int]) -> Iterator[Portion]:
    """Give the runs of an instance with a seed, one of each solver."""
    for seed, place in product(seeds, range(len(suite.tasks))):
        yield Portion(suite, (*_turns(solvers, place),), (place,), seed, timed=True)


class Rig:
    """Measures portions in this process; solvers are rehearsed before the first portion that they are in."""

    def __init__(self) -> None:
        self._rehearsed: set[tuple[str, str, str]] = set()

    def measure(self, portion: Portion, monitor: Monitor) -> list[MeasuredRun]:
        """Measure the runs of a portion.

        Raises
        ------
        NsaError
            If a solution is infeasible.
        Stopped
            When asked to stop.
        """
        self._rehearse(portion)
        suite, (first, *_) = portion.suite, portion.places
        head = f"{suite.label}  {suite.names[first]} {first + 1}/{len(suite.names)}  seed {portion.seed}  "
        if not portion.timed:
            (solver,) = portion.solvers
            head += f"{solver.name} {format_budget(solver.budget)}  "
            monitor.report(head)
            return measure(solver, suite, portion.places, portion.seed, monitor.within(head))
        runs: list[MeasuredRun] = []
        for solver in portion.solvers:
            monitor.report(f"{head}{solver.name} {format_budget(solver.budget)}")
            runs.append(_measure_alone(solver, suite, first, portion.seed, monitor))
        return runs

    def _rehearse(self, portion: Portion) -> None:
        """Import and compile, which only the first runs of a process have to do."""
        new: dict[tuple[str, str, str], Solver] = {}
        for solver in portion.solvers:  # those of the same name differ by their budgets
            budget = "" if portion.timed else format_budget(solver.budget)
            new[portion.suite.label, solver.name, budget] = solver
        new = {name: solver for name, solver in new.items() if name not in self._rehearsed}
        for solver in new.values():
            _rehearse(solver, portion.suite.tasks[0], _REHEARSALS if portion.timed else 1)
        self._rehearsed |= set(new)
        if new and portion.timed:
            # Compiled code is a great many objects: a collection that looks at them all takes a tenth of a
            # second, and would fall on any of the runs.
            gc.collect()
            gc.freeze()


def _turns(solvers: Sequence[Solver], place: int) -> Iterator[Solver]:
    """Go through solvers, which are sorted by budget; another one is first at each instance."""
    for _, group in groupby(solvers, key=lambda solver: solver.budget):
        equal = [*group]
        first = place % len(equal)
        yield from (*equal[first:], *equal[:first])


def _rehearse(solver: Solver, task: Task, most: int) -> None:
    """Solve for a moment, `most` times, or until that keeps to its time."""
    for _ in range(most):
        begin = _processor_time()
        solver.rehearsal().solve([_fresh(task)], 0, Monitor())
        if _processor_time() - begin < 1.2 * REHEARSAL:
            return


def _measure_alone(solver: Solver, suite: Suite, place: int, seed: int, monitor: Monitor) -> MeasuredRun:
    """Solve once; repeat a short run that the machine kept waiting, and keep the one that waited least."""
    budget = solver.budget if isinstance(solver.budget, float) else 0.0
    runs: list[MeasuredRun] = []
    for _ in range(_TRIES if 0 < budget <= _SHORT else 1):
        runs += measure(solver, suite, [place], seed, monitor)
        if runs[-1].cpu_seconds >= _SHARE * min(runs[-1].seconds, budget):
            break
    return max(runs, key=lambda run: run.cpu_seconds)


def measure(
    solver: Solver, suite: Suite, places: Sequence[int], seed: int, monitor: Monitor
) -> list[MeasuredRun]:
    """Solve instances side by side, and evaluate the solutions.

    Raises
    ------
    NsaError
        If a solution is infeasible.
    Stopped
        When asked to stop.
    """
    tasks = [_fresh(suite.tasks[place]) for place in places]
    wall, cpu = time.perf_counter(), _processor_time()
    answers = solver.solve(tasks, seed, monitor)
    seconds, cpu_seconds = time.perf_counter() - wall, _processor_time() - cpu
    runs: list[MeasuredRun] = []
    for place, (solution, steps) in zip(places, answers, strict=True):
        instance = suite.tasks[place].instance
        if (why := instance.violation(solution)) is not None:
            raise NsaError(f"{solver.name} returned an infeasible solution of {suite.names[place]}: {why}")
        objective, count = float(instance.objective(solution)), len(places)
        share = (seconds / count, cpu_seconds / count, count)
        runs.append(MeasuredRun(suite, place, solver, seed, steps, objective, *share))
    return runs


def _fresh(task: Task) -> Task:
    """Copy an instance without its cached values: each run pays for its own set-up."""
    return dataclasses.replace(task, instance=dataclasses.replace(task.instance))


def _processor_time() -> float:
    """Processor time of this process, and of the programs that it started and that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
