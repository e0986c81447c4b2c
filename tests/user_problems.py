"""Problems as users write them, in tensors and in scalar functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

import nsa_cli as nsa

MAXCUT = f"{Path(__file__).parents[1] / 'examples' / 'maxcut.py'}:MaxCut"


class Teams(nsa.UserProblem):
    """Put people into teams, each of whom has a cost in each team; those who are fixed stay.

    Two choices, whole numbers as a solution, a plain number among the data, forbidden candidates, and a move
    that another one undoes.
    """

    name = "teams"
    keys = ("costs", "fixed", "factor")
    slots = {"person": 3, "team": 4}

    def generate(self, size, rng):
        return {"costs": rng.random((size, size)), "fixed": rng.integers(0, 2, size), "factor": 1.5}

    def initial(self, data, draws):
        return (draws(len(data.fixed)) * len(data.fixed)).astype(np.int64)

    def cost(self, data, x):
        return data.factor * data.costs.gather(2, x[:, :, None])[:, :, 0].sum(1)

    def allowed(self, data, x, chosen):
        if not chosen:
            return data.fixed == 0
        own = x.gather(1, chosen[0][:, None])
        return torch.arange(x.shape[1]) != own

    def features(self, data, x, chosen, temperature):
        heat = temperature.expand(x.shape)
        if not chosen:
            return torch.stack([data.costs.gather(2, x[:, :, None])[:, :, 0], x / 10, heat], 2).float()
        rows = data.costs[torch.arange(len(x)), chosen[0]]
        own = rows.gather(1, x.gather(1, chosen[0][:, None])).expand(x.shape)
        return torch.stack([rows, own, (rows - own) / data.scale[:, None], heat], 2).float()

    def apply(self, data, x, action):
        return x.scatter(1, action[0][:, None], action[1][:, None])

    def reverse(self, data, x, action):
        return action[0], x.gather(1, action[0][:, None])[:, 0]

    @staticmethod
    def scalar_cost(data, x):
        total = 0.0
        for i in range(len(x)):
            total += data.costs[i, x[i]]
        return data.factor * total

    @staticmethod
    def scalar_delta(data, x, action):
        person, team = action
        return data.factor * (data.costs[person, team] - data.costs[person, x[person]])

    @staticmethod
    def scalar_apply(data, x, action):
        x[action[0]] = action[1]

    @staticmethod
    def scalar_allowed(data, x, chosen, candidate):
        if chosen[0] < 0:
            return data.fixed[candidate] == 0
        return candidate != x[chosen[0]]

    @staticmethod
    def scalar_features(data, x, chosen, candidate, temperature, out):
        person = chosen[0]
        if person < 0:
            out[0] = data.costs[candidate, x[candidate]]
            out[1] = x[candidate] / 10
            out[2] = temperature
        else:
            own = data.costs[person, x[person]]
            out[0] = data.costs[person, candidate]
            out[1] = own
            out[2] = (out[0] - own) / data.scale
            out[3] = temperature

    @staticmethod
    def scalar_reverse(data, x, action):
        return action[0], x[action[0]]


class Row(nsa.UserProblem):
    """As few and as cheap ones in a row as possible: none. In tensors only; flips of one element."""

    name = "row"
    keys = ("prices",)
    slots = {"element": 1}

    def generate(self, size, rng):
        return {"prices": rng.random(size)}

    def initial(self, data, draws):
        return draws(len(data.prices)) < 0.5

    def cost(self, data, x):
        return (data.prices * x).sum(1)

    def allowed(self, data, x, chosen):
        return torch.ones_like(x)

    def features(self, data, x, chosen, temperature):
        return data.prices[:, :, None].float()

    def apply(self, data, x, action):
        return x.scatter(1, action[0][:, None], ~x.gather(1, action[0][:, None]))
