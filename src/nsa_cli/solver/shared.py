"""Instances as units of work that processes share out: their keys, and results that travel or are kept."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from nsa_cli.core.bound import Bound
from nsa_cli.core.errors import DataError, NsaError, shown
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.core.problem import Task
from nsa_cli.io.journal import key_of
from nsa_cli.policy.checkpoint import digest
from nsa_cli.pool import Stopped, Unit
from nsa_cli.report.result import Result
from nsa_cli.solver.search import choose_policy
from nsa_cli.solver.settings import Settings
from nsa_cli.version import __version__

#: Settings that change no answer: threads share out the chains of one.
_WITHOUT_EFFECT = ("threads",)


def units_of(tasks: Sequence[Task], settings: Settings) -> list[Unit]:
    """Make a unit of each instance, whose key is the hash of all that its answer depends on.

    That is the instance as it is recorded, the problem with the source of a user's functions, what is asked
    for (the settings that are given, the seed if it is), the policy's file, and the version of the program.
    Not so: the instance's name, that of the file and its place, threads, processes, where the answer goes and
    in which form. Of equal instances each has a key of its own.
    """
    asked = {**settings.given(), "seed": settings.seed, "init": settings.init}
    asked = {name: value for name, value in asked.items() if name not in _WITHOUT_EFFECT}
    seen: dict[str, int] = {}
    units: list[Unit] = []
    for task in tasks:
        model = getattr(task.problem, "model", None)
        functions = None if model is None else model.digest
        key = key_of(
            {
                "instance": {**task.instance.record(), "name": None},
                "problem": [task.problem.name, task.problem.sense, functions],
                "settings": asked,
                "policy": _policy_digest(task, settings),
                "stream": task.stream,
                "version": __version__,
            }
        )
        seen[key] = count = seen.get(key, 0) + 1
        units.append(Unit(key if count == 1 else f"{key}-{count}", expected_work(task, settings), task))
    return units


def _policy_digest(task: Task, settings: Settings) -> str | None:
    """Hash the policy that annealing would use; None where there is none, as the solve itself will say."""
    if settings.method == "large-step":
        return None
    try:
        return digest_once(choose_policy(task, settings), task.problem.name)
    except NsaError:
        return None


@cache
def digest_once(policy: str, problem: str) -> str | None:
    """Hash a policy's file, the first time."""
    return digest(policy, problem)


def expected_work(task: Task, settings: Settings) -> float:
    """Tell how much there is to do, roughly; as much for each where the time decides."""
    if settings.time_limit is not None and settings.steps is None:
        return 1.0
    size = task.instance.size
    return float(size + (size if settings.steps is None else settings.steps.of(size)))


@dataclass(frozen=True)
class SolveTasks:
    """Solves tasks, as `nsa_cli.pool.Do` has it; results come as `stripped` makes them.

    Attributes
    ----------
    settings : Settings
    """

    settings: Settings

    def __reduce__(self) -> Any:
        # What `started` counts from is another moment on each machine.
        return _elsewhere, (self.settings, time.time() - time.monotonic())

    def __call__(
        self, tasks: Sequence[Task], share: float, stopped: Stopped
    ) -> Iterator[tuple[int, Result | NsaError]]:
        from nsa_cli.solver.solve import solve_each

        for k, result in solve_each(tasks, self.settings, asked=stopped, share=share):
            yield k, result if isinstance(result, NsaError) else stripped(result)


def _elsewhere(settings: Settings, origin: float) -> SolveTasks:
    shift = origin - (time.time() - time.monotonic())
    return SolveTasks(replace(settings, started=settings.started + shift))


def stripped(result: Result) -> Result:
    """Leave out what the reader of a result has: the instance, and what is made of it."""
    bound = None if result.bound is None else replace(result.bound, solution=None)
    return replace(result, instance=None, drawing=Result.drawing, remarks=(), bound=bound)  # type: ignore[arg-type]


def completed(result: Result, task: Task, settings: Settings) -> Result:
    """Put back what `stripped` has left out; and `settings` as the user gave them."""
    return replace(
        result,
        instance=task.instance,
        drawing=task.problem.drawing,
        remarks=tuple(task.remarks()),
        manifest={**result.manifest, "settings": settings.given()},
    )


def outcome_of(result: Result) -> dict[str, Any]:
    """Give a result for a journal: as users get it, and its bound without rounding."""
    limit = None if result.bound is None else str(Fraction(result.bound.unrounded))
    return {"result": result.to_dict(), "limit": limit}


def result_from(outcome: Any, task: Task) -> Result:
    """Make the result again of what `outcome_of` gave; its solution is evaluated anew.

    Raises
    ------
    DataError
        If it is not the result of this instance.
    """
    name = task.instance.name or task.file
    try:
        result = outcome["result"]
        made = _result(result, None if outcome["limit"] is None else Fraction(outcome["limit"]), task)
        made.to_dict()
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise DataError(f"expected a result of {name}, got something else: {error}") from None
    same = made.objective == result["objective"]
    if not same and not task.problem.built_in:  # compiling may change the order of sums
        same = math.isclose(made.objective, result["objective"], rel_tol=1e-9, abs_tol=1e-9)
    if not same:
        raise DataError(
            f"{name}: the solution has the objective {made.objective}, got {shown(result['objective'])}"
        )
    return made


def _result(data: Mapping[str, Any], limit: Fraction | None, task: Task) -> Result:
    instance = task.instance
    raw: Solution = instance.checked(instance.from_ids(data["solution"]))
    bound = None
    if (given := data["bound"]) is not None:
        if limit is None:
            raise ValueError("a bound without its limit")
        exact: Exact = int(limit) if limit.denominator == 1 else limit
        fields = {name: given[name] for name in ("value", "method", "exact", "seconds", "witness")}
        bound = Bound(limit=exact, **fields)
    same = (
        *("stop_reason", "seed", "steps", "chains", "accepted", "method", "policy", "start", "found_by"),
        *("schedule", "backend", "device", "threads", "seconds", "version", "manifest"),
    )
    return Result(
        problem=task.problem.name,
        sense=task.problem.sense,
        instance=instance,
        raw=raw,
        objective=instance.objective(raw),
        unrounded=instance.exact_objective(raw),
        violation=instance.violation(raw),
        bound=bound,
        drawing=task.problem.drawing,
        remarks=tuple(task.remarks()),
        **{name: data[name] for name in same},
    )
