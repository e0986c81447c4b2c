"""The 0-1 knapsack problem (section 4.2 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.bound import Bound
from nsa_cli.core.instance import Number
from nsa_cli.core.problem import COPIES, Column, Problem
from nsa_cli.problems.knapsack.flip import FlipItem
from nsa_cli.problems.knapsack.formats import FILE_SETS, FORMATS
from nsa_cli.problems.knapsack.heuristics import empty, greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance

if TYPE_CHECKING:
    from nsa_cli.problems.knapsack.large_step.chains import KnapsackLargeStep
    from nsa_cli.problems.knapsack.plot import KnapsackDrawing


class Knapsack(Problem[KnapsackInstance]):
    """Most valuable set of items within a capacity."""

    name = "knapsack"
    summary = "0-1 knapsack: the most valuable items within a capacity"
    sense = "max"
    record_keys = (("values",), ("weights",))
    columns = (
        Column("values", ("value", "values", "profit", "profits", "price")),
        Column("weights", ("weight", "weights", "size")),
        COPIES,
        Column("names", ("name", "item", "id", "label"), required=False, text=True),
    )
    formats = FORMATS
    file_sets = FILE_SETS
    aliases = {"profits": "values"}
    arrays = {"values": 1, "weights": 1, "capacity": 0, "copies": 1}
    starts = {"greedy": greedy, "empty": empty, "paper": empty}
    answer_columns = ("item", "item")
    neighbourhoods = (FlipItem(),)
    settings = ("capacity", *Problem.settings)
    bound_share = 0.5
    paper_sizes = (50, 100, 200, 500, 1000, 2000)

    def from_record(self, data: Mapping[str, Any]) -> KnapsackInstance:
        return KnapsackInstance.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> KnapsackInstance:
        """Values and weights uniform in [0, 1); capacity 12.5, 25, 25 for N = 50, 100, 200, else N / 8."""
        return KnapsackInstance(
            name=name, values=rng.random(size), weights=rng.random(size), capacity=_capacity(size)
        )

    def paper_set(self, size: int, count: int | None = None) -> Sequence[KnapsackInstance]:
        """1,000 instances from torch's generator with seed 0: all values, then all weights."""
        if size not in self.paper_sizes:
            return super().paper_set(size, count)
        import torch

        generator = torch.Generator().manual_seed(0)
        values, weights = (torch.rand(1000, size, generator=generator).double().numpy() for _ in range(2))
        return [
            KnapsackInstance(name=f"knap{size}-{i}", values=v, weights=w, capacity=_capacity(size))
            for i, (v, w) in enumerate(zip(values[:count], weights[:count], strict=True), start=1)
        ]

    def large_step(self) -> KnapsackLargeStep:
        from nsa_cli.problems.knapsack.large_step.chains import KnapsackLargeStep

        return KnapsackLargeStep()

    def bound(
        self,
        instance: KnapsackInstance,
        *,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> Bound | None:
        from nsa_cli.problems.knapsack.bounds import dual

        return dual.bound(instance, seconds, stop)

    def recompute_bound(self, instance: KnapsackInstance, witness: Mapping[str, Any]) -> Number:
        from nsa_cli.problems.knapsack.bounds import dual

        return dual.recompute(instance, witness)

    def drawing(self) -> KnapsackDrawing:
        from nsa_cli.problems.knapsack.plot import KnapsackDrawing

        return KnapsackDrawing()


def _capacity(size: int) -> float:
    return {50: 12.5, 100: 25.0, 200: 25.0}.get(size, size / 8)


problem = Knapsack()
