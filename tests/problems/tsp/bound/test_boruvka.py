"""Borůvka's algorithm with boxes finds the weight of a minimum spanning tree over all edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.problems.tsp import bound as held_karp
from nsa_cli.problems.tsp.bound import scale_of, scaled
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.kernels import one_tree
from nsa_cli.problems.tsp.neighbour_lists import neighbour_lists

TSP = nsa.find_problem("tsp")


def random_cities(rng, size, axes):
    """Uniform, coincident, in clusters or in a line."""
    return [
        rng.random((size, axes)) * rng.choice([1, 80, 1e6]),
        rng.integers(-4, 4, (size, axes)),
        rng.normal(size=(size, axes)) + rng.integers(0, 3, (size, 1)) * 50,
        rng.integers(-1000, 1000, (size, 1)) * np.ones((1, axes), dtype=int),
    ][rng.integers(4)]


def dense_weight(weights):
    """Prim's tree over a full matrix, in Python's integers."""
    reach = {city: int(weights[0, city]) for city in range(1, len(weights))}
    total = 0
    while reach:
        city = min(reach, key=reach.get)
        total += reach.pop(city)
        for other in reach:
            reach[other] = min(reach[other], int(weights[city, other]))
    return total


@pytest.mark.parametrize("leaf", [1, 4, 16])
@pytest.mark.parametrize("metric", sorted(METRICS.keys() - {"GEO"}))
def test_the_tree_weighs_what_that_of_a_dense_matrix_does(monkeypatch, metric, leaf):
    """All metrics with coordinates, potentials of either sign, boxes of few cities."""
    monkeypatch.setattr(one_tree, "_LEAF", leaf)
    rng = np.random.default_rng(leaf)
    for _ in range(15):
        size = int(rng.integers(3, 70))
        coords = random_cities(rng, size, METRICS[metric].axes)
        instance = TSP.from_record({"coords": coords.tolist(), "edge_weight_type": metric})
        scale = scale_of(instance) - int(rng.integers(0, 3))
        i, j = np.indices((size, size)).reshape(2, -1)
        lengths = scaled(instance, scale, i, j).reshape(size, size)
        spread = max(float(lengths.max()) * rng.choice([0, 0.1, 0.5, 2]), 1.0)
        potentials = np.rint(rng.normal(0, spread, size)).astype(np.int64)
        cities, graph = held_karp._graph(instance, scale, neighbour_lists(instance, merge=False))
        unit = math.ldexp(1.0, scale)
        found = one_tree.spanning_weight(cities.metric, unit, graph, potentials[cities.numbers])
        assert found == dense_weight(lengths + potentials[:, None] + potentials)


@pytest.mark.parametrize("metric", ["EUC_2D", "EXACT_3D", "ATT"])
def test_many_cities_have_the_bound_of_few(monkeypatch, metric):
    """The same 1-tree as Prim's, whichever is used."""
    rng = np.random.default_rng(2)
    coords = rng.random((400, METRICS[metric].axes)) * 1000
    instance = TSP.from_record({"coords": coords.tolist(), "edge_weight_type": metric})
    witness = TSP.bound(instance).witness
    few = TSP.recompute_bound(instance, witness)
    monkeypatch.setattr(held_karp, "_MANY", 0)
    assert TSP.recompute_bound(instance, witness) == few
    assert 0.97 * few < TSP.bound(instance).value <= 1.0001 * few
    assert TSP.bound(instance, Clock(asked=lambda: True)) is None


def test_seconds_bound_ten_thousands_of_cities():
    """As many as have their share of a short time limit."""
    coords = np.random.default_rng(6).integers(0, 10**6, (40_000, 2))
    instance = TSP.from_record({"coords": coords.tolist(), "edge_weight_type": "EUC_2D"})
    bound = TSP.bound(instance, Clock.of(2.0))
    usual = 0.7124 * math.sqrt(40_000) * 10**6
    assert 0.93 * usual < bound.value < usual
    assert TSP.recompute_bound(instance, bound.witness) == bound.value
