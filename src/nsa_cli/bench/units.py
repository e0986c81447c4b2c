"""Parts of a benchmark as units of work: what they are kept under, and runs as they travel or are kept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nsa_cli.bench.runs import MeasuredRun, Part, Rig
from nsa_cli.bench.solvers import Monitor, Stopped
from nsa_cli.bench.suites import Suite
from nsa_cli.core.errors import InputError
from nsa_cli.core.machine import processor
from nsa_cli.version import __version__
from nsa_cli.work.journal import Journal, key_of
from nsa_cli.work.sharing import Unit


def units_of(parts: Iterable[Part]) -> list[Unit]:
    """Make a unit of each part, whose key is the hash of all that its answers depend on.

    That is the instances as they are recorded, with their streams, the problem with the source of a user's
    functions, the solvers with budgets, settings and the policies' files, the seed, and the versions of the
    programs. Not so: threads, which processor, references, and which other parts there are.
    """
    digests: dict[str, list[str]] = {}
    return [
        _unit(part, digests.setdefault(part.suite.label, _digests(part.suite, digests))) for part in parts
    ]


def _digests(suite: Suite, known: dict[str, list[str]]) -> list[str]:
    """Hash the instances of a suite, unless that is done."""
    if suite.label in known:
        return known[suite.label]
    return [key_of({"instance": task.instance.record(), "stream": task.stream}) for task in suite.tasks]


def _unit(part: Part, digests: Sequence[str]) -> Unit:
    problem, suite = part.suite.problem, part.suite
    model = getattr(problem, "model", None)
    key = key_of(
        {
            "problem": [problem.name, problem.sense, None if model is None else model.digest],
            "instances": [digests[place] for place in part.places],
            "solvers": [solver.identity(suite) for solver in part.solvers],
            "seed": part.seed,
            "version": __version__,
        }
    )
    work = sum(solver.expected_seconds(suite, len(part.places)) for solver in part.solvers)
    return Unit(key, work, part)


class Measure:
    """Measures parts, as `nsa_cli.work.sharing.Do` has it; gives outcomes that `runs_from` reads.

    Parameters
    ----------
    monitor : Monitor
    processes : int
        That measure at the same time on this machine.
    """

    def __init__(self, monitor: Monitor, processes: int = 1) -> None:
        self._monitor, self._processes, self._rig = monitor, processes, Rig()

    def __call__(self, parts: Sequence[Part], share: float, stopped: Any) -> Iterator[tuple[int, Any]]:
        monitor = self._monitor._replace(asked_to_stop=stopped)
        for k, part in enumerate(parts):
            try:
                runs = self._rig.measure(part, monitor)
            except Stopped:
                return
            yield k, self._outcome(part, runs)

    def _outcome(self, part: Part, runs: Sequence[MeasuredRun]) -> dict[str, Any]:
        names = ("steps", "objective", "seconds", "cpu_seconds")
        return {
            "runs": [
                {"instance": part.suite.names[run.place], "solver": run.solver.name}
                | {name: getattr(run, name) for name in names}
                for run in runs
            ],
            "processor": processor(),
            "processes": self._processes,
        }


def runs_from(outcome: Any, part: Part) -> list[MeasuredRun]:
    """Make the runs of a part again.

    Raises
    ------
    ValueError
        If they are none.
    """
    try:
        where = str(outcome["processor"]), int(outcome["processes"])
        kept = outcome["runs"]
        made = [
            MeasuredRun(
                part.suite,
                place,
                solver,
                part.seed,
                None if run["steps"] is None else int(run["steps"]),
                *(float(run[name]) for name in ("objective", "seconds", "cpu_seconds")),
                len(part.places),
                *where,
            )
            for (place, solver), run in zip(part.pairs, kept, strict=True)
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
    for (place, solver), run, numbers in zip(part.pairs, kept, made, strict=True):
        if (run["instance"], run["solver"]) != (part.suite.names[place], solver.name):
            raise ValueError("runs of other solvers or instances")
        if not (math.isfinite(numbers.objective) and numbers.seconds >= 0 and numbers.cpu_seconds >= 0):
            raise ValueError("numbers out of range")
    return made


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
