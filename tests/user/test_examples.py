"""Each example of own problems: sound, solved to optima that are known otherwise, and trained."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.contract import faults
from nsa_cli.problems import find_problem
from nsa_cli.train.config import EsConfig
from nsa_cli.train.es import train_es
from nsa_cli.train.loop import Training

from user_problems import COLOURING, EXAMPLES, FACILITY, FLOWSHOP, MAXCUT, QAP, SHOWN


def solved(path, record, **options):
    problem = find_problem(path)
    task = nsa.Task(problem, problem.from_record(record))
    return nsa.solve(task, seed=1, threads=1, **options)


def test_all_examples_are_tested():
    """Whoever adds a file adds it here."""
    assert {path.rpartition(":")[0] for path in SHOWN} == {str(file) for file in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("path", SHOWN, ids=lambda p: p.rpartition(":")[2])
def test_an_example_passes_its_check_and_is_trained(path, tmp_path):
    """For two epochs, if it has features; and the policy serves an instance of another size."""
    problem = find_problem(path)
    assert faults(problem)[1] == []
    if not problem.model.learns:
        return
    config = EsConfig(
        size=8,
        steps=10,
        problems=4,
        epochs=2,
        validation_problems=4,
        validation_size=8,
        unit=None,
        population=2,
    )
    run = Training(problem, config, 0, tmp_path / "mine.json", threads=1)
    train_es(run)
    task = nsa.Task(problem, problem.generate(12, np.random.default_rng(1)))
    found = nsa.solve(task, policy=str(run.out), steps=50, chains=2, seed=1)
    assert (found.policy, task.instance.violation(found.solution)) == ("mine", None)


def test_a_grid_is_laid_onto_itself():
    """Flow between neighbours of a grid in a hidden order: at best each goes a way of 1."""
    rng = np.random.default_rng(1)
    spots = np.array(list(product(range(3), repeat=2)))
    distance = abs(spots[:, None] - spots).sum(2)
    flow = np.triu(rng.integers(1, 10, (9, 9)) * (distance == 1))
    flow, hidden = flow + flow.T, rng.permutation(9)
    record = {"flow": flow[np.ix_(hidden, hidden)].tolist(), "distance": distance.tolist()}
    assert solved(QAP, record, steps=20_000).objective == flow.sum()


def test_a_small_flow_shop_is_solved():
    """Against all 720 orders, by the recursion as the textbook has it; the bound is none too high."""
    times = np.random.default_rng(2).integers(1, 100, (5, 6))

    def makespan(order):
        ends = np.zeros((6, 7), int)
        for j, job in enumerate(order, start=1):
            for k in range(1, 6):
                ends[k, j] = max(ends[k - 1, j], ends[k, j - 1]) + times[k - 1, job]
        return ends[5, 6]

    every = [makespan(order) for order in permutations(range(6))]
    found = solved(FLOWSHOP, {"times": times.tolist()}, steps=2_000)
    assert found.objective == min(every)
    assert found.bound.value <= min(every)


def test_taillards_first_instance_is_solved():
    """Its makespan is known to be 1278 at best; the times come from the published generator."""
    seed, times = 873654221, np.zeros((5, 20), int)
    for k, j in product(range(5), range(20)):
        seed = 16807 * seed % (2**31 - 1)
        times[k, j] = 1 + int(seed / (2**31 - 1) * 99)
    found = solved(FLOWSHOP, {"times": times.tolist()}, steps=50_000, chains=8, target=1278)
    assert found.objective == 1278


def test_a_graph_gets_as_many_colours_as_it_needs():
    """Groetzsch's graph has no triangles, and needs four: with three there is one conflict at least."""
    cycle = {(i, (i + 1) % 5) for i in range(5)}
    shadows = {(5 + i, j) for a, b in cycle for i, j in ((a, b), (b, a))}
    adjacent = np.zeros((11, 11), int)
    for i, j in cycle | shadows | {(10, 5 + i) for i in range(5)}:
        adjacent[i, j] = adjacent[j, i] = 1
    for colours, conflicts in ((4, 0), (3, 1)):
        record = {"adjacent": adjacent.tolist(), "colours": colours}
        found = solved(COLOURING, record, steps=5_000)
        assert found.objective == conflicts
    assert not (adjacent @ adjacent * adjacent).any()
    assert min(_conflicts(adjacent, x) for x in product(range(3), repeat=11)) == 1


def _conflicts(adjacent, x):
    colours = np.array(x)
    return int((adjacent & (colours[:, None] == colours)).sum() // 2)


def test_a_cut_of_a_bipartite_graph_has_all_edges():
    """A square lattice wrapped round an even number of times."""
    i = np.arange(16)
    weights = np.zeros((16, 16), int)
    for other in ((i + 4) % 16, i - i % 4 + (i + 1) % 4):
        weights[i, other] = weights[other, i] = 1
    found = solved(MAXCUT, {"weights": weights.tolist()}, steps=2_000)
    assert (found.objective, type(found.objective)) == (32, int)
    assert set(found.to_dict()["solution"]) == {0, 1}


def test_the_relaxation_of_facility_location_is_a_bound():
    """Of few sites against all choices; it is whole, and mostly the optimum."""
    problem, rng, met = find_problem(FACILITY), np.random.default_rng(0), 0
    for size in range(2, 8):
        instance = problem.generate(size, rng)
        choices = [np.array(choice) for choice in product((0, 1), repeat=size) if any(choice)]
        optimum = min(problem.model.cls.cost(instance.data, choice) for choice in choices)
        bound = problem.bound(instance).value
        assert isinstance(bound, int)
        assert bound <= optimum
        met += bound == optimum
    assert met >= 4
