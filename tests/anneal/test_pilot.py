"""Temperatures that a run finds: what they mean, and that neither units nor chunks nor batch mates matter."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from tests.user_problems import MAXCUT

import nsa_cli as nsa
from nsa_cli.anneal.chains import Counted
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.pilot import Pilot, looking
from nsa_cli.anneal.schedule import Schedule, TimedSchedule
from nsa_cli.core.draws import stream_keys
from nsa_cli.problems import find_problem
from nsa_cli.solver.search import Beginning, choose_search
from nsa_cli.solver.settings import Settings


def started(instance: Any, name: str, backend: str = "auto", threads: int = 1) -> Any:
    problem = find_problem(name)
    x = np.random.default_rng(0).random((4, instance.size)) < 0.5
    if name == "tsp":
        x = np.stack([np.random.default_rng(k).permutation(instance.size) for k in range(4)])
    keys = stream_keys(0, np.arange(4))
    settings = Settings(method="anneal", neighbourhood="paper", backend=backend, threads=threads)
    chosen = choose_search(nsa.Task(problem, instance), "uniform", settings)
    return chosen.start(Beginning([instance] * 4, x, keys))


def temperatures(instance: Any, name: str, backend: str = "auto", steps: int = 20_000) -> tuple[float, float]:
    chains, pilot = started(instance, name, backend), Pilot(Schedule(steps), ("t_start", "t_end"))
    while not pilot.is_over:
        pilot.take(chains, steps)
    return pilot.found.t_start, pilot.found.t_end


def test_the_range_is_where_the_heat_is() -> None:
    """In closed form: many independent two-level systems of a gap of 1, at equilibrium."""
    looks, proposed = looking(), 1e6
    level = next(looks)
    try:
        while True:
            boltzmann = np.exp(-1 / level.temperature)
            upper = boltzmann / (1 + boltzmann)  # the share of systems in that state
            raised = np.floor(proposed * (1 - upper) * boltzmann)
            counts = [proposed, proposed, proposed, proposed * (1 - upper), 2 * raised, raised]
            level = looks.send(np.array([[*counts, 0.0, proposed * 1e4 * upper * (1 - upper)]]))
    except StopIteration as end:
        first, last = end.value
    assert 0.3 < first < 1.5
    assert 0.04 < last < 0.2


def test_both_backends_count_the_same_moves() -> None:
    """The same random numbers, and so the same temperatures."""
    instance = find_problem("knapsack").generate(14, np.random.default_rng(2))
    found = temperatures(instance, "knapsack", steps=2_000)
    assert temperatures(instance, "knapsack", "torch", steps=2_000) == pytest.approx(found)


def test_neither_chunks_nor_threads_matter() -> None:
    """To the last bit."""
    instance = find_problem("knapsack").generate(20, np.random.default_rng(2))
    answers = []
    for chunk, threads in ((None, 1), (17, 1), (1_000, 3)):
        chains = started(instance, "knapsack", threads=threads)
        pilot = Pilot(Schedule(5_000), ("t_start", "t_end"))
        run_chains(chains, pilot, chunk=chunk)
        assert chains.step == 5_000
        answers.append((pilot.found, chains.best_energy.tolist(), chains.accepted.tolist()))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0].t_end < answers[0][0].t_start


def test_levels_take_shares_of_the_time() -> None:
    """Where time ends the run, a sixth is enough to find the range."""
    chains: Counted = started(find_problem("knapsack").generate(20, np.random.default_rng(2)), "knapsack")
    now = time.monotonic()
    pilot = Pilot(TimedSchedule.of(Schedule(1), now, now + 0.5), ("t_start", "t_end"))
    while pilot.found.t_start == 1.0:
        pilot.take(chains, chains.step + 100)
    assert time.monotonic() - now < 0.25


@pytest.mark.parametrize("scale", [1e8, 1e-6])
def test_units_do_not_matter(scale: float) -> None:
    """Coordinates of 1e8 or energies of 1e-6 anneal as numbers near one do."""
    coords = np.random.default_rng(3).random((20, 2))
    tours = [{"problem": "tsp", "coords": (coords * s).tolist()} for s in (1.0, scale)]
    plain, scaled = (find_problem("tsp").from_record(record) for record in tours)
    assert temperatures(scaled, "tsp") == pytest.approx(temperatures(plain, "tsp"), rel=0.02)
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
    mixed = nsa.solve(task, seed=1, steps=10, t_start="auto", t_end=1e-3).schedule
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
