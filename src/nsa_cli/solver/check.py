"""Solutions from files: checked, evaluated exactly and bounded, as those of a solve are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from nsa_cli.core.bound import Bound, is_as_good
from nsa_cli.core.errors import DataError, UsageError, shown, visible
from nsa_cli.core.exact import Exact, exact_number, rounded
from nsa_cli.core.instance import Instance, Number
from nsa_cli.core.problem import Task
from nsa_cli.problems.solutions import ClaimedSolution, solution_of
from nsa_cli.report.result import Evaluation
from nsa_cli.solver.bounds import timed_bound
from nsa_cli.solver.proving import proved

#: Share by which other programs' sums of binary numbers may differ.
_ROUNDING = 1e-12


def evaluate(
    task: Task, answer: ClaimedSolution, *, bound: bool = True, known: Bound | None = None
) -> Evaluation:
    """Check a solution, evaluate it, and bound it: by the file's own witness if that holds.

    Parameters
    ----------
    task : Task
    answer : ClaimedSolution
    bound : bool
        Whether to bound it.
    known : Bound, optional
        A bound that holds.

    Raises
    ------
    DataError
        If most of it are no ids of the instance: it is a solution of something else, or none at all.
    """
    problem, instance = task.problem, task.instance
    evaluation = Evaluation(problem=problem.name, sense=problem.sense, instance=instance)
    try:
        solution, remarks = solution_of(answer.ids, problem, instance)
        violation = instance.violation(solution)
        violation = violation and violation + _numbering_hint(answer.ids, instance)
    except DataError as error:
        if not _is_of(answer.ids, instance):
            raise DataError(f"holds no solution of this instance: {error}") from None
        violation, remarks = str(error), []
    if violation is not None:
        return replace(evaluation, violation=violation, remarks=tuple(remarks))
    objective, exact = instance.objective(solution), instance.exact_objective(solution)
    remarks += _other_name(instance.name, answer.claims) + _false_objective(objective, exact, answer.claims)
    found = known
    if bound and found is None:
        found, more = _claimed_bound(task, answer.claims)
        remarks += more
        found = found or timed_bound(problem, instance)
        if answer.claims.get("status") == "optimal":
            found = proved(task, found, solution)
    made = replace(evaluation, objective=objective, unrounded=exact, bound=found)
    if bound and answer.claims.get("status") == "optimal" and not made.proved:
        remarks.append("the file says that it is optimal, which the bound does not prove")
    return replace(made, remarks=tuple(remarks))


def _is_of(ids: Sequence[Any], instance: Instance) -> bool:
    """Tell whether half of what should be ids can be: numbers, or names that the instance has."""
    flat = [x for group in ids for x in (group if isinstance(group, list) else [group])]
    names, elements = [x for x in flat if isinstance(x, str)], instance.elements
    foreign = sum(elements is None or x not in elements for x in names)
    return 2 * foreign <= len(flat)


def _numbering_hint(ids: Sequence[Any], instance: Instance) -> str:
    """Say whether ids that are not feasible would be, were they positions that count from 0."""
    elements = instance.elements
    flat = ids and all(isinstance(x, int) and 0 <= x < instance.size for x in ids)
    if elements is None or not flat or elements.ids[0] != 1:
        return ""
    other = instance.from_ids([elements.ids[x] for x in ids])
    return "" if instance.violation(other) else "; counted from 0 it would be feasible"


def _other_name(name: str | None, claims: Mapping[str, Any]) -> list[str]:
    claimed = claims.get("name")
    if name is None or claimed in (None, name):
        return []
    return [f"the file says that it solves {shown(claimed)}"]


def _false_objective(objective: Number, exact: Exact, claims: Mapping[str, Any]) -> list[str]:
    claimed, told = _finite(claims.get("objective")), Fraction(objective)
    if claimed is None or claimed == told:
        return []
    # Others round sums of binary numbers as they add them; what prints in full has one value.
    if exact_number(objective) != exact and abs(claimed - told) <= Fraction(_ROUNDING) * abs(told):
        return []
    return [f"the file says objective {shown(claims['objective'])}, it is {objective}"]


def _finite(value: Any) -> Fraction | None:
    """Take a number of any size from a file; None if it is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
        return None
    return Fraction(value)


def _claimed_bound(task: Task, claims: Mapping[str, Any]) -> tuple[Bound | None, list[str]]:
    """Compute the file's bound again from its witness."""
    claimed = claims.get("bound")
    if not isinstance(claimed, dict) or not isinstance(witness := claimed.get("witness"), dict):
        return None, []
    try:
        value = task.problem.recompute_bound(task.instance, witness)
    except DataError as error:
        return None, [f"the file's bound does not hold: {error}"]
    sense, said = task.problem.sense, _finite(claimed.get("value"))
    bound = Bound.of(value, sense, method=visible(str(claimed.get("method")))[:80], witness=witness)
    # What is exact is rounded to the nearest.
    if said is None or said == rounded(value) or is_as_good(said, bound.value, sense):
        return bound, []
    return bound, [f"the file says bound {shown(claimed['value'])}, its witness gives {value}"]


def pair(
    tasks: Sequence[Task], answers: Sequence[ClaimedSolution], source: str
) -> list[tuple[Task, ClaimedSolution]]:
    """Find the instance of each solution: by name where both have names, else by order.

    Raises
    ------
    UsageError
        If the numbers differ and names do not help.
    """
    by_name = {task.instance.name: task for task in tasks if task.instance.name is not None}
    names = [str(answer.claims.get("name")) for answer in answers]
    if len(by_name) == len(tasks) and len(set(names)) == len(names) and set(names) <= set(by_name):
        return [(by_name[name], answer) for name, answer in zip(names, answers, strict=True)]
    if len(tasks) != len(answers):
        raise UsageError(
            f"{source}: holds {len(answers)} solutions, the instance file {len(tasks)} instances, and the "
            f"names do not tell which belongs to which (the first is {shown(names[0])})"
        )
    return list(zip(tasks, answers, strict=True))
