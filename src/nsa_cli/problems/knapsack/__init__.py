"""The 0-1 knapsack problem (section 4.2 of the paper)."""

from __future__ import annotations

from nsa_cli.core.problem import Column
from nsa_cli.core.words import listed
from nsa_cli.problems.items import CAPACITY, COLUMNS, WEIGHTS, ItemNeighbourhood, ItemProblem
from nsa_cli.problems.knapsack.forms import FILE_SETS, FORMATS
from nsa_cli.problems.knapsack.heuristics import empty, greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance


class FlipItem(ItemNeighbourhood[KnapsackInstance]):
    """Value; one item goes in or out (section 4.2)."""

    most_steps = 400_000
    temperatures = (0.2, 0.02)

    def default_policy(self, instance: KnapsackInstance) -> str:
        """Uniform proposals below 25 items, where a policy learnt on 50 leaves too many moves out."""
        return "uniform" if instance.size < 25 else "knapsack-es-best"


class Knapsack(ItemProblem[KnapsackInstance]):
    """Most valuable set of items within a capacity."""

    name = "knapsack"
    instance_class = KnapsackInstance
    paper_name = "knap"
    summary = "0-1 knapsack: the most valuable items within a capacity"
    sense = "max"
    record_keys = (("values",), ("weights",))
    columns = (
        Column(
            "values",
            listed(
                "value, values, profit, profits, price, prices, v, p, benefit, benefits, utility, utilities, "
                "worth, gain, gains, item value, item values, nutzen, wert, valeur, valor, valore"
            ),
        ),
        Column("weights", WEIGHTS),
        *COLUMNS,
    )
    column_sets = (("values", "weights"),)
    words = {"capacity": (*CAPACITY, "knapsack capacity", "sack capacity", "knapsack size")}
    neutral = {"num knapsacks": (1,), "knapsacks": (1,), "dimensions": (1,), "num constraints": (1,)}
    formats = FORMATS
    file_sets = FILE_SETS
    arrays = {"values": 1, "weights": 1, "capacity": 0, "copies": 1}
    starts = {"greedy": greedy, "empty": empty, "paper": empty}
    answer_columns = ("item", "item")
    neighbourhoods = (FlipItem(),)
    bound_share = 0.5

    def paper_capacity(self, size: int) -> float:
        """12.5, 25, 25 for N = 50, 100, 200, else N / 8."""
        return {50: 12.5, 100: 25.0, 200: 25.0}.get(size, size / 8)


problem = Knapsack()
