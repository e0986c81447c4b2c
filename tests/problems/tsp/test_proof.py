"""Proofs of tours: never a false one, against the dynamic programme; certificates, tampered ones, limits."""

from __future__ import annotations

import copy
import json
import math
import time

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import total_of
from nsa_cli.problems.tsp.bound import _enumerated
from nsa_cli.problems.tsp.closed import ClosedTour, searched
from nsa_cli.problems.tsp.proof import proof_of
from nsa_cli.problems.tsp.proof.certificate import check
from nsa_cli.problems.tsp.proof.cuts import Cut, crossings, packed
from nsa_cli.problems.tsp.proof.relaxation import StoppedError

TSP = nsa.find_problem("tsp")

SPANS = ((-3, 4), (0, 2), (0, 50), (1, 10**6), (5, 6), (-(10**12), 10**12))


def a_record(rng):
    """Few cities: equal places, zero, negative and missing entries, decimals, ties, fixed edges."""
    size, kind = int(rng.integers(5, 10)), int(rng.integers(0, 9))
    record = {}
    if kind == 0:
        record["coords"] = rng.integers(0, 3, (size, 2)).tolist()
    elif kind == 1:
        record["coords"] = rng.random((size, 2)).tolist()
    elif kind == 2:
        record |= {"coords": rng.integers(0, 4, (size, 2)).tolist(), "edge_weight_type": "EUC_2D"}
    else:
        lengths = rng.integers(*SPANS[int(rng.integers(0, len(SPANS)))], (size, size))
        lengths = np.triu(lengths, 1) + np.triu(lengths, 1).T if kind < 6 else lengths
        lengths = lengths / 10 if kind in (4, 7) else rng.random((size, size)) if kind == 8 else lengths
        np.fill_diagonal(lengths, 0)
        rows = lengths.tolist()
        for _ in range(int(rng.integers(0, 12)) // 8 * 3):
            a, b = rng.choice(size, 2, replace=False)
            rows[a][b] = None
            rows[b][a] = None if kind < 6 else rows[b][a]
        record |= {"matrix": rows} | ({"asymmetric": True} if kind >= 6 else {})
    if rng.random() < 0.3:
        record["open"] = True
        record |= {"from": 1} if rng.random() < 0.4 else {}
        record |= {"to": 3} if rng.random() < 0.4 else {}
    return record | ({"fixed_edges": [[2, 4]]} if rng.random() < 0.3 else {})


def with_optimum(rng):
    """An instance as searches see it, its optimum, and a tour: a shortest one, or any."""
    while True:
        try:
            inner = searched(TSP.from_record(a_record(rng)))
            best = _enumerated(inner)
        except nsa.NsaError:
            continue  # no tour
        tour = best.solution
        if rng.random() < 0.5:
            size = inner.outer.size if isinstance(inner, ClosedTour) else inner.size
            drawn = inner.inward(rng.permutation(size))
            tour = drawn if inner.violation(drawn) is None else tour
        return inner, best.unrounded, tour


def proved(inner, tour, seconds=20.0, effort=math.inf):
    """Run a proof."""
    proof = proof_of(inner, tour, Clock.of(seconds, time.monotonic()), effort)
    proof.run()
    return proof


@pytest.mark.parametrize(
    ("count", "seed"), [(120, 1), pytest.param(20_000, 2, marks=pytest.mark.study)], ids=["some", "many"]
)
def test_no_proof_is_false(count, seed):
    """Bounds never pass the optimum, what is proved is it, and a certificate says the same."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(count):
        inner, optimum, tour = with_optimum(rng)
        proof = proved(inner, tour)
        assert inner.violation(proof.solution) is None
        assert proof.limit is None or proof.limit <= optimum <= proof.objective
        if proof.proved:
            found += 1
            assert proof.objective == optimum
            outer = inner.outer if isinstance(inner, ClosedTour) else inner
            assert check(outer, json.loads(json.dumps(proof.witness()))) == optimum
    assert found > 0.9 * count


def a_proof(size=60, seed=5):
    task = nsa.generate("tsp", size, seed=seed)[0]
    tour = nsa.solve(task, seed=1, bound=False).raw
    return task.instance, proved(task.instance, tour)


def numbers_in(data):
    """Places of all whole numbers in lists of lists: the list, and the index."""
    for key, one in enumerate(data):
        if isinstance(one, list):
            yield from numbers_in(one)
        elif isinstance(one, int):
            yield data, key


def test_an_altered_certificate_proves_nothing_better():
    """Numbers that are changed are refused, or show the same: never less than the optimum's length."""
    instance, proof = a_proof(seed=7)
    assert proof.proved
    assert proof.leaves
    sound, rng, refused = proof.witness(), np.random.default_rng(0), 0
    for _ in range(60):
        altered = copy.deepcopy(sound)
        places = list(numbers_in([altered["stages"], altered["leaves"], altered["cuts"]]))
        place, key = places[rng.integers(0, len(places))]
        place[key] += int(rng.choice([-(10**15), -1, 1, 10**15]))
        try:
            assert check(instance, altered) == proof.objective
        except DataError:
            refused += 1
    assert refused > 10
    without = copy.deepcopy(sound)
    without["leaves"].pop()
    with pytest.raises(DataError, match="room for a shorter tour"):
        check(instance, without)
    more = copy.deepcopy(sound)
    for *_, cities, _ in [*more["stages"], *more["leaves"]]:
        cities.append(10**15)  # no city has this value
    with pytest.raises(DataError, match="room for a shorter tour"):
        check(instance, more)
    worse = copy.deepcopy(sound)
    worse["tour"][:3] = worse["tour"][2::-1]  # a longer tour is not optimal, whatever the values
    assert instance.exact_objective(np.array(worse["tour"])) > proof.objective
    with pytest.raises(DataError, match="room for a shorter tour"):
        check(instance, worse)


@pytest.mark.parametrize("junk", [{}, {"tour": [0]}, {"tour": [0, 1], "cuts": 3}, {"tour": "x"}])
def test_what_is_no_certificate_is_refused(junk):
    instance = nsa.generate("tsp", 10, seed=1)[0].instance
    with pytest.raises(DataError, match="certificate"):
        check(instance, junk)


def test_a_wrong_tour_is_met_by_a_better_one():
    """A proof hands its own tours over; it goes on from better ones that it is offered."""
    instance = nsa.generate("tsp", 40, seed=3)[0].instance
    right = nsa.solve(nsa.generate("tsp", 40, seed=3)[0], seed=1).objective
    wrong = np.arange(40)
    found = proved(instance, wrong)
    assert found.proved
    assert instance.objective(found.solution) == right


def test_ties_of_real_lengths_end():
    """A grid has many tours of a length: it is proved, or left open at that very length."""
    grid = np.stack(np.divmod(np.arange(36), 6), 1)
    for unit in (1.0, 0.1):
        instance = TSP.from_record({"coords": (grid * unit).tolist(), "edge_weight_type": "EXACT_2D"})
        best = nsa.solve({"coords": (grid * unit).tolist()}, problem="tsp", seed=1, bound=False).raw
        proof = proved(instance, best, 10.0)
        assert proof.proved or float(proof.limit) == pytest.approx(float(proof.objective), rel=1e-9)


def test_the_clock_and_the_effort_end_a_proof():
    instance = nsa.generate("tsp", 300, seed=1)[0].instance
    began = time.monotonic()
    proof = proved(instance, np.arange(300), 0.2)
    assert not proof.proved
    assert time.monotonic() - began < 2.0
    first, second = (proved(instance, np.arange(300), effort=20_000) for _ in range(2))
    assert first.limit == second.limit
    assert (first.solution == second.solution).all()


def test_borders_are_counted():
    """Edges cross the borders of a handle and of teeth as often as their ends are apart."""
    rng = np.random.default_rng(0)
    cuts = [
        Cut((np.array([0, 1, 2]),)),
        Cut((np.array([3, 4]), np.array([4, 5]), np.array([3, 0]), np.array([6]))),
    ]
    i, j = np.triu_indices(8, 1)
    kept = rng.random(len(i)) < 0.7
    i, j = i[kept], j[kept]
    cut, edge, times = crossings(packed(cuts, 8), 8, i, j)
    table = np.zeros((2, len(i)), int)
    table[cut, edge] = times
    for k, one in enumerate(cuts):
        for e in range(len(i)):
            assert table[k, e] == sum((i[e] in s) != (j[e] in s) for s in map(set, one.sets))


def test_a_solve_proves_small_tours():
    """Without a limit, with one, and not where steps are given or bounds are not wanted."""
    task = nsa.generate("tsp", 30, seed=9)[0]
    for more in ({}, {"time_limit": 5}):
        result = nsa.solve(task, seed=1, **more)
        assert result.status == "optimal"
    steps = nsa.solve(task, seed=1, steps=200, method="large-step")
    assert steps.bound.method == "held-karp"
    assert nsa.solve(task, seed=1, steps=200, prove=True, method="large-step").status == "optimal"
    assert nsa.solve(task, seed=1, bound=False).bound is None
    with pytest.raises(nsa.UsageError, match="prove"):
        nsa.solve(task, bound=False, prove=True)


def test_sums_of_dual_values_that_may_overflow_are_no_bound():
    instance = nsa.generate("tsp", 30, seed=9)[0].instance
    proof = proof_of(instance, np.arange(30), Clock())
    relaxation = proof.relaxation
    with pytest.raises(StoppedError):
        relaxation.bounded(np.full(30, 1e30))
    small = relaxation.bounded(np.zeros(30))
    assert small.total == 0
    assert total_of(relaxation.lengths) > 0
