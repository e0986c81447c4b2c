"""The bin packing problem (section 4.3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nsa_cli.core.problem import Column
from nsa_cli.core.words import listed
from nsa_cli.problems.bin.forms import FILE_SETS, FORMATS
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing, singletons
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.items import CAPACITY, COLUMNS, WEIGHTS, ItemNeighbourhood, ItemProblem

if TYPE_CHECKING:
    from nsa_cli.kernels.hooks import Fused
    from nsa_cli.problems.bin.operations import SquaresOperations


class MoveItem(ItemNeighbourhood[BinInstance]):
    """Number of bins; an item moves to another bin with room for it (section 4.3)."""

    most_steps = 200_000
    temperatures = (0.2, 0.05)  # a bin is opened now and then

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-bins"


class SumOfSquares(MoveItem):
    """Number of bins less the sum of squared loads; an item moves to another bin, or two items swap.

    Most moves of one item leave the number of bins as it is, and then the paper's energy does not tell better
    from worse. The sum of squared loads does: it grows when a full bin becomes fuller at the cost of an
    emptier one (Falkenauer 1996).
    """

    name = "squares"
    temperatures = (0.03, 0.001)  # measured with 10 N and 100 N steps

    def operations(self) -> SquaresOperations:
        from nsa_cli.problems.bin.operations import SquaresOperations

        return SquaresOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.bin.fused import squares

        return squares

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-best"


class Bin(ItemProblem[BinInstance]):
    """All items in as few bins as possible."""

    name = "bin"
    instance_class = BinInstance
    paper_name = "bin"
    summary = "bin packing: all items in as few bins as possible"
    record_keys = (("weights",),)
    columns = (
        Column("weights", (*WEIGHTS, "length", "lengths", "width", "widths")),
        *COLUMNS,
    )
    column_sets = (("weights",),)
    words = {
        "capacity": CAPACITY
        + listed(
            "bin length, bin width, bin volume, roll length, roll width, stock length, stock width, "
            "stock size, board length, container capacity, container size, parent length"
        )
    }
    harmless = listed("value, values, profit, profits, price, prices, cost, costs")
    formats = FORMATS
    file_sets = FILE_SETS
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
    bound_share = 0.2
    neighbourhoods = (MoveItem(), SumOfSquares())
    default_neighbourhood = "squares"

    def samples(self, rng: np.random.Generator) -> Sequence[BinInstance]:
        """With one whose bound takes prices of items."""
        priced = {"weights": [15, 13, 11, 9, 8, 2], "capacity": 29}
        return [*super().samples(rng), self.from_record(priced)]

    def paper_capacity(self, size: int) -> float:
        return 1


problem = Bin()
