"""Neighbourhoods of bin packing: the paper's, and moves and swaps on the sum of squared loads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.problems.bin.instance import BinInstance

if TYPE_CHECKING:
    from nsa_cli.core.kernel.hooks import Fused
    from nsa_cli.problems.bin.operations import BinOperations
    from nsa_cli.problems.bin.squares import SquaresOperations


class Paper(Neighbourhood[BinInstance]):
    """Number of bins; an item moves to another bin (section 4.3)."""

    def operations(self) -> BinOperations:
        from nsa_cli.problems.bin.operations import BinOperations

        return BinOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.bin.kernel import fused

        return fused

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


class Squares(Paper):
    """Number of bins less squared loads; an item moves to another bin or swaps places with another."""

    name = "squares"
    reversible = False  # a bin that is closed stays so

    def operations(self) -> SquaresOperations:  # type: ignore[override]
        from nsa_cli.problems.bin.squares import SquaresOperations

        return SquaresOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.bin.squares_kernel import fused

        return fused

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-best"

    def budget(self, instance: BinInstance, trained: Trained | None = None) -> Budget:
        """Steps and chains of the paper's; temperatures measured with 10 N and 100 N steps."""
        budget = super().budget(instance, trained)
        return budget if trained else replace(budget, t_start=0.03, t_end=0.001)
