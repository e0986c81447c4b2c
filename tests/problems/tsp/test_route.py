"""Paths, directed edges and fixed edges: against all permutations, and what cannot be."""

import itertools

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, InfeasibleError
from nsa_cli.core.record import Source
from nsa_cli.problems import find_problem
from nsa_cli.problems.files import read_instances, write_instances
from nsa_cli.problems.tsp import bound as held_karp
from nsa_cli.problems.tsp.closed import ClosedTour, searched

TSP = find_problem("tsp")
QUICK = {"seed": 1, "device": "cpu", "threads": 1, "chains": 2}


def lengths(rng, size, kind):
    """A record of one of four kinds: rounded, real, whole and decimal lengths."""
    if kind == "rounded":
        return {"coords": rng.integers(0, 50, (size, 2)).tolist(), "edge_weight_type": "EUC_2D"}
    if kind == "real":
        return {"coords": rng.random((size, 2)).tolist()}
    whole = kind.startswith("whole")
    matrix = rng.integers(-5, 60, (size, size)) if whole else np.round(rng.random((size, size)) * 20, 2)
    if kind.endswith("symmetric"):
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    np.fill_diagonal(matrix, 0)
    rows = matrix.tolist()
    if kind.endswith("holes"):
        for i, j in rng.integers(0, size, (size // 2, 2)).tolist():
            rows[i][j] = None if i != j else 0
    return {"matrix": rows}


def requirements(rng, size):
    """Any of them, with cities drawn at random."""
    record = {}
    first, last = (rng.permutation(size)[:2] + 1).tolist()
    if rng.random() < 0.6:
        record["open"] = True
        record |= {"from": first} if rng.random() < 0.5 else {}
        record |= {"to": last} if rng.random() < 0.5 else {}
    if rng.random() < 0.5:
        record["fixed_edges"] = [(rng.permutation(size)[:2] + 1).tolist() for _ in range(rng.integers(1, 3))]
    return record


def best_of_all(instance):
    """The shortest of all permutations that obey, exactly; None if there is none."""
    tours = (np.array(tour) for tour in itertools.permutations(range(instance.size)))
    return min((instance.exact_objective(t) for t in tours if instance.violation(t) is None), default=None)


def drawn(seed, sizes):
    """Instances of all combinations that can be."""
    rng = np.random.default_rng(seed)
    kinds = ("rounded", "real", "whole", "whole symmetric", "whole holes", "decimal", "decimal symmetric")
    for kind in kinds:
        for _ in range(6):
            size = int(rng.choice(sizes))
            try:
                instance = TSP.from_record(lengths(rng, size, kind) | requirements(rng, size))
            except DataError:  # fixed edges that close a tour, or are not there
                continue
            if isinstance(searched(instance), ClosedTour):
                yield instance


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_the_best_of_all_permutations(seed):
    """By default as optimal; without a bound by search alone. What has no answer is infeasible in both."""
    count = 0
    for instance in drawn(seed, range(2, 7)):
        wanted = best_of_all(instance)
        for options in ({}, {"bound": False, "steps": 3000}):
            if wanted is None:
                with pytest.raises(InfeasibleError):
                    nsa.solve(instance, **QUICK, **options)
                continue
            result = nsa.solve(instance, **QUICK, **options)
            assert instance.violation(result.raw) is None
            assert result.unrounded == wanted == instance.exact_objective(result.raw)
            assert result.status == ("feasible" if options else "optimal")
            assert sorted(instance.from_ids(result.to_dict()["solution"])) == list(range(instance.size))
            count += 1
    assert count > 30


@pytest.mark.parametrize("seed", range(2))
def test_the_held_karp_bound_holds(seed, monkeypatch):
    """It is no longer than the best of all permutations, mostly equal, and its witness gives it again."""
    monkeypatch.setattr(held_karp, "_FEW", 2)
    gaps = []
    for instance in drawn(10 + seed, range(4, 8)):
        wanted = best_of_all(instance)
        bound = held_karp.bound(instance, Clock())
        assert bound.method == "held-karp"
        assert held_karp.recompute(instance, bound.witness) == bound.unrounded
        if wanted is not None:
            assert bound.unrounded <= wanted
            gaps.append(float(wanted - bound.unrounded) / max(abs(float(wanted)), 1))
    assert len(gaps) > 15
    assert np.mean(np.array(gaps) < 1e-6) > 0.8


@pytest.mark.parametrize("name", ["greedy", "nearest", "curve", "random", "paper"])
def test_starts_obey(name):
    """Even those by chance have all fixed edges and ends, and are as long as the nodes' tour."""
    rng = np.random.default_rng(3)
    whole = rng.integers(1, 100, (20, 20)).tolist()
    record = {"matrix": whole, "from": 4, "to": 9, "fixed_edges": [[1, 2], [2, 3], [7, 4 + 1]]}
    for data in (record, record | {"coords": rng.random((20, 2)).tolist(), "matrix": None}):
        instance = TSP.from_record(data)
        inner = searched(instance)
        tour = TSP.start(name)(inner, np.random.default_rng(1).random)
        assert inner.violation(tour) is None
        length = inner.matrix[tour, np.roll(tour, -1)].sum()
        assert length == pytest.approx(float(instance.objective(inner.outward(tour))), abs=1e-6)


def test_a_tour_goes_in_and_comes_out():
    """Of any route; and one that does not obey still is a tour of all cities."""
    rng = np.random.default_rng(7)
    for instance in drawn(20, [9]):
        inner = searched(instance)
        tour = inner.outward(inner.inward(rng.permutation(9)))
        again = inner.outward(inner.inward(tour))
        assert inner.exact_objective(inner.inward(tour)) == instance.exact_objective(tour)
        assert instance.exact_objective(again) == instance.exact_objective(tour)
        assert sorted(inner.outward(rng.permutation(inner.size))) == list(range(9))


@pytest.mark.parametrize(
    ("record", "first", "second"),
    [
        *(({}, "A", "B"), ({"depot": "C"}, "C", "B"), ({"depot": 0}, "A", "B"), ({"depot": ["D"]}, "D", "A")),
        *(({"open": True}, "A", None), ({"open": True, "depot": "C"}, "C", None)),
    ],
)
def test_where_a_tour_begins(record, first, second):
    """At the depot, else the first city, and on to the neighbour that is first in the file, for any seed."""
    square = {"names": list("ABCD"), "coords": [[0, 0], [0, 1], [1, 1.5], [2, 0]], **record}
    answers = {tuple(nsa.solve(square, **QUICK | {"seed": seed}, bound=False).ids) for seed in range(5)}
    (answer,) = answers
    assert answer[0] == first
    assert second in (None, answer[1])


def test_a_directed_tour_keeps_its_direction():
    matrix = [[0, 9, 1], [1, 0, 9], [9, 1, 0]]
    assert nsa.solve({"matrix": matrix, "depot": 2}, **QUICK).ids[0] == 2
    assert nsa.solve({"matrix": matrix}, **QUICK).solution.tolist() == [0, 2, 1]


def test_directed_tours_of_a_hundred_cities_are_near_the_bound():
    """Large steps find what the bound nearly proves, where lengths differ by up to 30 % by direction."""
    rng = np.random.default_rng(5)
    points = rng.integers(0, 1000, (100, 2))
    straight = np.hypot(*(points[:, None] - points).transpose(2, 0, 1))
    uphill = (straight * (1 + 0.3 * rng.random((100, 100)))).astype(int).tolist()
    for data in (
        {"matrix": uphill},
        {"matrix": uphill, "open": True},
        {"coords": points.tolist(), "open": True},
    ):
        result = nsa.solve(TSP.from_record(data), seed=1, device="cpu")
        assert result.method == "large-step"
        assert 0 <= result.gap < 0.015


SQUARE = {"coords": [[0, 0], [1, 0], [1, 1], [0, 1], [2, 2]], "names": list("ABCDE")}
ONE_WAY = {"matrix": [[0, 1, 2], [3, 0, 4], [5, 6, 0]]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (SQUARE | {"from": "Z"}, "from: there is no city 'Z' in the instance"),
        (SQUARE | {"to": 9}, "to: there is no city 9 in the instance"),
        (SQUARE | {"from": "A", "to": "A"}, "from and to are both city 'A'; expected two ends"),
        (SQUARE | {"open": False, "to": "A"}, "to: a closed tour has no ends; leave it out, or give open:"),
        (SQUARE | {"open": True, "closed": True}, "open and closed are both true; expected one of them"),
        (SQUARE | {"open": "maybe"}, "open: expected true or false, got 'maybe'"),
        (SQUARE | {"open": True, "from": "A", "depot": "B"}, "depot and from name two cities"),
        (SQUARE | {"depot": "Z"}, "depot: there is no city 'Z'"),
        (SQUARE | {"fixed_edges": [["A", "B"], ["A", "C"], ["A", "D"]]}, "city 'A' has more than two"),
        (SQUARE | {"fixed_edges": [["A", "B"], ["B", "C"], ["C", "A"]]}, "fixed_edges close a tour of 3 of"),
        (SQUARE | {"fixed_edges": [["A", "A"]]}, "fixed_edges, element 1: expected two cities, got 'A'"),
        (SQUARE | {"fixed_edges": [["A", "B"], ["A"]]}, "fixed_edges, element 2: expected two cities, got"),
        (SQUARE | {"fixed_edges": [["A", "Q"]]}, "fixed_edges, element 1: there is no city 'Q'"),
        (SQUARE | {"fixed_edges": "A-B"}, "fixed_edges: expected pairs of cities, got"),
        (SQUARE | {"from": "B", "fixed_edges": [["A", "B"], ["B", "C"]]}, "from: fixed edges lead past city"),
        (
            SQUARE | {"from": "A", "to": "C", "fixed_edges": [["A", "B"], ["B", "C"]]},
            "fixed_edges lead from 'A' and 'C' past the other cities",
        ),
        (SQUARE | {"asymmetric": True}, "asymmetric: coordinates measure the same in both directions"),
        (ONE_WAY | {"symmetric": True}, "matrix is not symmetric: entry (1, 2) is 1, entry (2, 1) is 3"),
        (ONE_WAY | {"fixed_edges": [[1, 2], [1, 3]]}, "city 1 has more than one that leads to it"),
        (ONE_WAY | {"to": 1, "fixed_edges": [[1, 2]]}, "to: fixed edges lead past city 1"),
        (
            {"matrix": [[0, None, 2], [None, 0, 4], [5, 6, 0]], "fixed_edges": [[1, 2]]},
            "fixed_edges: between 1 and 2 there is no edge in the matrix",
        ),
        ({"coords": [[i, i] for i in range(5001)], "open": True}, "open paths and fixed edges are for 5000"),
    ],
)
def test_what_cannot_be_is_refused(record, message):
    """In one line, by name."""
    with pytest.raises(DataError) as caught:
        TSP.from_record(record)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("record", "tour", "message"),
    [
        (SQUARE | {"from": "A"}, [1, 0, 2, 3, 4], "the path begins in city 'B', expected 'A'"),
        (SQUARE | {"to": "A"}, [1, 0, 2, 3, 4], "the path ends in city 'E', expected 'A'"),
        (SQUARE | {"fixed_edges": [["A", "E"]]}, [0, 1, 2, 3, 4], None),
        (
            SQUARE | {"open": True, "fixed_edges": [["A", "E"]]},
            [0, 1, 2, 3, 4],
            "the fixed edge between city 'A' and city 'E' is not in the tour",
        ),
        (
            ONE_WAY | {"fixed_edges": [[1, 2]]},
            [1, 0, 2],
            "the fixed edge from city 1 to city 2 is not in the tour",
        ),
    ],
)
def test_a_violation_says_what_is_missing(record, tour, message):
    """The first end that is another, or the first fixed edge."""
    assert TSP.from_record(record).violation(np.array(tour)) == message


def test_annealing_has_uniform_proposals_where_lengths_have_no_direction():
    """Learnt policies and directed lengths are refused by name, and steps go to large steps then."""
    rng = np.random.default_rng(0)
    path = TSP.from_record({"coords": rng.random((30, 2)).tolist(), "open": True})
    result = nsa.solve(path, method="anneal", steps=20_000, **QUICK)
    assert (result.method, result.policy) == ("anneal", "uniform")
    assert result.gap < 0.2
    with pytest.raises(nsa.UsageError, match="learnt policies are for closed tours"):
        nsa.solve(path, policy="tsp-es-best", **QUICK)
    one_way = TSP.from_record({"matrix": rng.integers(1, 99, (30, 30)).tolist()})
    assert nsa.solve(one_way, steps=100, **QUICK).method == "large-step"
    with pytest.raises(nsa.UsageError, match="2-opt moves reverse them"):
        nsa.solve(one_way, method="anneal", **QUICK)


@pytest.mark.parametrize(
    ("record", "forms"),
    [
        (SQUARE | {"from": "A", "fixed_edges": [["B", "D"]]}, ("json", "csv")),
        (ONE_WAY | {"fixed_edges": [[1, 2]]}, ("json", "tsplib")),
        (ONE_WAY | {"names": list("abc"), "from": "b", "fixed_edges": [["c", "a"]]}, ("json",)),
        ({"coords": SQUARE["coords"], "open": True}, ("json", "csv", "tsplib")),
        ({"coords": SQUARE["coords"], "depot": 3}, ("json", "csv", "tsplib")),
    ],
)
def test_routes_survive_writing(record, forms):
    """In every form that can hold them."""
    instance = TSP.from_record(record)
    for form in forms:
        text = write_instances(TSP, [instance], form)
        ((_, again),) = read_instances(Source("x", "", text), TSP)
        assert (again.route, again.route.start) == (instance.route, instance.route.start)
