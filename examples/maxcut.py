"""Maximum cut: colour the vertices of a weighted graph so that heavy edges join different colours.

nsa generate examples/maxcut.py:MaxCut --size 30 | nsa solve - --problem examples/maxcut.py:MaxCut
"""

import numba
import numpy as np
import torch

import nsa_cli as nsa


@numba.njit
def gain_of(weights, x, vertex):
    """Weight from a vertex to its own colour less weight to the other."""
    total = 0.0
    for other in range(len(x)):
        total += weights[vertex, other] if x[other] == x[vertex] else -weights[vertex, other]
    return total


class MaxCut(nsa.UserProblem):
    """Flip the colour of one vertex at a time."""

    name = "maxcut"
    summary = "maximum cut: two colours for the vertices, as much weight as possible between them"
    sense = "max"
    keys = ("weights",)  # symmetric, zero diagonal
    slots = {"vertex": 3}

    def generate(self, size, rng):
        """Every second edge, with a weight of 1 to 10."""
        upper = np.triu(rng.integers(1, 11, (size, size)) * rng.integers(0, 2, (size, size)), 1)
        return {"weights": upper + upper.T}

    def initial(self, data, draws):
        """Colour at random."""
        return draws(len(data.weights)) < 0.5

    def cost(self, data, x):
        """Weight between the colours, counted from both sides, with its sign turned."""
        different = x[:, :, None] != x[:, None, :]
        return -(data.weights * different).sum((1, 2)) / 2

    def allowed(self, data, x, chosen):
        """Any vertex."""
        return torch.ones_like(x)

    def features(self, data, x, chosen, temperature):
        """What flipping the vertex would gain, its total weight, the temperature; in units of the scale."""
        total = data.weights.sum(2)
        parts = [self.gain(data, x) / data.scale[:, None], total / data.scale[:, None]]
        return torch.stack([*parts, temperature.expand_as(total)], 2).float()

    def apply(self, data, x, action):
        """Flip."""
        vertex = action[0][:, None]
        return x.scatter(1, vertex, ~x.gather(1, vertex))

    def delta(self, data, x, action):
        """The gain of one vertex instead of the sum over all edges."""
        return -self.gain(data, x).gather(1, action[0][:, None])[:, 0].double()

    def gain(self, data, x):
        """Weight to the own colour less weight to the other, for each vertex."""
        sign = 1 - 2 * x.long()
        return sign * (data.weights * sign[:, None, :]).sum(2)

    # The same once more for one chain, in plain loops, which Numba compiles. All of this may be left out:
    # the problem then runs in torch, slower.

    @staticmethod
    def scalar_cost(data, x):
        """Weight between the colours with its sign turned, each edge once."""
        total = 0.0
        for i in range(len(x)):
            for j in range(i):
                total -= data.weights[i, j] if x[i] != x[j] else 0
        return total

    @staticmethod
    def scalar_allowed(data, x, chosen, candidate):
        """Any vertex."""
        return True

    @staticmethod
    def scalar_features(data, x, chosen, candidate, temperature, out):
        """Gain, total weight, temperature."""
        out[0] = gain_of(data.weights, x, candidate) / data.scale
        out[1] = data.weights[candidate].sum() / data.scale
        out[2] = temperature

    @staticmethod
    def scalar_apply(data, x, action):
        """Flip."""
        x[action[0]] = not x[action[0]]

    @staticmethod
    def scalar_delta(data, x, action):
        """Minus the gain."""
        return -gain_of(data.weights, x, action[0])
