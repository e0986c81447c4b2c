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
from nsa_cli.core.task import Task

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
    random : bool
        Whether another seed could give another answer.
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
    random: bool


def run_by_steps(
    suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int], monitor: Monitor
) -> Iterator[list[MeasuredRun]]:
    """Yield the runs of a solver with a seed, all instances of them; one seed if none changes the answer.

    Raises
    ------
    Stopped
        When asked to stop.
    """
    count = len(suite.tasks)
    for solver in solvers:
        solver.rehearsal().solve([_fresh(suite.tasks[0])], 0, Monitor())
        batch = count if solver.batched else 1
        for seed in seeds:
            runs: list[MeasuredRun] = []
            head = f"{suite.label}  {solver.name} {format_budget(solver.budget)}  seed {seed}  "
            for first in range(0, count, batch):
                monitor.report(f"{head}instance {first + 1}/{count}")
                runs += measure(solver, suite, range(first, first + batch), seed, monitor.within(head))
            yield runs
            if not any(run.random for run in runs):
                break


def run_by_seconds(
    suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int], monitor: Monitor
) -> Iterator[list[MeasuredRun]]:
    """Yield the runs of an instance with a seed, one of each solver.

    Raises
    ------
    Stopped
        When asked to stop.
    """
    for solver in {solver.name: solver for solver in solvers}.values():
        _rehearse(solver, suite.tasks[0])
    # Compiled code is a great many objects: a collection that looks at them all takes a tenth of a second,
    # and would fall on any of the runs.
    gc.collect()
    gc.freeze()
    for seed, (place, name) in product(seeds, enumerate(suite.names)):
        runs: list[MeasuredRun] = []
        head = f"{suite.label}  {name} {place + 1}/{len(suite.names)}  seed {seed}  "
        for solver in _turns(solvers, place):
            monitor.report(f"{head}{solver.name} {format_budget(solver.budget)}")
            runs.append(_measure_alone(solver, suite, place, seed, monitor))
        yield runs


def _turns(solvers: Sequence[Solver], place: int) -> Iterator[Solver]:
    """Go through solvers, which are sorted by budget; another one is first at each instance."""
    for _, group in groupby(solvers, key=lambda solver: solver.budget):
        equal = [*group]
        first = place % len(equal)
        yield from (*equal[first:], *equal[:first])


def _rehearse(solver: Solver, task: Task) -> None:
    """Import and compile, which only the first runs of a process have to do."""
    for _ in range(_REHEARSALS):
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
    for place, (solution, steps, random) in zip(places, answers, strict=True):
        instance = suite.tasks[place].instance
        if (why := instance.violation(solution)) is not None:
            raise NsaError(f"{solver.name} returned an infeasible solution of {suite.names[place]}: {why}")
        objective, count = float(instance.objective(solution)), len(places)
        share = (seconds / count, cpu_seconds / count, count)
        runs.append(MeasuredRun(suite, place, solver, seed, steps, objective, *share, random))
    return runs


def _fresh(task: Task) -> Task:
    """Copy an instance without its cached values: each run pays for its own set-up."""
    return dataclasses.replace(task, instance=dataclasses.replace(task.instance))


def _processor_time() -> float:
    """Processor time of this process, and of the programs that it started and that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system
