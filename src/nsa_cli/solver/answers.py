"""Results of chains that have ended: the best solution by exact evaluation, checked before it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from nsa_cli.anneal.loop import InstanceEnd
from nsa_cli.core.bound import Bound, relative_gap
from nsa_cli.core.errors import InfeasibleError
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Solution
from nsa_cli.core.machine import machine
from nsa_cli.core.problem import Task
from nsa_cli.report.result import Result
from nsa_cli.solver.batch import Batch
from nsa_cli.solver.settings import Settings
from nsa_cli.version import __version__

#: Share by which a user's bound may be off: nobody rounds outwards.
_USERS_ROUNDING = 1e-9


def solved(bound: Bound | None) -> bool:
    """Tell whether the bound's method has met an optimal solution."""
    return bound is not None and bound.exact and bound.solution is not None


def result_of(
    batch: Batch,
    task: Task,
    bound: Bound | None,
    end: InstanceEnd,
    seconds: dict[str, float],
    found_by: str = "annealing",
) -> Result:
    """Choose the best of the chains' solutions and the bound's, and make the result.

    Parameters
    ----------
    batch : Batch
    task : Task
        Of the batch.
    bound : Bound or None
    end : InstanceEnd
        How the instance's chains ended.
    seconds : dict
        ``setup`` and ``solve``.
    found_by : str
        As in `Result`, unless the bound's method has met a better solution.
    """
    instance, search, settings = task.instance, batch.search, batch.settings
    solutions: list[Solution] = list(end.best)
    if bound is not None and bound.solution is not None:
        solutions.append(bound.solution)
    winner, exact, violation = _best(task, solutions, bound, end.reason)
    if bound is not None and (winner == len(end.best) or solved(bound)):
        found_by = bound.method
    ran = end.step > 0 or not solved(bound)  # a proof may find a better one after the chains
    seconds = {"load": task.seconds, **seconds, "bound": 0.0 if bound is None else bound.seconds}
    init = settings.init
    return Result(
        problem=task.problem.name,
        sense=task.problem.sense,
        instance=instance,
        raw=solutions[winner],
        objective=instance.objective(solutions[winner]),
        unrounded=exact,
        violation=violation,
        bound=bound,
        stop_reason=end.reason,
        seed=settings.seed or 0,
        steps=end.step,
        chains=batch.chains if ran else 0,
        accepted=int(end.accepted[min(winner, len(end.accepted) - 1)]),
        method=search.method if ran else "exact",
        policy=search.policy if ran else "none",
        start="given" if isinstance(init, np.ndarray) else init or next(iter(task.problem.starts)),
        schedule=asdict(batch.planned) | ({} if batch.unit is None else {"unit": batch.unit}),
        backend=search.backend,
        device=search.device,
        threads=search.threads,
        seconds={**seconds, "total": sum(seconds.values())},
        version=__version__,
        manifest=_manifest(settings, search.digest, task.file),
        found_by=found_by,
        drawing=task.problem.drawing,
    )


def _best(
    task: Task, solutions: Sequence[Solution], bound: Bound | None, reason: str
) -> tuple[int, Exact, str | None]:
    """Best solution by exact evaluation, feasible ones first; its value, and the constraint that it violates.

    Raises
    ------
    InfeasibleError
        If it violates one, and cannot be an answer then.
    Exception
        If it violates the bound, or a constraint that searches cannot break: a fault.
    """
    instance, sense = task.instance, task.problem.sense
    objectives: list[Any] = [instance.exact_objective(solution) for solution in solutions]
    places = list(range(len(solutions)))
    if instance.may_be_infeasible:  # an objective says nothing where something else is wrong
        if feasible := [i for i in places if instance.violation(solutions[i]) is None]:
            places = feasible
        elif instance.fault(solutions[0]) is None:
            breaches = [instance.breach(solution) for solution in solutions]
            places = [i for i in places if breaches[i] == min(breaches)]
    winner = (min if sense == "min" else max)(places, key=objectives.__getitem__)
    if (why := instance.fault(solutions[winner])) is not None:
        if instance.may_be_infeasible and task.problem.built_in:
            late = "; the time limit ended the search, give it more" if reason == "time_limit" else ""
            raise InfeasibleError(f"no feasible solution was found: {why}{late}")
        raise task.problem.broken(f"moves lead to what is no solution: {why}")
    violation = instance.violation(solutions[winner])
    if violation is None and bound is not None and bound.beaten_by(objectives[winner], sense):
        gap = relative_gap(objectives[winner], bound.unrounded, sense)
        if task.problem.built_in or gap is None or gap < -_USERS_ROUNDING:
            found = instance.objective(solutions[winner])
            raise task.problem.broken(
                f"the answer {found} beats the bound {bound.value}", use={"bound": False}
            )
    return winner, objectives[winner], violation


def _manifest(settings: Settings, policy_sha256: str | None, file: str | None) -> dict[str, Any]:
    """Note what it takes to make a result again: version, settings, policy, machine."""
    return {
        "version": __version__,
        "seed": settings.seed or 0,
        "file": file,
        "settings": settings.given(),
        "policy_sha256": policy_sha256,
        "machine": machine(),
    }
