"""A solution evaluated exactly, and the result of a solve: the same evaluation with how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nsa_cli.core.bound import Bound, relative_gap
from nsa_cli.core.exact import Exact
from nsa_cli.core.instance import Instance, Number, Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Feasibility, objective, bound and gap of a solution.

    Attributes
    ----------
    problem : str
    sense : {'min', 'max'}
    instance : Instance
    objective : int, float or None
        Exact evaluation on `instance`; None if the solution is not feasible.
    unrounded : int, float, Fraction or None
        The same without the rounding that a float has; `objective` by default.
    bound : Bound or None
    violation : str or None
        The first thing that makes the solution infeasible.
    remarks : tuple of str
        Where the file of the solution says something else.
    """

    problem: str
    sense: str
    instance: Instance
    objective: Number | None = None
    unrounded: Exact | None = None
    bound: Bound | None = None
    violation: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether the bound proves that the solution is optimal."""
        exact = self._exact
        return exact is not None and self.bound is not None and self.bound.proves(exact, self.sense)

    @property
    def _exact(self) -> Exact | None:
        return self.objective if self.unrounded is None else self.unrounded

    @property
    def status(self) -> str:
        """``optimal`` where the bound proves it, else ``feasible`` or ``infeasible``."""
        if self.objective is None:
            return "infeasible"
        return "optimal" if self.proved else "feasible"

    @property
    def gap(self) -> float | None:
        """Distance from the best known objective, or else from the bound, relative to it.

        Negative if this is better than the best known.
        """
        best, exact = self.instance.best_known, self._exact
        if exact is None or self.objective is None:
            return None
        if best is not None:
            return relative_gap(self.objective, best, self.sense)
        return None if self.bound is None else relative_gap(exact, self.bound.unrounded, self.sense)

    def head(self) -> dict[str, Any]:
        """Problem, instance and status under the keys of the contract."""
        return {
            "problem": self.problem,
            "name": self.instance.name,
            "n": self.instance.size,
            "status": self.status,
        }

    def worth(self) -> dict[str, Any]:
        """Bound and gap under the keys of the contract."""
        bound = None
        if self.bound is not None and (exact := self._exact) is not None:
            bound = self.bound.to_dict(exact, self.sense)
        return {"bound": bound, "gap": self.gap, "best_known": self.instance.best_known}

    def to_dict(self) -> dict[str, Any]:
        """Give the evaluation under the keys of the contract; ready for strict JSON."""
        return {
            **self.head(),
            "feasible": self.objective is not None,
            "violation": self.violation,
            "objective": self.objective,
            "sense": self.sense,
            **self.worth(),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Evaluation):
    """One solved instance.

    Attributes
    ----------
    objective : int or float
    solution : ndarray
        The best found; see the instance's class for its form.
    stop_reason : str
        ``steps``, ``time_limit``, ``interrupted``, ``target``, ``gap``, ``no_improvement``, or ``optimal``
        where the bound was reached.
    found_by : str
        ``annealing``; the method of the bound where that met the solution on its way; ``start`` where there
        was no time for a single step.
    seed, steps, chains, accepted : int
        `steps` are those of each chain; `accepted` are the moves of the chain that won.
    method : str
        ``anneal``: a policy proposes moves; ``large-step``: each step is a kick with its repair.
    policy : str
    schedule : dict
    backend, device : str
    threads : int
    seconds : dict
        ``load``, ``setup``, ``solve``, ``bound``, ``total``; of a batch, the instance's share.
    manifest : mapping
        What it takes to get the result again; see `nsa_cli.core.manifest`.
    """

    objective: Number
    solution: Solution
    stop_reason: str
    seed: int
    steps: int
    chains: int
    accepted: int
    policy: str
    start: str
    schedule: Mapping[str, Any]
    backend: str
    device: str
    threads: int
    seconds: Mapping[str, float]
    version: str
    manifest: Mapping[str, Any] = field(default_factory=dict)
    found_by: str = "annealing"
    method: str = "anneal"

    @property
    def status(self) -> str:
        """``optimal`` where a bound proves it, else ``feasible``, ``time_limit`` or ``interrupted``."""
        if self.proved and self.stop_reason != "interrupted":
            return "optimal"
        return self.stop_reason if self.stop_reason in ("time_limit", "interrupted") else "feasible"

    def to_dict(self) -> dict[str, Any]:
        """Give the result under the keys of the contract; ready for strict JSON."""
        own = (
            *("seed", "steps", "chains", "accepted", "method", "policy", "start", "found_by", "schedule"),
            *("backend", "device", "threads", "seconds", "version", "manifest"),
        )
        return {
            **self.head(),
            "stop_reason": self.stop_reason,
            "objective": self.objective,
            "sense": self.sense,
            **self.instance.details(self.solution),
            "feasible": True,
            "solution": self.instance.to_ids(self.solution),
            **self.worth(),
            **{name: getattr(self, name) for name in own},
            "schedule": dict(self.schedule),
            "seconds": {key: round(value, 6) for key, value in self.seconds.items()},
            "manifest": dict(self.manifest),
        }
