"""Proposals of own problems, in plain Python: nothing is compiled."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from nsa_cli.kernels.jit import Function
from nsa_cli.problems import as_problem
from nsa_cli.user.kernels.rules import CHOICE_BITS, row_of, rules_of

from user_problems import Teams


class Moving(Teams):
    """Who is in the first team stays, and nobody joins the team they are in: how many may depends on x."""

    def allowed(data, x, chosen, candidate):
        return x[candidate] > 0 if chosen[0] < 0 else candidate != x[chosen[0]]


def test_hastings_ratio_counts_the_candidates_that_are_allowed(monkeypatch):
    """Of every solution of three people: one over all that may move, times one over where to."""
    monkeypatch.setattr(Function, "__call__", lambda self, *arguments: self.py_func(*arguments))
    problem = as_problem(Moving)
    instance = problem.generate(3, np.random.default_rng(0))
    made, row = row_of((*problem.model.keys, "scale"), None, scratch=False)
    chance = rules_of(problem.model, row).chance
    data = made(*(getattr(instance.data, key) for key in problem.model.keys), 1.0)
    for x in map(np.array, product(range(3), repeat=3)):
        total = 0.0
        for person, team in product(range(3), repeat=2):
            found = chance(0, data, x, instance.counts, np.int64(person | team << CHOICE_BITS))
            allowed = x[person] > 0 and team != x[person]
            assert found == (pytest.approx(-math.log((x > 0).sum() * 2)) if allowed else -math.inf)
            total += math.exp(found)
        assert total == pytest.approx(1.0 if x.any() else 0.0)
