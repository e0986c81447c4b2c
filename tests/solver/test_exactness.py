"""Claims are true to the last digit: status, bounds, targets and `nsa check`."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.problems.solutions import ClaimedSolution
from nsa_cli.solver.bounds import meets
from nsa_cli.solver.check import evaluate
from solver.brute_force import study

KNAPSACK, TSP, BIN = (nsa.find_problem(name) for name in ("knapsack", "tsp", "bin"))


def sack(values, weights=None, capacity=None):
    """Make a knapsack; of items that weigh 1 all fit but one by default."""
    weights = [1] * len(values) if weights is None else weights
    capacity = sum(weights) - 1 if capacity is None else capacity
    return KNAPSACK.from_record({"values": values, "weights": weights, "capacity": capacity})


FIVE = sack(
    [1000000000000.5, 3.75, 3.75, 0.5, 1.0],
    [3.75, 3.75, 3.75, 1000000000000.5, 0.5],
    7.5,
)


def checked(instance, ids, **claims):
    task = nsa.Task(nsa.find_problem(instance.record()["problem"]), instance)
    return evaluate(task, ClaimedSolution(ids, claims))


def test_five_items_near_10_12():
    """Two selections differ by 2.75 in 10^12; the worse one was called optimal."""
    result = nsa.solve(FIVE)
    assert (result.objective, result.status) == (1000000000004.25, "optimal")
    assert (result.bound.value, result.bound.exact) == (1000000000004.25, True)
    worse = checked(FIVE, [1, 5], status="optimal", objective=1000000000001.5)
    assert (worse.status, worse.objective) == ("feasible", 1000000000001.5)
    assert worse.remarks == ("the file says that it is optimal, which the bound does not prove",)
    assert worse.gap > 0
    assert checked(FIVE, [1, 2]).status == checked(FIVE, [1, 3]).status == "optimal"


@pytest.mark.parametrize("large", [1e9, 1e10, 1e12 + 0.25, 1e13])
def test_cents_beside_one_large_value(large):
    """Of 50 items: the other 49 by a dynamic programme over cents, without the program."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cents, weights = rng.integers(1, 10_000, 50), rng.integers(1, 100, 50)
        capacity = int(weights.sum()) // 2
        result = nsa.solve(sack([large, *(cents[1:] / 100).tolist()], weights, capacity))
        best = np.zeros(capacity - weights[0] + 1, dtype=np.int64)
        for cent, weight in zip(cents[1:], weights[1:], strict=True):
            best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + cent)
        assert result.status == "optimal"
        assert result.unrounded == Fraction(repr(large)) + Fraction(int(best[-1]), 100)


def test_thirteen_cities_in_decimals_near_10_9():
    """A bound that is short by 2 in 10^10 proves nothing."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        rows = np.triu(1e9 + rng.integers(0, 40, (13, 13)) / 10, 1)
        instance = TSP.from_record({"matrix": (rows + rows.T).tolist()})
        result = nsa.solve(instance, seed=1, steps=400, method="large-step")
        assert (result.status == "optimal") == (result.unrounded == result.bound.unrounded)
        assert Fraction(result.unrounded) >= Fraction(result.bound.unrounded)
        assert result.unrounded.denominator in (1, 2, 5, 10)


def test_a_target_is_met_to_the_last_digit():
    """By 3000 in 10^13, by a ten-millionth beside 10^12, and by a whole number beyond 2^53."""
    whole, one = sack([2**60 + 1, 1]), np.array([True, False])
    far = TSP.from_record({"matrix": [[0, 2**60, 1], [2**60, 0, 1], [1, 1, 0]], "no_edge": "none"})
    assert meets(whole, one, 2**60 + 1, "max")
    assert not meets(whole, one, 2**60 + 2, "max")
    assert meets(sack([1e12, 1e-7], capacity=2), np.array([True, True]), 1e12, "max")
    assert not meets(FIVE, np.array([1, 0, 0, 0, 1], bool), 1000000000001.75, "max")
    assert meets(far, np.arange(3), 2**60 + 2, "min")
    assert not meets(far, np.arange(3), 2**60 + 1, "min")


def test_a_target_is_every_digit_that_is_typed():
    """A whole number beyond 2^53 does not pass through a float."""
    assert nsa.Settings(target="9007199254740993").target == 2**53 + 1
    assert nsa.Settings(target="0.3").target == 0.3


def test_a_run_stops_at_a_target_that_it_meets():
    """By annealing of values near 10^13, of which float sums differ from others by less than they drift."""
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 1000, 60)
    instance = sack(10**13 + rng.integers(0, 3000, 60), weights, int(weights.sum()) // 3)
    best = nsa.solve(instance, seed=1).objective
    for short in (0, 1, 3000):
        result = nsa.solve(instance, seed=3, bound=False, method="anneal", steps=20_000, target=best - short)
        assert (result.stop_reason == "target") <= (result.objective >= best - short)


def test_sums_of_ten_million_digits_are_compared_in_full():
    """10^-7 beside 10^12: neither 64-bit integers nor floats hold the sums."""
    instance = sack([1e12, 2e-7, 1e-7, 3e-7])
    result = nsa.solve(instance)
    assert (result.status, result.to_dict()["solution"]) == ("optimal", [1, 2, 4])
    second = checked(instance, [1, 2, 3])
    assert (second.status, second.objective) == ("feasible", result.objective)
    assert 0 < second.gap < 1e-18


def test_reals_are_proved_by_sums_that_are_not_rounded():
    """Uniform items as `nsa generate` draws them, of sums beyond 64 bits."""
    for size in (100, 1000, 5000):
        task = nsa.generate("knapsack", size, 1, seed=3)[0]
        result = nsa.solve(task, steps=10)
        assert (result.status, result.bound.exact) == ("optimal", True)
        assert result.unrounded == sum(map(Fraction, result.instance.values[result.raw].tolist()))
        assert result.bound.value == result.objective


def test_claims_of_others_about_whole_numbers_are_compared_exactly():
    """One less in 10^15 is another objective; sums of reals may be rounded as they are added."""
    big = sack([10**15, 1], capacity=2)
    assert checked(big, [1, 2], objective=10**15 + 1).remarks == ()
    assert "objective 1000000000000000" in checked(big, [1, 2], objective=10**15).remarks[0]
    task = nsa.generate("knapsack", 200, 1, seed=3)[0]
    result = nsa.solve(task)
    ids = result.to_dict()["solution"]
    added = float(np.add.accumulate(task.instance.values[result.raw][::-1])[-1])
    assert checked(task.instance, ids, objective=added).remarks == ()
    assert checked(task.instance, ids, objective=added * (1 + 1e-10)).remarks


def test_sums_of_weights_beyond_64_bits_fit_exactly():
    """A bin may be filled to the last unit, not beyond; a search that rounds weights up claims nothing."""
    full = BIN.from_record({"weights": [2**61 + 1, 2**61 - 1, 2**61, 2**61], "capacity": 2**62})
    result = nsa.solve(full, steps=50, seed=1)
    assert result.bound.value == 2
    assert (result.objective == 2) == (result.status == "optimal")
    assert checked(full, [[1, 2], [3, 4]]).status == "optimal"
    assert checked(full, [[1, 3], [2, 4]]).status == "infeasible"


@pytest.mark.parametrize(
    "count", [pytest.param(300, id="some"), pytest.param(50_000, id="all", marks=pytest.mark.study)]
)
def test_no_claim_is_false(count):
    """Random, degenerate and mixed numbers against brute force; ``-s`` shows the counts."""
    tally, faults = study(count, seed=1)
    print(*(f"{name:24}{number:8}" for name, number in sorted(tally.items())), sep="\n")
    assert faults == []
    for name, claim in itertools.product(("knapsack", "tsp"), ("optimal", "exact")):
        assert tally[f"{name}: {claim}"] > tally[name] / 3
    assert tally["bin: optimal"] > 0
