"""Prices and patterns of bins: never above the optimum, by brute force; and what they prove."""

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.problems.bin import bound as bounds
from nsa_cli.problems.bin import dual_functions
from nsa_cli.problems.bin.columns import Columns
from nsa_cli.problems.bin.heuristics import best_fit_decreasing, singletons

BIN = nsa.find_problem("bin")


def optimum(weights, capacity):
    """Fewest bins, by dynamic programming over sets of items: bins used, and the least load of the last."""
    count = len(weights)
    best = [(0, capacity + 1)] + [(count + 1, 0)] * (2**count - 1)
    for chosen in range(1, 2**count):
        for i in range(count):
            if chosen >> i & 1:
                bins, load = best[chosen ^ (1 << i)]
                fits = load + weights[i] <= capacity
                best[chosen] = min(
                    best[chosen], (bins, load + weights[i]) if fits else (bins + 1, weights[i])
                )
    return best[-1][0]


def weights_of(kind, rng, count):
    """Weights in units of a bin of 60: ties, zeros, thirds that fill bins exactly, large and small ones."""
    draw = {
        "any": lambda: rng.integers(0, 61, count),
        "few": lambda: rng.choice([12, 15, 20, 24, 30], count),
        "thirds": lambda: rng.integers(14, 27, count),
        "small": lambda: rng.integers(0, 20, count),
        "half": lambda: rng.integers(20, 41, count),
    }[kind]
    return draw().tolist()


def priced(instance, enough=1_000):
    """The programme of an instance from the worst packing, solved to its end."""
    columns = Columns(*bounds.short(instance), 1, Clock())
    columns.add(singletons(instance, np.zeros))
    columns.bound(enough)
    return columns


@pytest.mark.parametrize(
    "count", [pytest.param(30, id="some"), pytest.param(1_500, id="all", marks=pytest.mark.study)]
)
@pytest.mark.parametrize("unit", [1, 0.1, 1 / 3])
@pytest.mark.parametrize("kind", ["any", "few", "thirds", "small", "half"])
def test_prices_never_exceed_the_optimum(kind, unit, count):
    """Of integers, decimals, and binary numbers, whose sums may be off a bin's by a bit."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        weights = weights_of(kind, rng, int(rng.integers(1, 9)))
        record = {"weights": [w * unit for w in weights], "capacity": 60 * unit}
        instance = BIN.from_record(record)
        units, capacity = bounds.short(instance)
        least = optimum(units.tolist(), capacity)
        columns = priced(instance)
        assert columns.value <= least
        witness = {"prices": columns.prices.tolist(), "most": columns.most}
        assert bounds.recompute(instance, witness) in (1, columns.value)
        packing = columns.packing()
        assert instance.violation(packing) is None
        assert instance.objective(packing) >= least
        found = BIN.bound(instance)
        assert found.value <= least
        if found.exact:
            assert found.value == least == instance.objective(found.solution)


def test_prices_close_what_functions_leave_open():
    """The bound of the programme is within a bin of the optimum, in all instances that are known."""
    for instance in BIN.paper_set(50, 15):
        columns = priced(instance)
        assert columns.value >= dual_functions.bound(instance, Clock()).value
        found = BIN.bound(instance)
        assert found.value == instance.objective(nsa.solve(nsa.Task(BIN, instance), seed=1).raw)


@pytest.mark.parametrize("weights", [[2**61, 2**60, 2**60 + 1, 5], [2**70, 2**69, 2**69 + 1, 2**68, 7]])
def test_long_weights_are_rounded_down(weights):
    """So that bounds hold: none is above the optimum, which is 3 bins."""
    instance = BIN.from_record({"weights": [float(w) for w in weights], "capacity": float(max(weights))})
    assert priced(instance).value <= 3
    assert BIN.bound(instance).value <= 3


def test_pieces_without_weight_cost_nothing():
    """They are packed with others, or into a bin of their own if there are no others."""
    for weights, bins in (([0, 0, 0], 1), ([0, 5, 5, 0, 5], 3), ([5, 0], 1)):
        instance = BIN.from_record({"weights": weights, "capacity": 5})
        columns = priced(instance)
        packing = columns.packing()
        assert instance.violation(packing) is None
        assert instance.objective(packing) == bins == max(columns.value, 1)


def test_without_time_bounds_are_the_simple_ones():
    """An interrupted programme proves nothing that does not hold."""
    instance = BIN.paper_set(200, 4)[3]
    simple, full = dual_functions.bound(instance, Clock()).value, BIN.bound(instance).value
    for seconds in (0.001, 0.005, 0.01, 0.02):
        assert simple - 1 <= BIN.bound(instance, Clock.of(seconds)).value <= full
    columns = Columns(*bounds.short(instance), simple, Clock(asked=lambda: True))
    columns.add(best_fit_decreasing(instance, np.zeros))
    columns.bound(10_000)
    assert columns.value == simple
    assert columns.packing() is None


def test_without_the_solver_bounds_are_the_simple_ones(monkeypatch):
    monkeypatch.setattr("nsa_cli.core.programme.is_installed", lambda package: False)
    instance = BIN.paper_set(200, 4)[3]
    assert BIN.bound(instance).value == dual_functions.bound(instance, Clock()).value


def test_a_thousand_tampered_prices_prove_nothing_false():
    """Each is refused, or gives a bound that holds."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(40):
        instance = BIN.from_record({"weights": weights_of("half", rng, 7), "capacity": 60})
        least = optimum(instance.weights.tolist(), 60)
        columns = priced(instance)
        for _ in range(25):
            prices, most = columns.prices.tolist(), columns.most
            for i in rng.integers(0, 7, 2):
                prices[i] += int(rng.integers(-3, 200))
            most -= int(rng.integers(0, 60))
            try:
                assert bounds.recompute(instance, {"prices": prices, "most": most}) <= least
            except nsa.DataError:
                refused += 1
    assert refused > 500
