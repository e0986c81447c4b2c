"""The bin packing problem (section 4.3 of the paper)."""

from __future__ import annotations

from nsa_cli.core.problem import Column
from nsa_cli.core.words import listed
from nsa_cli.problems.bin.forms import FILE_SETS, FORMATS
from nsa_cli.problems.bin.heuristics import (
    best_fit_decreasing,
    first_fit_decreasing,
    next_fit_decreasing,
    singletons,
)
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.bin.move import MoveItem
from nsa_cli.problems.bin.squares import SumOfSquares
from nsa_cli.problems.items import CAPACITY, COLUMNS, WEIGHTS, ItemProblem


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
        "nfd": next_fit_decreasing,
        "singletons": singletons,
        "paper": singletons,
    }
    nested_ids = True
    answer_columns = ("bin", "item")
    bound_share = 0.2
    neighbourhoods = (MoveItem(), SumOfSquares())
    default_neighbourhood = "squares"

    def paper_capacity(self, size: int) -> float:
        return 1


problem = Bin()
