"""What is true of a solution: whether it is feasible, what it is worth exactly, how far the best can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsa_cli.api import Task
from nsa_cli.core.bound import Bound, relative_gap
from nsa_cli.core.errors import DataError, UsageError, shown
from nsa_cli.core.instance import Number, Solution
from nsa_cli.limits import timed_bound
from nsa_cli.problems.solutions import Answer


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """What is true of a solution.

    Attributes
    ----------
    task : Task
    objective : int, float or None
        Evaluated exactly; None if the solution is not feasible.
    violation : str or None
        The first thing that makes it infeasible.
    bound : Bound or None
    remarks : tuple of str
        Where the file says something else.
    """

    task: Task
    objective: Number | None = None
    violation: str | None = None
    bound: Bound | None = None
    remarks: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """``optimal`` where the bound proves it, ``feasible`` or ``infeasible``."""
        if self.objective is None:
            return "infeasible"
        proved = self.bound is not None and self.bound.proves(self.objective, self.task.problem.sense)
        return "optimal" if proved else "feasible"

    def gap(self, reference: Number | None) -> float | None:
        """Distance from a reference, relative to it."""
        if self.objective is None or reference is None:
            return None
        return relative_gap(self.objective, reference, self.task.problem.sense)

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict under the keys that a result has; ready for strict JSON."""
        problem, instance, bound = self.task.problem, self.task.instance, None
        if self.bound is not None:
            bound = {
                "value": self.bound.value,
                "method": self.bound.method,
                "exact": self.bound.exact,
                "gap": self.gap(self.bound.value),
                "seconds": round(self.bound.seconds, 6),
            }
        reference = instance.best_known
        if reference is None and self.bound is not None:
            reference = self.bound.value
        return {
            "problem": problem.name,
            "name": instance.name,
            "n": instance.size,
            "status": self.status,
            "feasible": self.objective is not None,
            "violation": self.violation,
            "objective": self.objective,
            "sense": problem.sense,
            "bound": bound,
            "gap": self.gap(reference),
            "best_known": instance.best_known,
            "remarks": list(self.remarks),
        }


def examine(task: Task, answer: Answer, *, bound: bool = True) -> Verdict:
    """Check a solution, evaluate it, and bound it: by the file's own witness if that holds."""
    instance = task.instance
    try:
        solution: Solution = instance.from_ids(answer.ids)
        violation = instance.violation(solution)
    except DataError as error:
        violation = str(error)
    if violation is not None:
        return Verdict(task=task, violation=violation)
    objective = instance.objective(solution)
    remarks = _other_name(instance.name, answer.claims) + _false_objective(objective, answer.claims)
    found = None
    if bound:
        found, more = _claimed_bound(task, answer.claims)
        remarks += more
        found = found or timed_bound(task.problem, instance)
    return Verdict(task=task, objective=objective, bound=found, remarks=tuple(remarks))


def _other_name(name: str | None, claims: Mapping[str, Any]) -> list[str]:
    claimed = claims.get("name")
    if name is None or claimed in (None, name):
        return []
    return [f"the file says that it solves {shown(claimed)}"]


def _false_objective(objective: Number, claims: Mapping[str, Any]) -> list[str]:
    claimed = claims.get("objective")
    if isinstance(claimed, bool) or not isinstance(claimed, int | float):
        return []
    if claimed == objective or abs(claimed - objective) <= 1e-9 * abs(objective):
        return []
    return [f"the file says objective {claimed}, it is {objective}"]


def _claimed_bound(task: Task, claims: Mapping[str, Any]) -> tuple[Bound | None, list[str]]:
    """Compute the file's bound again from its witness."""
    claimed = claims.get("bound")
    if not isinstance(claimed, dict) or not isinstance(witness := claimed.get("witness"), dict):
        return None, []
    try:
        value = task.problem.recompute_bound(task.instance, witness)
    except DataError as error:
        return None, [f"the file's bound does not hold: {error}"]
    bound = Bound(value=value, method=str(claimed.get("method")), witness=witness)
    said = claimed.get("value")
    tighter = isinstance(said, int | float) and replace(bound, value=said).beaten_by(
        value, task.problem.sense
    )
    return bound, [f"the file says bound {said}, its witness gives {value}"] if tighter else []


def pair(tasks: Sequence[Task], answers: Sequence[Answer], source: str) -> list[tuple[Task, Answer]]:
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
