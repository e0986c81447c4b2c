"""The bin packing problem (section 4.3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.bound import Bound
from nsa_cli.core.instance import Number
from nsa_cli.core.problem import COPIES, Column, Problem
from nsa_cli.problems.bin.formats import FILE_SETS, FORMATS
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing, singletons
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.move import MoveItem
from nsa_cli.problems.bin.squares import SumOfSquares

if TYPE_CHECKING:
    from nsa_cli.problems.bin.large_step.chains import BinLargeStep
    from nsa_cli.problems.bin.plot import BinDrawing


class Bin(Problem[BinInstance]):
    """All items in as few bins as possible."""

    name = "bin"
    summary = "bin packing: all items in as few bins as possible"
    record_keys = (("weights", "sizes"),)
    columns = (
        Column("weights", ("weight", "weights", "size", "sizes", "length")),
        COPIES,
        Column("names", ("name", "item", "id", "label"), required=False, text=True),
    )
    formats = FORMATS
    file_sets = FILE_SETS
    aliases = {"bin_capacity": "capacity"}
    arrays = {"weights": 1, "capacity": 0, "copies": 1}
    starts = {
        "greedy": first_fit_decreasing,
        "ffd": first_fit_decreasing,
        "bfd": best_fit_decreasing,
        "singletons": singletons,
        "paper": singletons,
    }
    nested_ids = True
    answer_columns = ("bin", "item")
    settings = ("capacity", *Problem.settings)
    bound_share = 0.2
    paper_sizes = (50, 100, 200, 500, 1000, 2000)
    neighbourhoods = (MoveItem(), SumOfSquares())
    default_neighbourhood = "squares"

    def from_record(self, data: Mapping[str, Any]) -> BinInstance:
        return BinInstance.from_record(data)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> BinInstance:
        """Weights uniform in [0, 1), capacity 1."""
        return BinInstance(name=name, weights=rng.random(size))

    def paper_set(self, size: int, count: int | None = None) -> Sequence[BinInstance]:
        """1,000 instances from torch's generator with seed 0."""
        if size not in self.paper_sizes:
            return super().paper_set(size, count)
        import torch

        weights = torch.rand(1000, size, generator=torch.Generator().manual_seed(0)).double().numpy()
        return [BinInstance(name=f"bin{size}-{i}", weights=w) for i, w in enumerate(weights[:count], start=1)]

    def large_step(self) -> BinLargeStep:
        from nsa_cli.problems.bin.large_step.chains import BinLargeStep

        return BinLargeStep()

    def bound(
        self,
        instance: BinInstance,
        *,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> Bound:
        from nsa_cli.problems.bin import bounds

        return bounds.bound(instance, seconds, stop)

    def recompute_bound(self, instance: BinInstance, witness: Mapping[str, Any]) -> Number:
        from nsa_cli.problems.bin import bounds

        return bounds.recompute(instance, witness)

    def drawing(self) -> BinDrawing:
        from nsa_cli.problems.bin.plot import BinDrawing

        return BinDrawing()


problem = Bin()
