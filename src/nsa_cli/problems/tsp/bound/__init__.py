"""Lower bounds on tours: the 1-tree bound of Held and Karp, and the dynamic programme for a dozen cities."""

from nsa_cli.problems.tsp.bound.held_karp import bound, recompute

__all__ = ["bound", "recompute"]
