"""Instances that are solved alike share a batch, as far as memory goes."""

import nsa_cli as nsa
from nsa_cli.solver import batch
from nsa_cli.solver.batch import plan
from nsa_cli.solver.settings import Settings


def test_equal_instances_share_a_batch_and_others_do_not():
    """By problem, size and settings; every instance has its place."""
    tasks = [*nsa.generate("tsp", 20, 3, seed=1), *nsa.generate("tsp", 30, 2, seed=1)]
    tasks += nsa.generate("knapsack", 20, 1, seed=1)
    plans = plan(tasks, Settings(device="cpu", policy="uniform", steps="2N"))
    assert sorted(one.places for one in plans) == [[0, 1, 2], [3, 4], [5]]
    assert {one.places[0]: one.planned.steps for one in plans} == {0: 40, 3: 60, 5: 40}


def test_estimated_temperatures_are_an_instances_own():
    """These have a batch each."""
    tasks = nsa.generate("knapsack", 20, 3, seed=1)
    estimated = plan(tasks, Settings(device="cpu", policy="uniform", t_start="auto"))
    assert [(one.places, one.estimated) for one in estimated] == [([i], ("t_start",)) for i in range(3)]


def test_a_batch_fits_into_memory(monkeypatch):
    """Elements are chains times size; the division keeps the order."""
    monkeypatch.setattr(batch, "_BATCH_ELEMENTS", 100)
    tasks = nsa.generate("bin", 20, 5, seed=1)
    plans = plan(tasks, Settings(device="cpu", policy="uniform", steps=1, chains=2))
    assert [one.places for one in plans] == [[0, 1], [2, 3], [4]]


def test_what_the_user_says_wins_over_the_budget():
    """Steps, temperatures and chains."""
    (task,) = nsa.generate("tsp", 20, seed=1)
    (one,) = plan([task], Settings(device="cpu", policy="uniform", steps=7, chains=3, t_start=2.0))
    (default,) = plan([task], Settings(device="cpu", policy="uniform"))
    assert (one.planned.steps, one.chains, one.planned.t_start) == (7, 3, 2.0)
    assert one.planned.t_end == default.planned.t_end
