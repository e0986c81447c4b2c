"""Upper bounds of the knapsack: the Lagrangian dual, and dynamic programming over the core."""

from nsa_cli.problems.knapsack.bound.dual import bound, recompute

__all__ = ["bound", "recompute"]
