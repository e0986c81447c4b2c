"""Edges that are not there, symmetry up to rounding, and whole numbers of any size in matrices."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.problems.tsp.matrix import penalty, read_matrix

TSP = nsa.find_problem("tsp")

#: Nine cities; 237 by the edges that are there, and X marks the others.
X = None
NINE = [
    [0, 83, X, 40, 29, 38, 61, 15, 56],
    [83, 0, 89, X, 54, 31, 73, 73, 82],
    [X, 89, 0, 27, X, X, X, 39, 33],
    [40, X, 27, 0, 16, X, 95, X, 56],
    [29, 54, X, 16, 0, 94, 47, 75, 54],
    [38, 31, X, X, 94, 0, 21, 64, 88],
    [61, 73, X, 95, 47, 21, 0, 17, 63],
    [15, 73, 39, X, 75, 64, 17, 0, 57],
    [56, 82, 33, 56, 54, 88, 63, 57, 0],
]


RING = [(k, k + 1, 1) for k in range(5)]


def marked(rows, mark):
    return [[mark if x is None else x for x in row] for row in rows]


def least(rows):
    """Try all tours of edges that are there, without the program."""
    size, best = len(rows), math.inf
    for order in itertools.permutations(range(1, size)):
        tour = (0, *order, 0)
        lengths = [rows[a][b] for a, b in itertools.pairwise(tour)]
        if None not in lengths:
            best = min(best, sum(lengths))
    return best


#: What stands for no edge in files: words, the ends of number types, and what programs take for infinity.
MARKS = (
    None,
    "inf",
    "Infinity",
    math.inf,
    -1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    float(2**63),
    1.7976931348623157e308,
)
ROUND = (10**15, 10**13, 10**9, 10**6, 999_999, 9_999, 2**31 - 1, 2**31, 2**30 - 1, 0x3F3F3F3F, 5 * 10**8)


@pytest.mark.parametrize("mark", MARKS + ROUND)
def test_an_edge_that_is_not_there_is_in_no_tour(mark):
    """Whatever stands for it: the same shortest tour, by the edges that are there."""
    instance = TSP.from_record({"matrix": marked(NINE, mark)})
    result = nsa.solve(instance, seed=1)
    assert (result.objective, result.status) == (least(NINE), "optimal")
    said = isinstance(mark, int | float) and mark != math.inf
    assert [f"{mark}" in note and "no edge" in note for note in instance.remarks()] == [True] * said
    searched = nsa.solve(instance, seed=1, bound=False, method="anneal", steps=3000)
    assert searched.objective == least(NINE)


@pytest.mark.parametrize("mark", [2000, 123_456, 1234.5])
def test_a_number_is_only_taken_for_no_edge_where_it_can_be_nothing_else(mark):
    """Another number is a length, and the user may say what it is."""
    plain = TSP.from_record({"matrix": marked(NINE, mark)})
    assert plain.absent is None
    assert plain.remarks() == []
    told = TSP.from_record({"matrix": marked(NINE, mark), "no_edge": mark})
    assert told.absent.sum() == 14
    assert told.remarks() == []


def test_a_user_may_say_that_no_number_stands_for_no_edge():
    """Then the long edges are edges, of lengths that sum exactly."""
    for mark in (10**6, 10**15, 2**62 - 1):
        instance = TSP.from_record({"matrix": marked(NINE, mark), "no_edge": "none"})
        assert instance.absent is None
        rows = [[0, mark, mark], [mark, 0, 1], [mark, 1, 0]]
        three = TSP.from_record({"matrix": rows, "no_edge": "none"})
        assert three.objective(np.arange(3)) == 2 * mark + 1
    with pytest.raises(nsa.DataError, match="no_edge"):
        TSP.from_record({"matrix": NINE, "no_edge": "perhaps"})


#: City 4 has one edge only.
NO_TOUR = [[0, 1, 2, X], [1, 0, 3, X], [2, 3, 0, 4], [X, X, 4, 0]]


@pytest.mark.parametrize("options", [{}, {"bound": False, "method": "anneal", "steps": 50}])
@pytest.mark.parametrize("mark", [None, 10**9, 2**63 - 1])
def test_where_every_tour_needs_an_edge_that_is_not_there(mark, options):
    """There is no answer, and the message names the cities."""
    instance = TSP.from_record({"matrix": marked(NO_TOUR, mark), "ids": ["a", "b", "c", "d"]})
    with pytest.raises(nsa.NsaError, match=r"city '[ab]' to city 'd'|city 'd' to city '[ab]'") as error:
        nsa.solve(instance, seed=1, **options)
    assert error.value.exit_code == 3


def test_what_is_not_there_is_null_again():
    """A record keeps it, and with it the same instance."""
    marks = ({}, {"matrix": marked(NINE, 10**9)}, {"matrix": marked(NINE, 5), "no_edge": 5})
    for data in ({"matrix": NINE} | mark for mark in marks):
        instance = TSP.from_record(data)
        again = TSP.from_record(json.loads(json.dumps(instance.record())))
        assert again.record() == instance.record()
        assert (again.absent == instance.absent).all()
        assert (again.matrix == instance.matrix).all()


@pytest.mark.parametrize("seed", range(40))
def test_a_tour_without_absent_edges_is_always_shorter(seed):
    """Of whole numbers, decimals and reals, negative ones among them: by the matrix that is searched."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(4, 8))
    make = [
        lambda: int(rng.integers(-20, 1000)),
        lambda: int(rng.integers(0, 1000)) / 1000,
        lambda: float(rng.random()) * 1e-9,
        lambda: int(rng.integers(10**14, 10**15)),
    ][seed % 4]
    rows = [[0] * size for _ in range(size)]
    for i, j in itertools.combinations(range(size), 2):
        rows[i][j] = rows[j][i] = None if rng.random() < 0.25 else make()
    instance = TSP.from_record({"matrix": rows})
    if instance.absent is None:
        return
    feasible, others = [], []
    for order in itertools.permutations(range(1, size)):
        tour = np.array([0, *order])
        found = feasible if instance.violation(tour) is None else others
        found.append(instance.exact_objective(tour))
    if feasible and others:
        assert min(feasible) < min(others)
        first = penalty(instance.matrix, instance.absent)
        assert instance.matrix[instance.absent].max() <= first


def test_rounding_is_no_asymmetry():
    """To a billionth, with a warning: the upper triangle counts. More is refused on request."""
    found = read_matrix([[0, 0.1, 0.2], [0.1 + 1e-12, 0, 0.3], [0.2, 0.3, 0]])
    assert found.lengths.tolist() == [[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]]
    assert ["1 pairs of entries differ by rounding" in note for note in found.notes] == [True]
    for wrong in (0.1001, None):
        with pytest.raises(nsa.DataError, match="not symmetric: entry \\(1, 2\\)"):
            read_matrix([[0, 0.1, 0.2], [wrong, 0, 0.3], [0.2, 0.3, 0]], symmetric=True)
    with pytest.raises(nsa.DataError, match="not symmetric"):
        read_matrix([[0, 10**12], [10**12 + 1, 0]], symmetric=True)


def test_whole_numbers_are_whole_however_written():
    """As ``4.0``; up to where floats tell them apart."""
    assert read_matrix([[0.0, 4.0], [4.0, 0.0]]).lengths.dtype == np.int64
    assert read_matrix([[0.0, 4.5], [4.5, 0.0]]).lengths.dtype == np.float64
    instance = TSP.from_record(
        {"matrix": [[0.0, 4.0, 1e3], [4.0, 0.0, 5.0], [1e3, 5.0, 0.0]], "ids": [1.0, 2.0, 7.0]}
    )
    assert instance.record()["ids"] == [1, 2, 7]
    assert repr(instance.objective(np.arange(3))) == "1009"
    assert instance.from_ids([7.0, 1, 2]).tolist() == [2, 0, 1]


def test_lengths_beyond_2_53_sum_exactly():
    """Differences of one are seen among sums of 10^18, by the bound, too."""
    big = 10**17
    more = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 2], [1, 0, 2, 0]])
    rows = (big + more).tolist()
    instance = TSP.from_record({"matrix": rows})
    result = nsa.solve(instance, seed=1)
    assert (result.objective, result.status, result.bound.value) == (least(rows), "optimal", least(rows))


def graph(size, edges):
    """Fill a matrix whose other entries are 0."""
    rows = np.zeros((size, size), dtype=int)
    for i, j, length in edges:
        rows[i, j] = rows[j, i] = length
    return rows


PLANE = np.random.default_rng(3).integers(0, 60, (12, 2))
PLANE[8:] = PLANE[0]
NEAR = np.rint(np.sqrt(((PLANE[:, None] - PLANE) ** 2).sum(-1)))
DUMMY = np.pad(NEAR[:8, :8], (0, 1))
HOME = NEAR[:8, :8] * (np.arange(8) > 0)
FEW = np.where(np.add.outer(np.arange(8), np.arange(8)) == 7, 0, 50 + NEAR[:8, :8] * 9)


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        *((graph(4, [(0, 1, 5), (1, 2, 4), (2, 3, 6), (3, 0, 3)]), 4), (graph(6, [(5, 0, 1), *RING]), 18)),
        *((graph(4, [(0, 1, 5), (1, 2, 5), (2, 3, 5), (3, 0, 5)]), 4), (FEW, 8)),
        *((NEAR, 0), (NEAR // 6, 0), (DUMMY, 0), (HOME, 0), (np.zeros((4, 4)), 0)),
    ],
)
def test_zeros_that_may_mean_no_edge_are_questioned(rows, count):
    """Adjacency, and a few edges lacking; not places that are near or the same, a dummy, a free way home."""
    asked = [f"matrix: {count} of {len(rows) * (len(rows) - 1)} lengths between different cities are 0"]
    notes = [note.split(";")[0] for note in read_matrix(rows.tolist()).notes if " are 0" in note]
    assert notes == (asked if count else [])
    assert not read_matrix(rows.tolist(), no_edge="none", symmetric=False).notes
    absent = read_matrix(rows.tolist(), no_edge=0).absent
    assert count == 0 or absent.sum() == count


def test_cases_of_users(shared):
    """Sentinels of nine cities; temperatures that come from typical changes, whatever marks no edge."""
    folder = shared / "cases" / "second"
    for name in ("c05", "c05-e15", "c05-e6"):
        (task,) = nsa.read(folder / f"{name}.json")
        assert nsa.solve(task, seed=1).objective == 237
    (sixty,) = nsa.read(folder / "c05n60-e6.json")
    assert nsa.solve(sixty, seed=1, steps=100_000).objective < 6300
    assert nsa.solve(sixty, seed=1, steps=100_000, policy="uniform").objective < 6300
    (sixteen,) = nsa.read(folder / "c06.json")
    assert nsa.solve(sixteen, seed=1, steps=100_000).objective == 3340
