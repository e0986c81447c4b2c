"""Maximum cut: colour the vertices of a weighted graph so that heavy edges join different colours.

nsa generate examples/maxcut.py:MaxCut --size 30 | nsa solve - --problem examples/maxcut.py:MaxCut
"""

import numpy as np
import torch

import nsa_cli as nsa


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
