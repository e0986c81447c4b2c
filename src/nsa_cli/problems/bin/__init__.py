"""The bin packing problem (section 4.3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.bound import Bound
from nsa_cli.core.instance import Number
from nsa_cli.core.problem import COPIES, Budget, Column, Problem, Trained
from nsa_cli.problems.bin.formats import FILE_SETS, FORMATS
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing, singletons
from nsa_cli.problems.bin.instance import BinInstance

if TYPE_CHECKING:
    from nsa_cli.core.kernel.parts import Fused
    from nsa_cli.problems.bin.large_step.chains import BinLargeStep
    from nsa_cli.problems.bin.move.operations import BinOperations
    from nsa_cli.problems.bin.plot import BinDrawing
    from nsa_cli.problems.bin.squares.operations import SquaresOperations


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
    walks = ("paper", "squares")
    default_walk = "squares"

    def walking(self, walk: str) -> Problem[BinInstance]:
        return problem_by_squares if walk == BinBySquares.walk else super().walking(walk)

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

    def kernel(self) -> Fused:
        from nsa_cli.problems.bin.move.kernel import fused

        return fused

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

    def operations(self) -> BinOperations:
        from nsa_cli.problems.bin.move.operations import BinOperations

        return BinOperations()

    def drawing(self) -> BinDrawing:
        from nsa_cli.problems.bin.plot import BinDrawing

        return BinDrawing()

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-bins"

    def budget(self, instance: BinInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most; a temperature at which a bin is opened now and then."""
        if trained is not None:
            steps = max(min(200 * instance.size, 200_000), 50_000)
            chains = max(min(4_000 // instance.size, 8), 1)
            return Budget(steps, trained.t_start, trained.t_end, chains)
        steps = max(min(400 * instance.size, 400_000), 100_000)
        return Budget(steps, 0.2, 0.05, chains=max(min(8_000 // instance.size, 16), 1))


class BinBySquares(Bin):
    """The same by a walk on squared fills, which tells packings with equally many bins apart."""

    walk = "squares"
    reversible = False  # a bin that is closed stays so

    def walking(self, walk: str) -> Problem[BinInstance]:
        return problem if walk == problem.walk else super().walking(walk)

    def operations(self) -> SquaresOperations:  # type: ignore[override]
        from nsa_cli.problems.bin.squares.operations import SquaresOperations

        return SquaresOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.bin.squares.kernel import fused

        return fused

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-best"

    def budget(self, instance: BinInstance, trained: Trained | None = None) -> Budget:
        """As for the other walk, but for temperatures: measured with 10 N and 100 N steps."""
        budget = super().budget(instance, trained)
        return budget if trained else replace(budget, t_start=0.03, t_end=0.001)


problem = Bin()
problem_by_squares = BinBySquares()
