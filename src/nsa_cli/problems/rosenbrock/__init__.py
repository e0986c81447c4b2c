"""Rosenbrock's function (section 4.1 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.instance import Number, Solution
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Draws, Problem
from nsa_cli.problems.rosenbrock.instance import RosenbrockInstance

#: Starts of training seldom are further out, along an axis.
_SPREAD = 4.0

#: Coordinates of all chains together, unless a number of chains is given: memory for them is a small matter.
_COORDINATES = 1_000_000


def given_or_normal(instance: RosenbrockInstance, draws: Draws) -> Solution:
    """Start where the file says, else at a standard normal point."""
    return normal(instance, draws) if instance.x0 is None else instance.x0.copy()


def normal(instance: RosenbrockInstance, draws: Draws) -> Solution:
    """Start at a standard normal point."""
    from statistics import NormalDist

    quantile = NormalDist().inv_cdf
    return np.array([quantile(u) for u in draws(instance.dim).tolist()])


class GaussianStep(Neighbourhood[RosenbrockInstance]):
    """Gaussian steps in all coordinates (section 4.1)."""

    def default_policy(self, instance: RosenbrockInstance) -> str:
        """Learnt sigma on functions like those of training, elsewhere a constant one.

        Within 5,000 steps of 64 chains it gets five times as low (100 functions, median).
        """
        near = instance.x0 is None or bool(np.abs(instance.x0).max() <= _SPREAD)
        known = instance.dim == 2 and near and 0 <= instance.a <= 1 and 0 < instance.b <= 100
        return "rosenbrock-es-best" if known else "uniform"

    def budget(self, instance: RosenbrockInstance, trained: Trained | None = None) -> Budget:
        """A second of the reference engine, down to where a step of sigma seldom improves."""
        return Budget(5_000, 1.0, 1e-4, chains=min(max(_COORDINATES // instance.dim, 1), 64))


class Rosenbrock(Problem[RosenbrockInstance]):
    """Minimum of Rosenbrock's function, any a and b."""

    name = "rosenbrock"
    summary = "Rosenbrock's function: the lowest point of a curved valley"
    record_keys = (("a",), ("b",))
    words = {"dim": ("dimension", "dimensions", "n")}
    starts = {"given": given_or_normal, "random": normal, "paper": normal}
    answer_columns = ("coordinate", "value")
    neighbourhoods = (GaussianStep(),)
    settings = ("a", "b", "dim", "x0", *Problem.settings)

    def from_record(self, data: Mapping[str, Any]) -> RosenbrockInstance:
        return RosenbrockInstance.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> RosenbrockInstance:
        """``a`` uniform in (0, 1), ``b`` in (0, 100), a standard normal start; `size` dimensions."""
        a, b = rng.random(), 100 * rng.random()
        return RosenbrockInstance(name=name, a=a, b=b, dim=size, x0=rng.standard_normal(size))

    def samples(self, rng: np.random.Generator) -> Sequence[RosenbrockInstance]:
        """In the plane, for which the policies were trained."""
        return [self.generate(2, rng)]

    def bound(self, instance: RosenbrockInstance, clock: Clock | None = None) -> Bound:
        """A sum of squares with factors that are not negative is not negative, in any dimension."""
        return Bound(value=0.0, method="sum of squares", witness={})

    def recompute_bound(self, instance: RosenbrockInstance, witness: Mapping[str, Any]) -> Number:
        return 0.0


problem = Rosenbrock()
