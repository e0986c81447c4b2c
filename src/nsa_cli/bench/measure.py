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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, product
from typing import Any, NamedTuple

from nsa_cli.bench.solvers import Monitor, Solved, Solver, Stopped, format_budget
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import NsaError
from nsa_cli.core.machine import processor
from nsa_cli.core.options import Steps
from nsa_cli.core.problem import Task
from nsa_cli.io.journal import key_of
from nsa_cli.pool import Unit
from nsa_cli.version import __version__

#: A run that got less than this share of the processor is repeated, so often at most, where it is short.
_SHARE, _TRIES, _SHORT = 0.9, 3, 0.25

#: Seconds of a rehearsal; rehearsals at most, until one keeps to its time.
_REHEARSAL, _REHEARSALS = 0.3, 5

#: The solvers that have been rehearsed in this process, by suite.
_rehearsed: set[tuple[str, str, str]] = set()


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
    batch: int
    processor: str = ""
    processes: int = 1
    reference: float = math.nan
    gap: float = math.nan


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
    def size(self) -> int:
        """Number of runs."""
        return len(self.places) * len(self.solvers)

    def unit(self, digests: Sequence[str]) -> Unit:
        """Make it a unit of work, whose key is the hash of all that its outcome depends on.

        That is the instances as they are recorded, with their streams, the problem with the source of a
        user's functions, the solvers with budgets, settings and the policies' files, the seed, and the
        versions of the programs. Not so: threads, which processor, references, and other portions.
        """
        problem, suite = self.suite.problem, self.suite
        model = getattr(problem, "model", None)
        parts = {
            "problem": [problem.name, problem.sense, None if model is None else model.digest],
            "instances": [digests[place] for place in self.places],
            "solvers": [solver.identity(suite) for solver in self.solvers],
            "seed": self.seed,
            "version": __version__,
        }
        work = sum(_expected_seconds(solver, suite.size) for solver in self.solvers)
        return Unit(key_of(parts), len(self.places) * work, self)

    def apart(self) -> Portion:
        """Give the same without the other instances of the suite."""
        tasks = tuple(self.suite.tasks[place] for place in self.places)
        names = tuple(self.suite.names[place] for place in self.places)
        suite = self.suite._replace(tasks=tasks, names=names, references=())
        return self._replace(suite=suite, places=tuple(range(len(tasks))))


def _expected_seconds(solver: Solver, size: int) -> float:
    """Guess the seconds that an instance takes, for sharing them out."""
    if isinstance(solver.budget, float):
        return solver.budget
    if isinstance(solver.budget, Steps):  # whose network, if there is one, sees all candidates
        return 1e-7 * solver.budget.of(size) * (1 if "sa" in solver.name.split("-") else size)
    return (1e-2 if solver.kind == "nsa" else 1e-6) * size


def units_of(suite: Suite, solvers: Sequence[Solver], seeds: Sequence[int], *, timed: bool) -> list[Unit]:
    """List what is measured at one go each, in the order of ``runs.csv``.

    By seconds, the runs of an instance with a seed, one of each solver. By steps, the runs of a solver with a
    seed, side by side or each alone; with one seed if all are alike.
    """
    digests = [key_of({"instance": task.instance.record(), "stream": task.stream}) for task in suite.tasks]
    count, portions = len(suite.tasks), list[Portion]()
    if timed:
        for seed, place in product(seeds, range(count)):
            portions.append(Portion(suite, (*_turns(solvers, place),), (place,), seed, timed))
        return [portion.unit(digests) for portion in portions]
    for solver in solvers:
        batch = count if solver.kind == "nsa" else 1
        several = len(seeds) > 1 and solver.is_random(_fresh(suite.tasks[0]))
        for seed, first in product(seeds if several else seeds[:1], range(0, count, batch)):
            portions.append(Portion(suite, (solver,), (*range(first, first + batch),), seed, timed))
    return [portion.unit(digests) for portion in portions]


def _turns(solvers: Sequence[Solver], place: int) -> Iterator[Solver]:
    """Go through solvers, which are sorted by budget; another one is first at each instance."""
    for _, group in groupby(solvers, key=lambda solver: solver.budget):
        equal = [*group]
        first = place % len(equal)
        yield from (*equal[first:], *equal[:first])


def measure_each(
    processes: int, monitor: Monitor, portions: Sequence[Portion], _share: float, stopped: Callable[[], bool]
) -> Iterator[tuple[int, Any]]:
    """Measure portions until asked to stop, as `nsa_cli.pool.Do` has it; `processes` do so side by side."""
    for k, portion in enumerate(portions):
        try:
            yield k, measure(portion, monitor._replace(asked_to_stop=stopped), processes)
        except Stopped:
            return


def measure(portion: Portion, monitor: Monitor, processes: int = 1) -> dict[str, Any]:
    """Measure the runs of a portion; solvers are rehearsed before the first one that they are in.

    Returns
    -------
    dict
        Plain data that `runs_from` reads.

    Raises
    ------
    NsaError
        If a solution is infeasible.
    Stopped
        When asked to stop.
    """
    _rehearse(portion)
    suite, (first, *_) = portion.suite, portion.places
    runs: list[dict[str, Any]] = []
    for solver in portion.solvers:
        if monitor.asked_to_stop():
            raise Stopped
        head = f"{suite.label}  {suite.names[first]} {first + 1}/{len(suite.names)}  seed {portion.seed}  "
        head += f"{solver.name} {format_budget(solver.budget)}  "
        monitor.show(head)
        within = monitor._replace(show=partial(_show, monitor, head))
        runs += _solved(solver, portion, within)
    return {"runs": runs, "processor": processor(), "processes": processes}


def _show(monitor: Monitor, head: str, text: str) -> None:
    monitor.show(head + text)


def _rehearse(portion: Portion) -> None:
    """Import and compile, which only the first runs of a process have to do."""
    before = len(_rehearsed)
    for solver in portion.solvers:  # by seconds, those of the same name differ by their budgets
        key = portion.suite.label, solver.name, "" if portion.timed else format_budget(solver.budget)
        if key in _rehearsed:
            continue
        _rehearsed.add(key)
        small = dataclasses.replace(
            solver, budget=Steps(1) if isinstance(solver.budget, Steps) else _REHEARSAL
        )
        for _ in range(_REHEARSALS if portion.timed else 1):
            begin = _processor_time()
            small.solve([_fresh(portion.suite.tasks[0])], 0, Monitor())
            if _processor_time() - begin < 1.2 * _REHEARSAL:
                break
    if portion.timed and len(_rehearsed) > before:
        # Compiled code is a great many objects: a collection that looks at them all takes a tenth of a
        # second, and would fall on any of the runs.
        gc.collect()
        gc.freeze()


def _solved(solver: Solver, portion: Portion, monitor: Monitor) -> list[dict[str, Any]]:
    """Solve instances side by side; repeat a short run that had to wait, and keep what waited least."""
    suite, budget = portion.suite, solver.budget if isinstance(solver.budget, float) else 0.0
    best: tuple[float, float, list[Solved]] = (-1.0, 0.0, [])
    for _ in range(_TRIES if 0 < budget <= _SHORT else 1):
        tasks = [_fresh(suite.tasks[place]) for place in portion.places]
        wall, cpu = time.perf_counter(), _processor_time()
        answers = solver.solve(tasks, portion.seed, monitor)
        wall, cpu = time.perf_counter() - wall, _processor_time() - cpu
        best = max(best, (cpu, wall, answers), key=lambda some: some[0])
        if cpu >= _SHARE * min(wall, budget):
            break
    cpu, wall, answers = best
    return [
        {"instance": suite.names[place], "solver": solver.name, "steps": steps}
        | {"objective": _objective(suite, place, solver, solution)}
        | {"seconds": wall / len(tasks), "cpu_seconds": cpu / len(tasks)}
        for place, (solution, steps) in zip(portion.places, answers, strict=True)
    ]


def _objective(suite: Suite, place: int, solver: Solver, solution: Any) -> float:
    """Evaluate an answer, which is checked whatever a solver says."""
    instance = suite.tasks[place].instance
    if (why := instance.violation(solution)) is not None:
        raise NsaError(f"{solver.name} returned an infeasible solution of {suite.names[place]}: {why}")
    return float(instance.objective(solution))


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
    ValueError
        If they are none.
    """
    made: list[MeasuredRun] = []
    try:
        where = str(outcome["processor"]), int(outcome["processes"])
        pairs = product(portion.places, portion.solvers)
        for (place, solver), run in zip(pairs, outcome["runs"], strict=True):
            if (run["instance"], run["solver"]) != (portion.suite.names[place], solver.name):
                raise ValueError("runs of other solvers or instances")
            steps = None if run["steps"] is None else int(run["steps"])
            objective, wall, cpu = (float(run[name]) for name in ("objective", "seconds", "cpu_seconds"))
            measured = objective, wall, cpu, len(portion.places)
            made.append(MeasuredRun(portion.suite, place, solver, portion.seed, steps, *measured, *where))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    return made
