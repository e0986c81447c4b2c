"""Upper bounds of the knapsack: the Lagrangian dual, and dynamic programming over the core."""
