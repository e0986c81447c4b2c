"""Constructive heuristics against their definitions, item by item."""

import time

import numpy as np
import pytest

from nsa_cli.problems.bin.heuristics import best_fit_decreasing, first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance


def by_definition(instance, rule):
    """Put each item, heaviest first, where a rule of the room of the open bins says."""
    units, capacity = instance.exact.units.tolist(), instance.exact.capacity
    packing, room = [0] * len(units), []
    for item in np.argsort(-instance.exact.units, kind="stable").tolist():
        b = rule(room, units[item])
        if b is None:
            b = len(room)
            room.append(capacity)
        packing[item] = b
        room[b] -= units[item]
    return packing


def first_fit(room, weight):
    return next((b for b, free in enumerate(room) if free >= weight), None)


def best_fit(room, weight):
    return min((b for b, free in enumerate(room) if free >= weight), key=lambda b: room[b], default=None)


RULES = [
    (first_fit_decreasing, first_fit),
    (best_fit_decreasing, best_fit),
]


@pytest.mark.parametrize(("heuristic", "rule"), RULES)
def test_packings_are_those_of_the_definition(heuristic, rule):
    """Few weights and many, whole and binary, none at all, and bins without room."""
    rng = np.random.default_rng(0)
    for _ in range(400):
        size, capacity = int(rng.integers(1, 60)), int(rng.integers(0, 60))
        weights = np.minimum(rng.integers(0, rng.integers(1, 60), size), capacity)
        if rng.random() < 0.3:
            weights, capacity = rng.random(size) * rng.random(), 1
        instance = BinInstance(weights=weights, capacity=capacity)
        packing = heuristic(instance, None)
        assert packing.tolist() == by_definition(instance, rule)
        assert instance.violation(packing) is None


@pytest.mark.parametrize(("heuristic", "_"), RULES)
@pytest.mark.parametrize("largest", [1.0, 0.1])
def test_two_hundred_thousand_items_take_no_time(heuristic, _, largest):
    """By looking at all bins for each item they take a minute."""
    weights = np.random.default_rng(0).random(200_000) * largest
    instance = BinInstance(weights=weights, capacity=1)
    begin = time.perf_counter()
    heuristic(instance, None)
    assert time.perf_counter() - begin < 10


def test_bins_are_in_the_order_of_their_first_items():
    """As lists of their members, in order; and the number of bins is that of those in use."""
    instance = BinInstance(weights=np.ones(6, dtype=np.int64), capacity=2)
    packing = np.array([4, 2, 4, 0, 2, 5])
    assert instance.bins(packing) == [[0, 2], [1, 4], [3], [5]]
    assert instance.objective(packing) == 4
    assert instance.violation(packing) is None
    assert "bin 1 " in str(instance.violation(np.array([4, 4, 4, 0, 2, 5])))
