"""Correlated items, which the exact method does not always end: the answer is near the bound all the same."""

from __future__ import annotations

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.problems.knapsack.instance import KnapsackInstance


def hard(kind: str, size: int, seed: int) -> KnapsackInstance:
    """Classes of Pisinger (2005, "Where are the hard knapsack problems?"), weights up to ten millions."""
    weights = np.random.default_rng(seed).integers(1, 10**7 + 1, size)
    values = {
        "strongly": weights + 10**6,
        "multiple strongly": weights + np.where(weights % 6 == 0, 3, 2) * 10**6,
        "subset sum": weights,
    }[kind]
    return KnapsackInstance(values=values, weights=weights, capacity=int(weights.sum()) // 2)


@pytest.mark.parametrize("kind", ["strongly", "multiple strongly", "subset sum"])
def test_hard_items_come_near_the_bound(kind: str) -> None:
    """Within a tenth of a per cent, by the policy that is the best one known."""
    instance = hard(kind, 400, 2)
    result = nsa.solve(instance, seed=3, steps=20_000, chains=1)
    assert result.status == "optimal" or result.policy == "knapsack-es-best"
    assert result.gap <= 1e-3


def test_an_interrupted_bound_does_not_hide_what_annealing_found() -> None:
    """Of the programme's answer and the chains', the better one counts."""
    instance = hard("strongly", 5_000, 3)
    result = nsa.solve(instance, seed=1, time_limit=1.0)
    assert result.objective >= instance.objective(result.bound.solution)
    assert result.method == "anneal"


def test_large_steps_are_refused_in_a_line_that_says_what_there_is() -> None:
    """Swaps and refills are gone; annealing is there."""
    with pytest.raises(
        nsa.UsageError, match="large-step: knapsack has no large-step chains; use method='anneal'"
    ):
        nsa.solve(hard("strongly", 30, 1), method="large-step")
