"""Large steps of the knapsack: toggle an item or two, eject, and refill greedily."""

from nsa_cli.problems.knapsack.large_step.chains import KnapsackLargeStep

large_step = KnapsackLargeStep()
