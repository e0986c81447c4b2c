"""Large steps of the knapsack: toggle an item or two, eject, and refill greedily."""
