"""Sum of squares: maximise the sum of squared loads; an item moves to another bin, or two items swap.

Most moves of one item leave the number of bins as it is, and then the paper's energy does not tell better
from worse. The sum of squared loads does: it grows when a full bin becomes fuller at the cost of an emptier
one (Falkenauer 1996).
"""

from __future__ import annotations

from dataclasses import replace

from nsa_cli.core.neighbourhood import Budget, Trained
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.move import MoveItem


class SumOfSquares(MoveItem):
    """Number of bins less the sum of squared loads; an item moves to another bin, or two items swap."""

    name = "squares"

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-best"

    def budget(self, instance: BinInstance, trained: Trained | None = None) -> Budget:
        """Steps and chains of the paper's; temperatures measured with 10 N and 100 N steps."""
        budget = super().budget(instance, trained)
        return budget if trained else replace(budget, t_start=0.03, t_end=0.001)
