"""What a user gets: one answer, evaluated exactly, with how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nsa_cli.core.bound import Bound, relative_gap
from nsa_cli.core.instance import Instance, Number, Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """One solved instance.

    Attributes
    ----------
    problem : str
    sense : {'min', 'max'}
    instance : Instance
    solution : ndarray
        The best found; see the instance's class for its form.
    objective : int or float
        Exact evaluation of `solution` on `instance`.
    status : str
        ``optimal`` where a bound proves it, else ``feasible``, ``time_limit`` or ``interrupted``.
    stop_reason : str
        ``steps``, ``time_limit``, ``interrupted``, ``target``, ``gap``, ``no_improvement``, or ``optimal``
        where the bound was reached.
    bound : Bound or None
    found_by : str
        ``annealing``; the method of the bound where that met the solution on its way; ``annealing,
        uncompiled`` where kernels were still being compiled, for the first time, when the time was up;
        ``start`` where there was no time for a single step.
    seed, steps, chains, accepted : int
        `steps` are those of each chain; `accepted` are the moves of the chain that won.
    method : str
        ``anneal``: a policy proposes moves; ``large-step``: kicks with their repair are steps.
    policy : str
    schedule : dict
    backend, device : str
    threads : int
    seconds : dict
        ``load``, ``setup``, ``solve``, ``bound``, ``total``; of a batch, the instance's share.
    manifest : mapping
        What it takes to get the result again; see `nsa_cli.core.manifest`.
    """

    problem: str
    sense: str
    instance: Instance
    solution: Solution
    objective: Number
    status: str
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
    bound: Bound | None = None
    found_by: str = "annealing"
    method: str = "anneal"

    @property
    def gap(self) -> float | None:
        """Distance from the best known objective, or else from the bound, relative to it.

        Negative if this is better than the best known.
        """
        reference = self.instance.best_known
        if reference is None and self.bound is not None:
            reference = self.bound.value
        return None if reference is None else relative_gap(self.objective, reference, self.sense)

    def to_dict(self) -> dict[str, Any]:
        """Give the result under the keys of the contract; ready for strict JSON."""
        instance = self.instance
        return {
            "problem": self.problem,
            "name": instance.name,
            "n": instance.size,
            "status": self.status,
            "stop_reason": self.stop_reason,
            "objective": self.objective,
            "sense": self.sense,
            **instance.details(self.solution),
            "feasible": True,
            "solution": instance.to_ids(self.solution),
            "bound": None if self.bound is None else self.bound.to_dict(self.objective, self.sense),
            "gap": self.gap,
            "best_known": instance.best_known,
            "seed": self.seed,
            "steps": self.steps,
            "chains": self.chains,
            "accepted": self.accepted,
            "method": self.method,
            "policy": self.policy,
            "start": self.start,
            "found_by": self.found_by,
            "schedule": dict(self.schedule),
            "backend": self.backend,
            "device": self.device,
            "threads": self.threads,
            "seconds": {key: round(value, 6) for key, value in self.seconds.items()},
            "version": self.version,
            "manifest": dict(self.manifest),
        }
