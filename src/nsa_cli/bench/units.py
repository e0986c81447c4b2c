"""Parts of a benchmark as units of work: what they are kept under, and runs as they travel or are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nsa_cli.bench.runs import MeasuredRun, Portion, Rig
from nsa_cli.bench.solvers import Monitor, Stopped
from nsa_cli.core.errors import InputError
from nsa_cli.core.machine import processor
from nsa_cli.io.journal import Journal, key_of
from nsa_cli.pool import Unit
from nsa_cli.version import __version__


def units_of(portions: Iterable[Portion]) -> list[Unit]:
    """Make a unit of each portion, whose key is the hash of all that its answers depend on.

    That is the instances as they are recorded, with their streams, the problem with the source of a user's
    functions, the solvers with budgets, settings and the policies' files, the seed, and the versions of the
    programs. Not so: threads, which processor, references, and which other portions there are.
    """
    digests: dict[str, list[str]] = {}
    units: list[Unit] = []
    for portion in portions:
        if portion.suite.label not in digests:
            digests[portion.suite.label] = [
                key_of({"instance": task.instance.record(), "stream": task.stream})
                for task in portion.suite.tasks
            ]
        units.append(_unit(portion, digests[portion.suite.label]))
    return units


def _unit(portion: Portion, digests: Sequence[str]) -> Unit:
    problem, suite = portion.suite.problem, portion.suite
    model = getattr(problem, "model", None)
    key = key_of(
        {
            "problem": [problem.name, problem.sense, None if model is None else model.digest],
            "instances": [digests[place] for place in portion.places],
            "solvers": [solver.identity(suite) for solver in portion.solvers],
            "seed": portion.seed,
            "version": __version__,
        }
    )
    work = sum(solver.expected_seconds(suite, len(portion.places)) for solver in portion.solvers)
    return Unit(key, work, portion)


#: In each process that measures.
_rig = Rig()


@dataclass(frozen=True)
class MeasurePortions:
    """Measures portions, as `nsa_cli.pool.Do` has it; gives outcomes that `runs_from` reads.

    Attributes
    ----------
    processes : int
        That measure at the same time.
    monitor : Monitor, optional
        Only where they are measured in this process.
    """

    processes: int
    monitor: Monitor | None = None

    def __call__(
        self, portions: Sequence[Portion], share: float, stopped: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        monitor = (self.monitor or Monitor())._replace(asked_to_stop=stopped)
        for k, portion in enumerate(portions):
            try:
                runs = _rig.measure(portion, monitor)
            except Stopped:
                return
            yield k, self._outcome(portion, runs)

    def _outcome(self, portion: Portion, runs: Sequence[MeasuredRun]) -> dict[str, Any]:
        names = ("steps", "objective", "seconds", "cpu_seconds")
        return {
            "runs": [
                {"instance": portion.suite.names[run.place], "solver": run.solver.name}
                | {name: getattr(run, name) for name in names}
                for run in runs
            ],
            "processor": processor(),
            "processes": self.processes,
        }


def runs_from(outcome: Any, portion: Portion) -> list[MeasuredRun]:
    """Make the runs of a portion again.

    Raises
    ------
    ValueError
        If they are none.
    """
    names, batch = portion.suite.names, len(portion.places)
    try:
        made: list[MeasuredRun] = []
        for (place, solver), run in zip(portion.pairs, outcome["runs"], strict=True):
            if (run["instance"], run["solver"]) != (names[place], solver.name):
                raise ValueError("runs of other solvers or instances")
            steps = None if run["steps"] is None else int(run["steps"])
            objective, wall, cpu = (float(run[name]) for name in ("objective", "seconds", "cpu_seconds"))
            if not (math.isfinite(objective) and min(wall, cpu) >= 0):
                raise ValueError("numbers out of range")
            made.append(
                MeasuredRun(portion.suite, place, solver, portion.seed, steps, objective, wall, cpu, batch)
            )
        processor, processes = str(outcome["processor"]), int(outcome["processes"])
        return [run._replace(processor=processor, processes=processes) for run in made]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None


def known_runs(journal: Journal, unit: Unit) -> list[MeasuredRun]:
    """Read the runs of a unit from a journal.

    Raises
    ------
    InputError
        If it has something else under the unit's key.
    """
    try:
        return runs_from(journal[unit.key], unit.payload)
    except ValueError as error:
        why = f"expected runs of {unit.payload.suite.label}, got none: {error}"
        raise InputError(why, str(journal.path), use={"again": None}) from None
