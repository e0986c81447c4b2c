"""Bounds of tours never cross the optimum, and are those of the 1-tree over all edges."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.problems.tsp import bound as held_karp
from nsa_cli.problems.tsp.bound import scale_of, scaled
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.kernels import one_tree
from nsa_cli.problems.tsp.neighbour_lists import neighbour_lists

TSP = nsa.find_problem("tsp")

FEW = settings(max_examples=150, deadline=None)


def best_tour(instance):
    """Try all orders with the first city first."""
    orders = itertools.permutations(range(1, instance.size))
    return min(instance.objective(np.array([0, *order])) for order in orders)


METRIC = st.sampled_from(["EUC_2D", "CEIL_2D", "FLOOR_2D", "EXACT_2D", "MAN_2D", "MAX_2D", "ATT", "GEO"])


@FEW
@given(st.data(), METRIC)
def test_tour_bounds_are_the_optimum_of_few_cities(data, metric):
    """All metrics, coincident cities and cities in a line among them."""
    place = st.integers(-20, 20) if data.draw(st.booleans()) else st.floats(-20, 20).map(float)
    coords = data.draw(st.lists(st.tuples(place, place), min_size=1, max_size=7))
    instance = TSP.from_record({"coords": [list(c) for c in coords], "edge_weight_type": metric})
    optimum = best_tour(instance)
    bound = TSP.bound(instance)
    assert bound.exact
    assert bound.value == optimum == instance.objective(bound.solution)
    assert bound.unrounded == instance.exact_objective(bound.solution)


@FEW
@given(st.data(), METRIC, st.integers(0, 2**32))
def test_any_potentials_give_a_valid_tour_bound(data, metric, seed):
    """The 1-tree is over all edges: candidates and luck have no part in its validity."""
    rng = np.random.default_rng(seed)
    size = data.draw(st.integers(3, 7))
    grid = rng.integers(0, data.draw(st.integers(1, 40)), (size, 2))
    instance = TSP.from_record({"coords": grid.tolist(), "edge_weight_type": metric})
    scale = max(min(4, scale_of(instance)), scale_of(instance) - 62)
    potentials = rng.integers(-(2**10), 2**10, size).tolist()
    witness = {"scale": scale, "potentials": potentials}
    assert TSP.recompute_bound(instance, witness) <= best_tour(instance)


@pytest.mark.parametrize(
    "metric", ["EUC_2D", "CEIL_2D", "EXACT_2D", "MAN_2D", "MAX_2D", "ATT", "GEO", "matrix"]
)
@pytest.mark.parametrize("kind", ["uniform", "clustered", "line", "grid", "coincident"])
def test_the_1_tree_over_all_edges_is_that_of_a_dense_matrix(monkeypatch, metric, kind):
    """Compiled or a row at a time, Prim's algorithm gives the same whole numbers."""
    rng = np.random.default_rng(5)
    points = {
        "uniform": rng.random((60, 2)) * 80,
        "clustered": rng.random((60, 2)) + rng.integers(0, 3, (60, 1)) * 30,
        "line": np.stack([np.arange(60.0), np.zeros(60)], 1),
        "grid": np.indices((10, 6)).reshape(2, -1).T * 1.0,
        "coincident": rng.integers(0, 3, (60, 2)) * 1.0,
    }[kind]
    if metric == "matrix":
        lengths = np.rint(np.linalg.norm(points[:, None] - points, axis=2) * 10).astype(int)
        instance = TSP.from_record({"matrix": lengths.tolist()})
    else:
        instance = TSP.from_record({"coords": points.tolist(), "edge_weight_type": metric})
    scale = scale_of(instance)
    unit = 2.0**scale * max(instance.edges(np.zeros(59, dtype=int), np.arange(1, 60)).mean(), 1e-9)
    potentials = np.rint(rng.normal(0, 0.3, 60) * unit).astype(np.int64)
    exact = dense_1_tree(instance, scale, potentials)
    witness = {"scale": scale, "potentials": potentials.tolist()}
    assert TSP.recompute_bound(instance, witness) == exact
    monkeypatch.setattr(held_karp, "is_compiled", lambda _: False)  # rows by NumPy, as of large numbers
    assert TSP.recompute_bound(instance, witness) == exact


def dense_weight(weights):
    """Weight of Prim's tree over a full matrix, in Python's integers."""
    reach, total = {city: int(weights[0, city]) for city in range(1, len(weights))}, 0
    while reach:
        city = min(reach, key=reach.get)
        total += reach.pop(city)
        for other in reach:
            reach[other] = min(reach[other], int(weights[city, other]))
    return total


def dense_1_tree(instance, scale, potentials):
    """That tree and the heaviest second edge."""
    size = instance.size
    weights = scaled(instance, scale, *np.indices((size, size))) + potentials[:, None] + potentials
    seconds = [sorted(np.delete(weights[c], c).tolist())[1] for c in range(size)]
    total = dense_weight(weights) + max(seconds) - 2 * int(potentials.sum())
    return held_karp._possible(instance, Fraction(total) / Fraction(2) ** scale)


@pytest.mark.parametrize("metric", ["EUC_2D", "EXACT_2D", "GEO", "matrix"])
def test_a_few_milliseconds_bound_some_hundred_cities(metric):
    """Compiled code raises the bound, however short the time; the witness proves it without the clock."""
    rng = np.random.default_rng(8)
    points = rng.random((200, 2)) * 80
    if metric == "matrix":
        lengths = np.linalg.norm(points[:, None] - points, axis=2)
        instance = TSP.from_record({"matrix": ((lengths + lengths.T) / 2).tolist()})
    else:
        instance = TSP.from_record({"coords": points.tolist(), "edge_weight_type": metric})
    leisurely = TSP.bound(instance)
    hasty = TSP.bound(instance, Clock.of(0.02))
    assert hasty.value > 0.9 * leisurely.value
    for bound in (leisurely, hasty):
        assert TSP.recompute_bound(instance, bound.witness) == bound.value
    assert TSP.bound(instance, Clock.of(1e-5)) is None
    assert TSP.bound(instance, Clock(asked=lambda: True)) is None


@pytest.mark.parametrize(
    "count", [pytest.param(2, id="some"), pytest.param(100, id="all", marks=pytest.mark.study)]
)
@pytest.mark.parametrize("size", TSP.paper_sizes)
def test_held_karp_is_within_a_per_cent_of_the_papers_tours(shared, size, count):
    """On average, and never above them."""
    known = np.load(shared / "data" / "reference" / f"tsp{size}_opt.npy")
    gaps = []
    for instance, optimum in zip(TSP.paper_set(size, count), known, strict=False):
        gaps.append(1 - TSP.bound(instance).value / optimum)
        assert gaps[-1] > -1e-9
    assert np.mean(gaps) < 0.012


SOME = ("burma14", "gr17", "bayg29", "berlin52", "att48", "si175", "a280", "brg180", "gr202")


@pytest.mark.parametrize(
    "names", [pytest.param(SOME, id="some"), pytest.param(None, id="all", marks=pytest.mark.study)]
)
def test_held_karp_never_crosses_an_optimum_of_tsplib(shared, names):
    """All metrics and explicit matrices, up to 85,900 cities."""
    folder = shared / "data" / "tsplib"
    lines = (line.split(":") for line in (folder / "best-known.txt").read_text().splitlines() if ":" in line)
    known = {name.strip(): int(value.split()[0]) for name, value in lines}
    for path in sorted(folder.glob("*.tsp")):
        if path.stem == "linhp318" or (names is not None and path.stem not in names):
            continue
        (task,) = nsa.read(path)
        bound = TSP.bound(task.instance)
        assert isinstance(bound.value, int)
        assert 0.9 * known[path.stem] < bound.value <= known[path.stem], path.stem
        if names is not None and bound.witness is not None:
            assert TSP.recompute_bound(task.instance, bound.witness) == bound.value


def test_matrices_of_large_whole_numbers_are_bounded_exactly():
    """Beyond 52 bits lengths are no float64; the witness is still one of integers."""
    rng = np.random.default_rng(1)
    lengths = np.triu(rng.integers(0, 2**58, (30, 30)), 1)
    instance = TSP.from_record({"matrix": (lengths + lengths.T).tolist()})
    bound = TSP.bound(instance)
    tour = nsa.solve(instance, steps=500, seed=1, threads=1, bound=False)
    assert 0.7 * tour.objective < bound.value <= tour.objective
    assert TSP.recompute_bound(instance, bound.witness) == bound.value


def test_clusters_are_bounded_by_further_ascents():
    """Neighbours alone do not join clusters; the edges of the 1-tree and triangulation do."""
    rng = np.random.default_rng(3)
    coords = rng.normal(0, 0.03, (300, 2)) + rng.random((6, 2))[rng.integers(0, 6, 300)]
    instance = TSP.from_record({"coords": coords.tolist()})
    tour = nsa.solve(instance, method="large-step", steps=3000, seed=1, threads=1, bound=False)
    assert 0.99 * tour.objective < TSP.bound(instance).value <= tour.objective


@pytest.mark.parametrize("metric", ["EUC_2D", "EXACT_2D", "CEIL_2D", "FLOOR_2D", "MAN_2D"])
def test_many_stops_at_few_addresses_are_bounded_as_the_addresses_are(metric):
    """Within a few per cent of the bound on the addresses, each once; the witness holds over all edges."""
    rng = np.random.default_rng(4)
    places = rng.integers(0, 1000, (60, 2)).tolist()
    once = TSP.from_record({"coords": places, "edge_weight_type": metric})
    stops = TSP.from_record({"coords": [p for p in places for _ in range(20)], "edge_weight_type": metric})
    alone, found = TSP.bound(once), TSP.bound(stops)
    # Rounded down, lengths are far from the triangle inequality, and a way back to an address may be shorter.
    assert (0.9 if metric == "FLOOR_2D" else 0.98) * alone.value < found.value
    assert TSP.recompute_bound(stops, found.witness) == found.unrounded
    tour = nsa.solve(stops, seed=1, steps=2000, bound=False)
    assert found.unrounded <= tour.unrounded


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12, 13])
def test_a_handful_of_places_with_many_cities_each(count):
    """Down to one; bounds hold."""
    rng = np.random.default_rng(count)
    places = rng.integers(0, 1000, (count, 2))
    stops = TSP.from_record(
        {"coords": places[rng.integers(0, count, 300)].tolist(), "edge_weight_type": "EUC_2D"}
    )
    once = TSP.from_record({"coords": np.unique(places, axis=0).tolist(), "edge_weight_type": "EUC_2D"})
    best = nsa.solve(once, seed=1, steps=500, method="auto")
    assert 0 <= TSP.bound(stops).value <= best.objective


@pytest.mark.parametrize("seconds", [0.02, 0.05, 0.1, 0.3])
def test_a_hurried_bound_is_not_below_the_trivial_one(seconds):
    """Lengths are not negative, and neither is a bound; a stop at any look leaves none or a valid one."""
    rng = np.random.default_rng(2)
    places = rng.random((100, 2)) * 1000
    stops = TSP.from_record({"coords": np.repeat(places, 30, axis=0).tolist(), "edge_weight_type": "EUC_2D"})
    for looks in range(6):
        left = iter([False] * looks)
        bound = TSP.bound(stops, Clock.of(seconds, asked=lambda left=left: next(left, True)))
        assert bound is None or bound.value >= 0


def test_the_case_of_10_000_stops(shared):
    """At 200 addresses: the bound keeps to its share, and is near that of the addresses."""
    (task,) = nsa.read(shared / "cases" / "second" / "c09.tsp")
    TSP.bound(task.instance, Clock.of(1.0))
    bound = TSP.bound(task.instance, Clock.of(6.0))
    assert 10_200 < bound.value <= 10_426


# --- Borůvka's algorithm, of many cities -----------------------------------------------------------------


def random_cities(rng, size, axes):
    """Uniform, coincident, in clusters or in a line."""
    return [
        rng.random((size, axes)) * rng.choice([1, 80, 1e6]),
        rng.integers(-4, 4, (size, axes)),
        rng.normal(size=(size, axes)) + rng.integers(0, 3, (size, 1)) * 50,
        rng.integers(-1000, 1000, (size, 1)) * np.ones((1, axes), dtype=int),
    ][rng.integers(4)]


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
        lengths = scaled(instance, scale, *np.indices((size, size)))
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
