"""Neighbour lists against brute force, coincident cities, and the order along Hilbert's curve."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.policy.checkpoint import save
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.candidates import WINDOW, stride_of
from nsa_cli.problems.tsp.neighbour_lists import (
    candidate_lists,
    hilbert,
    nearest_among,
    nearest_in_orthants,
    nearest_points,
    neighbour_lists,
    sites_of,
)

from helpers import random_instances, starts_of


@pytest.mark.parametrize("size", [50, 200])
@pytest.mark.parametrize("explicit", [False, True])
def test_neighbours_are_the_nearest_sites(size: int, explicit: bool) -> None:
    """By comparing all pairs of few sites, by a k-d tree of many, and by rows of a matrix."""
    points = np.random.default_rng(1).random((size, 2))
    far = np.linalg.norm(points[:, None] - points, axis=-1)
    instance = (
        TspInstance(edge_weight_type="EXPLICIT", matrix=(far + far.T) / 2)
        if explicit
        else TspInstance(coords=points)
    )
    np.fill_diagonal(far, np.inf)
    expected = np.sort(far, axis=1)[:, :4]
    assert np.allclose(np.take_along_axis(far, nearest_points(points, 4), 1), expected)
    lists = neighbour_lists(instance)
    numbers = lists.sites.numbers
    assert np.allclose(lists.distances[np.argsort(numbers)], np.sort(far, axis=1)[:, :10])
    assert np.allclose(far[numbers[:, None], numbers[lists.neighbours]], lists.distances)
    assert neighbour_lists(instance) is neighbour_lists(instance)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("kind", ["random", "lattice", "line", "one place"])
@pytest.mark.parametrize("metric", ["EXACT", "MAN", "MAX"])
def test_of_points_equally_far_the_first_are_the_nearest(axes: int, kind: str, metric: str) -> None:
    """In each norm, whatever the points' places in the tree."""
    rng = np.random.default_rng(3)
    points = rng.random((203, axes)) if kind == "random" else rng.integers(0, 6, (203, axes)).astype(float)
    points *= {"line": np.arange(axes) == 1, "one place": 0.0}.get(kind, 1.0)
    apart = np.abs(points[:, None] - points)
    far = {"EXACT": (apart**2).sum(2), "MAN": apart.sum(2), "MAX": apart.max(2)}[metric]
    np.fill_diagonal(far, np.inf)
    expected = np.argsort(far, axis=1, kind="stable")[:, :11]
    assert np.array_equal(nearest_points(points, 11, f"{metric}_{axes}D"), expected)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("lattice", [False, True])
def test_two_are_found_in_each_orthant(axes: int, lattice: bool) -> None:
    """On every side that has so many; of points equally far the first."""
    rng = np.random.default_rng(4)
    points = rng.integers(0, 9, (150, axes)).astype(float) if lattice else rng.random((150, axes))
    found = nearest_in_orthants(points)
    for i in range(len(points)):
        side = ((points < points[i]) << np.arange(axes)).sum(axis=1)
        side[i] = -1
        far = ((points - points[i]) ** 2).sum(axis=1)
        expected = []
        for orthant in range(2**axes):
            there = np.flatnonzero(side == orthant)
            two = there[np.argsort(far[there], kind="stable")][:2].tolist()
            expected += [*two, -1, -1][:2]
        assert found[i].tolist() == expected


def test_neighbours_among_some_cities_are_places_among_these() -> None:
    """As many as there are, where that is fewer."""
    instance = TspInstance(coords=np.array([[0.0, 0.0], [9.0, 0.0], [1.0, 0.0], [3.0, 0.0]]))
    some = np.array([3, 0, 2])
    assert nearest_among(instance, some, 9).tolist() == [[2, 1], [2, 0], [1, 0]]


def test_coincident_cities_are_one_site_if_merged() -> None:
    """A tour of sites visits all cities of each; unmerged, each city is a site."""
    coords = np.repeat(np.random.default_rng(2).random((20, 2)), 3, axis=0)
    instance = TspInstance(coords=coords)
    sites = sites_of(instance)
    assert len(sites.numbers) == 20
    tour = sites.tour(np.arange(20))
    assert instance.violation(tour) is None
    assert sites.order(tour).tolist() == list(range(20))
    assert (np.diff(sites.site[tour]) >= 0).all()
    assert sorted(sites_of(instance, merge=False).numbers) == list(range(60))


def test_hilbert_goes_from_neighbour_to_neighbour() -> None:
    """Sorted along the curve, a full grid is walked in unit steps."""
    grid = np.stack(np.meshgrid(np.arange(16), np.arange(16)), -1).reshape(-1, 2).astype(float)
    walk = grid[np.argsort(hilbert(grid))]
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()


# --- 2-opt over candidate lists ----------------------------------------------------------------------


TSP = nsa.find_problem("tsp")
NEAR = TSP.neighbourhood("nearest:4")


def matrix_of(instance):
    """The same lengths without coordinates."""
    places = np.arange(instance.size)
    lengths = instance.edges(places[:, None], places[None, :])
    return TspInstance(edge_weight_type="EXPLICIT", matrix=np.asarray(lengths))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 30])
@pytest.mark.parametrize("count", [2, 4, 10])
def test_lists_hold_the_nearest_cities_in_order(size, count):
    """By sorting all, from coordinates and from a matrix."""
    (instance,) = random_instances(TSP, size, 1)
    places = np.arange(size)
    lengths = instance.edges(places[:, None], places[None, :]).astype(float)
    np.fill_diagonal(lengths, np.inf)
    expected = np.argsort(lengths, axis=1)[:, : min(count, size - 1)]
    assert np.array_equal(candidate_lists(instance, count), expected)
    assert np.array_equal(candidate_lists(matrix_of(instance), count), expected)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 15, 16, 17, 100, 1000, 85_900])
def test_a_window_has_no_city_twice(size):
    """And each city is in as many windows as any other."""
    cities = np.arange(min(WINDOW, size)) * stride_of(size) % size
    assert len(set(cities.tolist())) == min(WINDOW, size)


def moments(size, seed=0):
    """States of a random walk over moves between near cities."""
    instances = random_instances(TSP, size, 8, seed)
    operations = NEAR.operations()
    batch, x, policy = operations.pack(instances), starts_of(TSP, instances, "greedy"), UniformSlotPolicy()
    keys, heat = torch.arange(8), torch.tensor(0.3, dtype=torch.float64)
    for u in uniforms_torch(keys, 0, 60, policy.draws(operations, x)):
        action, possible = policy.propose(operations, batch, x, heat, u)
        yield operations, batch, x, action, possible
        x = torch.where(possible[:, None], operations.apply(batch, x, action), x)


@pytest.mark.parametrize("size", [4, 5, 6, 17, 40])
def test_moves_join_a_city_to_a_near_one(size):
    """The new neighbour is in the list, and the change of cost is the difference of two."""
    for operations, batch, x, action, possible in moments(size):
        moved = operations.apply(batch, x, action)
        change = operations.cost(batch, moved) - operations.cost(batch, x)
        torch.testing.assert_close(operations.delta(batch, x, action)[possible], change[possible])
        for row in possible.nonzero()[:, 0].tolist():
            city = int((action[0][row] + action[1][row] * stride_of(size)) % size)
            near, width = batch.candidates[row, city], batch.candidates.shape[2]
            tour = moved[row].tolist()
            at = tour.index(city)
            assert near[action[2][row] % width] in (tour[at - 1], tour[(at + 1) % size])
            assert sorted(tour) == list(range(size))


@pytest.mark.parametrize("kind", ["coords", "matrix", "EUC_2D", "GEO"])
def test_every_metric_has_candidate_lists(kind):
    """Kernel and reference give the same answer, which is exact."""
    rng = np.random.default_rng(0)
    coords = rng.random((40, 2)) if kind != "EUC_2D" else (rng.random((40, 2)) * 1000).round()
    data = {"coords": (coords * 90).tolist() if kind == "GEO" else coords.tolist()}
    instance = TSP.from_record(data | ({"edge_weight_type": kind} if kind.isupper() else {}))
    instance = matrix_of(instance) if kind == "matrix" else instance
    answers = [
        nsa.solve(nsa.Task(TSP, instance), neighbourhood="nearest:6", policy="uniform", bound=False, seed=3,
                  steps=2000, chains=2, backend=backend, device="cpu")
        for backend in ("numba", "torch")
    ]  # fmt: skip
    assert answers[0].objective == answers[1].objective == instance.objective(answers[0].solution)
    assert answers[0].method == "anneal"


def test_many_cities_take_memory_in_proportion():
    """Twenty thousand cities: no array of a kernel's batch is a matrix of all distances; and it solves."""
    instance = TSP.generate(20_000, np.random.default_rng(0))
    batch = TSP.neighbourhood("nearest:10").kernel().arrays([instance], None)
    arrays = [*batch, *batch.tours]
    assert sum(a.nbytes for a in arrays if isinstance(a, np.ndarray)) < 300 * instance.size
    result = nsa.solve(
        nsa.Task(TSP, instance), neighbourhood="nearest:10", seed=1, steps=200_000, chains=1, bound=False
    )
    assert result.objective < instance.objective(TSP.start("greedy")(instance, lambda n: np.zeros(n)))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--neighbourhood", "nearest"], "nearest:K"),
        (["--neighbourhood", "nearest:1"], "K from 2 to 100"),
        (["--neighbourhood", "nearest:10", "--policy", "tsp-es-best"], "is for paper"),
        (["--neighbourhood", "paper", "--policy", "tsp-es-nearest"], "is for nearest:10"),
        (["--neighbourhood", "nearest:10", "--method", "large-step"], "leave out --neighbourhood"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(tmp_path, capsys, options, word):
    """With exit code 2."""
    file = tmp_path / "five.json"
    file.write_text(json.dumps({"coords": np.random.default_rng(0).random((5, 2)).tolist()}))
    assert exit_code(["solve", str(file), *options]) == 2
    message = capsys.readouterr().err
    assert word in message
    assert message.count("\n") == 1


def test_a_neighbourhood_is_the_same_object_each_time():
    """By name and by default; instances are batched by it."""
    assert TSP.neighbourhood("nearest:7") is TSP.neighbourhood("nearest:7")
    assert TSP.neighbourhood() is TSP.neighbourhood("nearest:10") is TSP.neighbourhoods[1]


def test_a_policy_states_its_candidates(tmp_path):
    """Solve takes them from its file; no option is needed."""
    operations = NEAR.operations()
    policy = SlotPolicy(operations.feature_sets["nearest"].slots, "nearest", name="mine")
    save(tmp_path / "mine.json", policy, "tsp", {"neighbourhood": "nearest:4"})
    assert json.loads((tmp_path / "mine.json").read_text())["neighbourhood"] == "nearest:4"
    (task,) = nsa.generate("tsp", 12, 1, 0)
    options = {"steps": 300, "chains": 2, "seed": 1, "bound": False, "device": "cpu"}
    answers = [
        nsa.solve(task, policy=str(tmp_path / "mine.json"), backend=backend, **options)
        for backend in ("numba", "torch")
    ]
    assert [a.policy for a in answers] == ["mine", "mine"]
    assert answers[0].objective == pytest.approx(answers[1].objective)


def test_training_between_near_cities_learns_and_ppo_is_refused(tmp_path, monkeypatch, capsys):
    """The policy's file and its configuration state the candidates; ES only."""
    monkeypatch.chdir(tmp_path)
    config = (
        "size: 8, steps: 20, problems: 4, validation_size: 8, validation_problems: 4, validation_steps: N"
    )
    (tmp_path / "c.yaml").write_text(f"{{{config}, neighbourhood: 'nearest:3'}}\n")
    train = ["train", "tsp", "--config", "c.yaml", "--features", "nearest", "--epochs", "2", "-q"]
    assert exit_code([*train, "--method", "es", "-o", "mine.json"]) == 0
    made = json.loads((tmp_path / "mine.json").read_text())
    assert made["neighbourhood"] == made["training"]["neighbourhood"] == "nearest:3"
    assert exit_code([*train, "--method", "ppo", "-o", "other.json"]) == 2
    assert "--method es" in capsys.readouterr().err


def test_a_benchmark_has_a_row_for_near_candidates(tmp_path, capsys):
    """Uniform proposals over them, beside the others; a policy for near cities runs with its own."""
    command = (
        f"benchmark tsp --sizes 20 --steps 1 --count 2 --policies tsp-es-nearest --out {tmp_path / 'out'}"
    )
    assert exit_code([*command.split(), "--neighbourhood", "nearest:5", "-q"]) == 0
    rows = (tmp_path / "out" / "runs.csv").read_text().split("\n")[1:-1]
    assert {"nsa-sa", "nsa-sa-nearest:5", "nsa-es-nearest"} <= {row.split(",")[3] for row in rows}
