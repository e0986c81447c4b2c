"""Bounds never cross the optimum: small instances by brute force, and what all bounds promise."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.core.bound import Bound, rounded_outwards
from nsa_cli.core.clock import Clock
from nsa_cli.problems.bin import dual_functions
from nsa_cli.problems.knapsack import bound as knapsack_bounds
from nsa_cli.solver.bounds import share_of

from helpers import random_instances

BIN, KNAPSACK, TSP = (nsa.find_problem(name) for name in ("bin", "knapsack", "tsp"))

FEW = settings(max_examples=150, deadline=None)
WHOLE = st.integers(0, 30)
DECIMAL = st.integers(0, 300).map(lambda x: x / 10)
REAL = st.floats(0, 30, allow_nan=False).map(float)


def best_selection(instance):
    """Try them all; worth and weight by the instance's own exact arithmetic."""
    choices = map(np.array, itertools.product((False, True), repeat=instance.size))
    return max(instance.objective(c) for c in choices if instance.violation(c) is None)


def best_packing(instance):
    """Put items one after the other into every open bin or a new one."""
    units, capacity = instance.exact.units.tolist(), instance.exact.capacity

    def least(k, loads):
        if k == len(units):
            return len(loads)
        tries = [
            least(k + 1, (*loads[:b], loads[b] + units[k], *loads[b + 1 :]))
            for b in range(len(loads))
            if loads[b] + units[k] <= capacity
        ]
        return min([*tries, least(k + 1, (*loads, units[k]))])

    return least(0, ())


@FEW
@given(st.data(), st.sampled_from([WHOLE, DECIMAL, REAL]), st.sampled_from([WHOLE, DECIMAL, REAL]))
def test_knapsack_bounds_are_the_optimum_of_small_instances(data, value, weight):
    """Whole numbers, decimals and reals, weights of 0 and items that do not fit among them."""
    pairs = data.draw(st.lists(st.tuples(value, weight), min_size=1, max_size=9))
    values, weights = map(list, zip(*pairs, strict=True))
    record = {"values": values, "weights": weights, "capacity": data.draw(weight)}
    instance = KNAPSACK.from_record(record)
    optimum = best_selection(instance)
    bound = KNAPSACK.bound(instance)
    assert bound.value >= optimum
    if bound.witness is not None:
        assert KNAPSACK.recompute_bound(instance, bound.witness) == bound.unrounded
    assert instance.violation(bound.solution) is None
    if bound.exact:  # else numbers were too far apart for the programme
        assert bound.unrounded == instance.exact_objective(bound.solution)
        assert bound.value == optimum == instance.objective(bound.solution)


@FEW
@given(
    st.lists(st.tuples(WHOLE, st.integers(1, 30)), min_size=1, max_size=9),
    st.integers(0, 100),
    st.fractions(0, 5),
    st.fractions(-5, 5),
    st.integers(0, 300),
)
def test_any_multipliers_give_a_valid_knapsack_bound(pairs, capacity, mu, lam, known):
    """The witness proves itself: whatever it says, the optimum is not above the value."""
    values, weights = map(list, zip(*pairs, strict=True))
    instance = KNAPSACK.from_record({"values": values, "weights": weights, "capacity": capacity})
    witness = {"capacity_multiplier": str(mu), "item_multiplier": str(lam), "known": known}
    assert KNAPSACK.recompute_bound(instance, witness) >= best_selection(instance)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_number_of_items_closes_strongly_correlated_knapsacks(sign):
    """Values of weight +- 100: Dantzig's bound is far off, the cardinality's is not (Martello and Toth)."""
    rng = np.random.default_rng(3)
    closer = 0
    for _ in range(10):
        weights = rng.integers(101, 1000, 60)
        record = {"values": weights + sign * 100, "weights": weights, "capacity": int(weights.sum()) // 3}
        instance = KNAPSACK.from_record(record)
        known = KNAPSACK.start("greedy")(instance, lambda n: np.zeros(n))
        data = knapsack_bounds._integers(instance)
        with_items = knapsack_bounds._by_dual(data, known)
        plain = knapsack_bounds.recompute(
            instance, {"capacity_multiplier": str(knapsack_bounds._break_ratio(data, 0))}
        )
        closer += with_items.units < plain
        bound = KNAPSACK.bound(instance)
        assert with_items.units >= bound.value
        assert knapsack_bounds.recompute(instance, with_items.witness) == with_items.units
    assert closer == 10


def test_greedy_takes_the_single_item_that_is_worth_more():
    """By ratio the small one comes first, then the large one does not fit; Dantzig's half of the optimum."""
    instance = KNAPSACK.from_record({"values": [2, 100], "weights": [1, 100], "capacity": 100})
    assert KNAPSACK.start("greedy")(instance, lambda n: np.zeros(n)).tolist() == [False, True]


def test_a_stopped_core_programme_still_bounds():
    """No time at all: not exact, above the optimum, not above the dual's bound, with a good selection."""
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 10**4, 50)
    values = weights + rng.integers(0, 50, 50)
    record = {"values": values, "weights": weights, "capacity": int(weights.sum()) // 2}
    instance = KNAPSACK.from_record(record)
    optimum = KNAPSACK.bound(instance)
    hurried = KNAPSACK.bound(instance, Clock(asked=lambda: True))
    assert optimum.exact
    assert hurried.value >= optimum.value
    assert instance.violation(hurried.solution) is None
    assert hurried.exact == (hurried.value == instance.objective(hurried.solution))


@FEW
@given(st.data(), st.sampled_from([st.integers(0, 12), st.integers(0, 120).map(lambda x: x / 10)]))
def test_bin_bounds_never_exceed_the_optimum_of_small_instances(data, weight):
    """Nor do those of any other witness of the same form."""
    weights = data.draw(st.lists(weight, min_size=1, max_size=7))
    instance = BIN.from_record({"weights": weights, "capacity": 12})
    optimum = best_packing(instance)
    bound = BIN.bound(instance)
    assert bound.value <= optimum
    assert BIN.recompute_bound(instance, bound.witness) == bound.value
    cut = data.draw(st.integers(0, (instance.exact.capacity + 1) // 2))
    steps = data.draw(st.none() | st.integers(1, 60))
    assert BIN.recompute_bound(instance, {"cut": cut, "steps": steps}) <= optimum


def test_bin_bounds_hold_for_weights_that_no_64_bits_hold():
    """Sums near 2^63 and decimals far apart go through Python's integers."""
    big = BIN.from_record({"weights": [2**57 + 1] * 8, "capacity": 2**58 + 1})
    assert BIN.bound(big).value == 8
    apart = BIN.from_record({"weights": [1e-12, 9e14, 9e14], "capacity": 1e15})
    assert BIN.bound(apart).value == 2


def test_bounds_have_little_of_a_short_time_unless_they_end_searches():
    """Of tours three per cent of a second and a fifth of ten; half of it for knapsacks' programme."""
    assert [share_of(TSP, s) for s in (0.05, 1.0, 3.0, 10.0, math.inf)] == pytest.approx(
        [0.03, 0.2 / 6, 0.1, 0.2, 0.2]
    )
    assert share_of(KNAPSACK, 0.002) == share_of(KNAPSACK, 60.0) == 0.5
    assert share_of(BIN, 0.05) == 0.2


@FEW
@given(st.lists(st.floats(0, 1e150, allow_subnormal=True), min_size=1, max_size=6))
def test_values_become_integers_without_loss(values):
    """Whatever their size: as the decimals that they print as, or as binary fractions."""
    instance = KNAPSACK.from_record({"values": values, "weights": [1.0] * len(values), "capacity": 2.0})
    data = knapsack_bounds._integers(instance)
    scaled = [Fraction(int(x), data.denominator or 1) for x in data.values]
    assert scaled in ([Fraction(v) for v in values], [Fraction(repr(v)) for v in values])


def test_no_time_gives_no_bound_or_a_valid_one(problem):
    """Never an error, whatever the time and however early the stop."""
    (instance,) = random_instances(problem, 40, 1)
    full = problem.bound(instance)
    for seconds, asked in ((0.0, None), (0.01, None), (None, lambda: True)):
        bound = problem.bound(instance, Clock.of(seconds, asked=asked))
        if bound is not None and problem.sense == "min":
            assert bound.value <= full.value * (1 + 1e-9) or problem.name == "tsp"
        elif bound is not None:
            assert bound.value >= full.value


def test_the_same_instance_has_the_same_bound(problem):
    """Effort is counted, not timed; and the bound is strict JSON."""
    (instance,) = random_instances(problem, 30, 1)
    first, second = (problem.bound(instance) for _ in range(2))
    assert first.value == second.value
    assert first.witness == second.witness
    json.dumps(first.to_dict(first.value, problem.sense), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "witness"),
    [
        ("tsp", {}),
        ("tsp", {"scale": 1, "potentials": [1, 2]}),
        ("tsp", {"scale": 5000, "potentials": [0] * 30}),
        ("tsp", {"scale": 1, "potentials": [2**60] * 30}),
        ("tsp", {"scale": "x", "potentials": 3}),
        ("knapsack", {}),
        ("knapsack", {"capacity_multiplier": "-1"}),
        ("knapsack", {"capacity_multiplier": "1/0"}),
        ("knapsack", {"capacity_multiplier": [1]}),
        ("knapsack", {"capacity_multiplier": "1", "item_multiplier": "-1"}),
        ("bin", {}),
        ("bin", {"cut": 10**30}),
        ("bin", {"cut": 0, "steps": 0}),
    ],
)
def test_false_witnesses_are_refused(name, witness):
    """As data that are wrong, not as a fault."""
    (instance,) = random_instances(nsa.find_problem(name), 30, 1)
    with pytest.raises(nsa.DataError, match="witness"):
        nsa.find_problem(name).recompute_bound(instance, witness)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(1, 10), Fraction(-1, 10)])
def test_bounds_are_rounded_to_the_safe_side(value):
    """Each lies between two floats; the float of a third is below it, that of a tenth above."""
    low, high = (Bound.of(value, sense, method="m").value for sense in ("min", "max"))
    assert Fraction(low) < value < Fraction(high)
    assert math.nextafter(low, math.inf) == high
    assert rounded_outwards(Fraction(1, 4), "min") == rounded_outwards(Fraction(1, 4), "max") == 0.25


def test_what_a_bound_proves():
    """What is as good, in the sense of the problem and to the last digit; better is a fault."""
    for whole in (Bound(value=10, method="m"), Bound(value=10.0, method="m")):
        assert [whole.proves(x, "min") for x in (9, 10, 11)] == [True, True, False]
        assert [whole.proves(x, "max") for x in (9, 10, 11)] == [False, True, True]
        assert [whole.beaten_by(x, "min") for x in (9, 10, 11)] == [True, False, False]
        assert [whole.beaten_by(x, "max") for x in (9, 10, 11)] == [False, False, True]
        assert not whole.proves(10.0 + 1e-12, "min")
        assert whole.beaten_by(10.0 - 1e-12, "min")


def test_a_bound_is_compared_without_rounding():
    """Both sides print alike, and differ by a ten-millionth of 10^12."""
    limit = Fraction(10**19 + 1, 10**7)
    bound = Bound.of(limit, "min", method="m")
    assert not bound.proves(limit + Fraction(1, 10**7), "min")
    assert bound.proves(limit, "min")
    assert bound.value <= limit
    gap = bound.to_dict(limit + Fraction(1, 10**7), "min")["gap"]
    assert 0.9e-19 < gap < 1.1e-19
    assert bound.is_near(limit * Fraction(101, 100), "min", 0.01)
    assert not bound.is_near(limit * Fraction(101, 100) + 1, "min", 0.01)


# --- instances whose optima are known ------------------------------------------------------------------


def references(shared, name):
    """Per-instance reference objectives of a paper set."""
    return np.load(shared / "data" / "reference" / name)


@pytest.mark.parametrize(
    "count", [pytest.param(20, id="some"), pytest.param(1000, id="all", marks=pytest.mark.study)]
)
@pytest.mark.parametrize("size", KNAPSACK.paper_sizes)
def test_knapsacks_of_the_paper_are_proved_optimal(shared, size, count):
    """All of them, to the last bit of the reference."""
    known = references(shared, f"knapsack{size}_opt.npy")
    for instance, optimum in zip(KNAPSACK.paper_set(size, count), known, strict=False):
        bound = KNAPSACK.bound(instance)
        assert bound.exact
        assert instance.objective(bound.solution) == pytest.approx(optimum, rel=1e-14)
        assert bound.value == instance.objective(bound.solution)


@pytest.mark.parametrize(
    "count", [pytest.param(15, id="some"), pytest.param(1000, id="all", marks=pytest.mark.study)]
)
@pytest.mark.parametrize("size", BIN.paper_sizes)
def test_bin_bounds_agree_with_the_references(shared, size, count):
    """L2 is the reference's, the best bound is at least that, and never above a packing."""
    known = references(shared, f"bin{size}_ref.npz")
    for k, instance in enumerate(BIN.paper_set(size, count)):
        data = dual_functions._sorted(instance.exact.units, instance.exact.capacity)
        _, l2 = dual_functions._best_cut(data, data.weights, data.capacity)
        bound = BIN.bound(instance)
        if k < 200:
            assert l2 == known["l2"][k]
        assert l2 <= bound.value <= min(known["ffd"][k], known["bfd"][k])
        assert BIN.recompute_bound(instance, bound.witness) == bound.value


def test_bin_bounds_never_cross_the_best_known_of_the_or_library(shared):
    """Uniform items in bins of 150; most are closed by a bound."""
    closed = total = 0
    for path in sorted((shared / "data" / "binpack").glob("binpack*.txt")):
        for task in nsa.read(path):
            bound = BIN.bound(task.instance)
            assert bound.value <= task.instance.best_known
            closed, total = closed + (bound.value == task.instance.best_known), total + 1
    assert total == 80
    assert closed >= 70


def test_bounds_of_long_weights_hold_without_their_last_bits(monkeypatch):
    """They are hardly ever lower, never higher, and their witnesses give as much."""
    rng = np.random.default_rng(3)
    for size in (600, 800, 1_000):
        instance = BIN.from_record({"weights": (rng.random(size) * 0.7).tolist(), "capacity": 1})
        assert instance.exact.rounded
        exact = BIN.bound(instance)
        with monkeypatch.context() as patch:
            patch.setattr(dual_functions, "_MOST_LONG", 0)
            found = BIN.bound(instance)
        assert exact.value - 1 <= found.value <= exact.value
        assert found.value <= BIN.recompute_bound(instance, found.witness) <= exact.value


@pytest.mark.parametrize("capacity", [0, 5])
def test_pieces_of_no_size_need_a_bin(capacity):
    """And no more: the bound proves it."""
    problem = BIN
    instance = problem.from_record({"weights": [0, 0, 0], "capacity": capacity})
    found = problem.bound(instance)
    assert (found.value, problem.recompute_bound(instance, found.witness)) == (1, 1)
    assert nsa.bin_packing([0, 0, 0], capacity).status == "optimal"
