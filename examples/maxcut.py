"""Maximum cut: colour the vertices of a weighted graph so that heavy edges join different colours.

nsa generate examples/maxcut.py:MaxCut --size 30 | nsa solve - --problem examples/maxcut.py:MaxCut
"""

import numpy as np

from nsa_cli.user import UserProblem, flip, subset


def gain(weights, x, vertex):
    """Weight from a vertex to its own colour less weight to the other: the gain of a flip."""
    total = 0
    for other in range(len(x)):
        total += weights[vertex, other] if x[other] == x[vertex] else -weights[vertex, other]
    return total


class MaxCut(UserProblem):
    """Flip the colour of one vertex at a time."""

    name = "maxcut"
    summary = "maximum cut: two colours for the vertices, as much weight as possible between them"
    sense = "max"
    keys = ("weights",)  # symmetric, zero diagonal
    solution = subset("weights")
    moves = (flip,)
    feature_names = ("gain", "total weight", "temperature")

    def cost(data, x):
        """Weight between the colours with its sign turned, each edge once."""
        total = 0
        for i in range(len(x)):
            for j in range(i):
                if x[i] != x[j]:
                    total -= data.weights[i, j]
        return total

    def delta(data, x, move):
        return -gain(data.weights, x, move[0])

    def features(data, x, chosen, candidate, temperature):
        """In units of the scale, so that a policy serves graphs of any size and weights."""
        total = 0.0
        for other in range(len(x)):
            total += data.weights[candidate, other]
        return gain(data.weights, x, candidate) / data.scale, total / data.scale, temperature

    def generate(size, rng):
        """Every second edge, with a weight of 1 to 10."""
        upper = np.triu(rng.integers(1, 11, (size, size)) * rng.integers(0, 2, (size, size)), 1)
        return {"weights": upper + upper.T}
