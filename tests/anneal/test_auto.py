"""Automatic temperatures: what they mean, and that no unit of the file matters."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from tests.user_problems import MAXCUT

import nsa_cli as nsa
from nsa_cli.anneal import auto
from nsa_cli.anneal.auto import sampled_temperatures, temperature_for
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems import find_problem
from nsa_cli.solver.search import Beginning, choose_search
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_all


def temperatures(instance: Any, name: str, backend: str = "auto", most: int = 400) -> tuple[float, float]:
    problem = find_problem(name)
    x = np.random.default_rng(0).random((4, instance.size)) < 0.5
    if name == "tsp":
        x = np.stack([np.random.default_rng(k).permutation(instance.size) for k in range(4)])
    keys = stream_keys(0, np.arange(4))
    settings = Settings(method="anneal", neighbourhood="paper", backend=backend, threads=1)
    chosen = choose_search(nsa.Task(problem, instance), "uniform", settings)
    found = sampled_temperatures(chosen.start(Beginning([instance] * 4, x, keys)), instance.size, most)
    assert found is not None
    return found


def test_a_temperature_accepts_its_share() -> None:
    """In closed form where all moves cost the same, and by evaluation where they do not."""
    assert temperature_for(np.full(5, 3.0), 0.5) == pytest.approx(3.0 / np.log(2))
    worse = np.random.default_rng(1).exponential(1e-9, 1_000)
    assert np.exp(-worse / temperature_for(worse, 0.12)).mean() == pytest.approx(0.12)


def test_both_backends_see_the_same_moves() -> None:
    """The same random numbers, and so the same temperatures."""
    instance = find_problem("knapsack").generate(14, np.random.default_rng(2))
    found = temperatures(instance, "knapsack")
    assert temperatures(instance, "knapsack", "torch") == pytest.approx(found)


@pytest.mark.parametrize("scale", [1e8, 1e-6])
def test_units_do_not_matter(scale: float) -> None:
    """Coordinates of 1e8 or energies of 1e-6 anneal as numbers near one do."""
    coords = np.random.default_rng(3).random((20, 2))
    tours = [{"problem": "tsp", "coords": (coords * s).tolist()} for s in (1.0, scale)]
    plain, scaled = (find_problem("tsp").from_record(record) for record in tours)
    assert temperatures(scaled, "tsp") == pytest.approx(temperatures(plain, "tsp"), rel=1e-4)
    problem = find_problem(MAXCUT)
    weights = problem.generate(20, np.random.default_rng(4)).data.weights.astype(float)
    graphs = [problem.from_record({"weights": (weights * s).tolist()}) for s in (1.0, scale)]
    results = nsa.solve_many([nsa.Task(problem, graph) for graph in graphs], seed=1, chains=2, steps=2_000)
    assert results[0].solution.tolist() == results[1].solution.tolist()
    first, second = (result.schedule["t_start"] for result in results)
    assert second == pytest.approx(first, rel=1e-6)


def test_the_users_own_temperatures_win() -> None:
    """One may be given and the other sampled; policies keep theirs unless asked."""
    problem = find_problem(MAXCUT)
    task = nsa.Task(problem, problem.generate(20, np.random.default_rng(4)))
    sampled = nsa.solve(task, seed=1, steps=10).schedule
    assert 0 < sampled["t_end"] < sampled["t_start"] < 1
    mixed = nsa.solve(task, seed=2, steps=10, t_start="auto", t_end=1e-3).schedule
    assert (mixed["t_start"], mixed["t_end"]) == (sampled["t_start"], 1e-3)
    items = nsa.generate("knapsack", 30, seed=1)[0]
    trained = nsa.solve(items, seed=1, steps=10, bound=False)
    assert trained.schedule["t_start"] == pytest.approx(1.0)
    assert nsa.solve(items, seed=1, steps=10, bound=False, t_start="auto").schedule["t_start"] < 1.0


def test_a_flat_landscape_has_temperatures_too() -> None:
    """Where no move is worse there is nothing to sample."""
    problem = find_problem(MAXCUT)
    flat = problem.from_record({"weights": np.zeros((6, 6), dtype=int).tolist()})
    assert nsa.solve(flat, problem=MAXCUT, seed=1, steps=10).schedule["t_start"] == 1.0


@pytest.mark.parametrize("size", [60, 300])
def test_between_near_cities_temperatures_are_spacings(size: int) -> None:
    """Near the tuned ones, whatever the number of cities: most of these moves are not hopeless."""
    (task,) = nsa.generate("tsp", size, seed=3)
    options: dict[str, Any] = {
        "policy": "uniform",
        "neighbourhood": "nearest:10",
        "t_start": "auto",
        "t_end": "auto",
    }
    schedule = nsa.solve(task, seed=1, steps=5, chains=1, bound=False, threads=1, **options).schedule
    assert 0.2 < schedule["t_start"] * size**0.5 < 1.0
    assert 0.004 < schedule["t_end"] * size**0.5 < 0.12


def test_an_interrupt_does_not_wait_for_the_sample(monkeypatch: Any) -> None:
    """The start is the answer."""
    released = threading.Event()
    monkeypatch.setattr(auto, "sampled_temperatures", lambda *_, **__: released.wait(60) and (0.5, 0.25))
    problem = find_problem(MAXCUT)
    task = nsa.Task(problem, problem.generate(8, np.random.default_rng(1)))
    began = time.monotonic()
    settings = nsa.Settings(seed=1, steps=10)
    (result,) = solve_all([task], settings, asked=lambda: time.monotonic() > began + 0.05)
    released.set()
    assert time.monotonic() - began < 50
    assert (result.status, result.steps) == ("interrupted", 0)
