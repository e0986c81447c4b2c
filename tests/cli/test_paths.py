"""Paths, ATSP and fixed edges, as a user meets them: every form, solve and check."""

import json

import numpy as np
import pytest

#: Three sides of it are a path.
SQUARE = "name,x,y\nA,0,0\nB,10,0\nC,10,10\nD,0,10\n"
OBJECT = {"names": list("ABCD"), "coords": [[0, 0], [10, 0], [10, 10], [0, 10]]}

#: Tour 1-2-3-4-5 is 11 long, and 33 the other way round.
DIRECTED = [[0, 2, 8, 9, 7], [6, 0, 3, 9, 8], [9, 7, 0, 2, 6], [8, 9, 6, 0, 1], [3, 8, 9, 7, 0]]
ATSP = """NAME: a5
TYPE: ATSP
DIMENSION: 5
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
9999 2 8 9 7
6 9999 3 9 8
9 7 9999 2 6
8 9 6 9999 1
3 8 9 7 9999
"""

FIXED = """TYPE : TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 10 0
3 10 10
4 0 10
FIXED_EDGES_SECTION
1 3
-1
"""


def written(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        *(("a.csv", SQUARE, ("--open",)), ("a.csv", SQUARE, ("--set", "open=true"))),
        *(("a.csv", SQUARE, ("--set", "closed=false")), ("a.csv", SQUARE, ("--from", "A"))),
        *(("a.csv", SQUARE, ("--to", "D")), ("a.csv", "# open = true\n" + SQUARE, ())),
        *(("a.csv", "# from = A\n" + SQUARE, ()), ("a.json", OBJECT | {"open": True}, ())),
        ("a.json", OBJECT | {"round_trip": False, "start": "A"}, ()),
        ("a.json", OBJECT | {"start": "A", "end": "D"}, ()),
        ("a.json", OBJECT | {"open tour": "yes"}, ()),
        ("a.tsp", FIXED.replace(": TSP", ": HPP").replace("1 3\n", ""), ()),
    ],
)
def test_a_path_is_open_in_every_form(nsa, tmp_path, name, content, options):
    """Three sides of a square; the answer says that it is open, and check takes it."""
    path = written(tmp_path, name, content)
    done = nsa("solve", path, "--seed", 1, *options)
    assert (done.json["objective"], done.json["status"], done.json["open"]) == (30, "optimal", True)
    solution = written(tmp_path, "s.json", done.out)
    assert nsa("check", path, solution, *options, "--format", "json").json["status"] == "optimal"


def test_ends_are_kept(nsa, tmp_path):
    """In the answer, the tour file, the table and the picture; a configuration names them, too."""
    path, tour = written(tmp_path, "a.csv", SQUARE), tmp_path / "a.tour"
    ends = ("--from", "A", "--to", "C")
    answer = nsa("solve", path, "--seed", 1, *ends).json
    assert answer["objective"] == pytest.approx(20 + 200**0.5)
    assert (answer["from"], answer["to"], answer["solution"][0], answer["solution"][-1]) == (
        *("A", "C", "A", "C"),
    )
    config = written(tmp_path, "c.yaml", "from: A\nto: C\nseed: 1\n")
    assert nsa("solve", path, "--config", config).json["solution"] == answer["solution"]
    assert nsa("solve", path, "--seed", 1, *ends, "-o", tour, "--plot", tmp_path / "a.png").code == 0
    assert "an open path" in tour.read_text()
    assert nsa("check", path, tour, *ends).code == 0
    other = nsa("check", path, tour, "--from", "A", "--to", "B")
    assert (other.code, "the path ends in city 'C', expected 'B'" in other.out) == (3, True)
    table = nsa("solve", path, "--seed", 1, *ends, "--format", "csv").out
    assert table.splitlines()[-1].startswith("4,C,,")
    assert nsa("solve", path, *ends, "--init", tour, "--seed", 1).json["objective"] == answer["objective"]


def test_directed_lengths_in_every_form(nsa, tmp_path):
    """TSPLIB's ATSP, JSON with and without a key, CSV and NumPy's arrays, from row to column."""
    np.savez(tmp_path / "a.npz", matrix=np.array(DIRECTED))
    paths = [
        written(tmp_path, "a.atsp", ATSP),
        written(tmp_path, "a.json", {"matrix": DIRECTED, "asymmetric": True}),
        written(tmp_path, "b.json", {"matrix": DIRECTED}),
        written(tmp_path, "c.json", DIRECTED),
        written(tmp_path, "a.csv", "\n".join(",".join(map(str, row)) for row in DIRECTED)),
        tmp_path / "a.npz",
    ]
    for path in paths:
        done = nsa("solve", path, "--seed", 1)
        tour = done.json["solution"]
        begin = tour.index(1)
        assert (done.json["objective"], done.json["status"]) == (11, "optimal")
        assert tour[begin:] + tour[:begin] == [1, 2, 3, 4, 5]
        said = "lengths count from row to column" in done.err
        assert said is (path.name not in ("a.atsp", "a.json"))  # where the file says so, it is no news
    tour = written(tmp_path, "t.txt", "5 4 3 2 1")
    assert "objective  33 " in nsa("check", paths[0], tour).out


def test_fixed_edges_are_in_the_answer(nsa, tmp_path):
    """48 instead of 40, in TSPLIB, JSON and tables; check says which one is missing."""
    edges = [["A", "C"]]
    notes = f"# fixed_edges = {json.dumps(edges)}\n# metric = EUC_2D\n"
    forms = [
        (written(tmp_path, "a.tsp", FIXED), ()),
        (written(tmp_path, "a.json", OBJECT | {"fixed_edges": edges, "metric": "EUC_2D"}), ()),
        (written(tmp_path, "a.csv", notes + SQUARE), ()),
        (written(tmp_path, "b.csv", SQUARE), ("--set", 'fixed edges=[["C","A"]]', "--set", "metric=EUC_2D")),
    ]
    for path, options in forms:
        answer = nsa("solve", path, "--seed", 1, *options).json
        assert (answer["objective"], answer["status"], answer["fixed_edges"]) == (48, "optimal", 1)
    done = nsa("check", forms[0][0], written(tmp_path, "t.txt", "1 2 3 4"))
    assert (done.code, "the fixed edge between city 1 and city 3 is not in the tour" in done.out) == (3, True)


def test_everything_at_once(nsa, tmp_path):
    """A directed path through a fixed edge past an edge that is not there."""
    rows = [row.copy() for row in DIRECTED]
    rows[2][3] = None
    path = written(tmp_path, "a.json", {"matrix": rows, "from": 1, "fixed_edges": [[2, 3]]})
    answer = nsa("solve", path, "--seed", 1).json
    assert (answer["status"], answer["solution"], answer["objective"]) == ("optimal", [1, 2, 3, 5, 4], 18)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (FIXED.replace("1 3", "1 9"), (), ":10: fixed_edges, element 1: there is no city 9"),
        (FIXED.replace("1 3", "1 3\n1 2\n1 4"), (), ":12: fixed_edges: city 1 has more than two"),
        (FIXED, ("--from", "7"), "from: there is no city '7'"),
        (FIXED, ("--from", "2", "--to", "2"), "from and to are both city 2"),
        (FIXED, ("--set", "opne=true"), "the nearest is open"),
    ],
)
def test_errors_are_one_line(nsa, tmp_path, content, options, message):
    """With the line of the file where it is the file's."""
    done = nsa("solve", written(tmp_path, "a.tsp", content), *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_other_problems_have_no_ends(nsa, tmp_path):
    """The option is named."""
    path = written(tmp_path, "k.csv", "value,weight\n3,2\n4,3\n")
    done = nsa("solve", path, "--capacity", 4, "--open")
    assert (done.code, done.err) == (2, "nsa: error: --open: knapsack has none\n")


@pytest.mark.parametrize("mark", ["inf", "null", "Infinity"])
def test_tables_and_bare_lists_have_edges_that_are_not_there(nsa, tmp_path, mark):
    """As the matrix of a JSON object has."""
    rows = [[0, 1, mark, 5], [1, 0, 2, 9], [mark, 2, 0, 3], [5, 9, 3, 0]]
    table = written(tmp_path, "m.csv", "\n".join(",".join(map(str, row)) for row in rows))
    bare = written(tmp_path, "m.json", json.dumps(rows).replace('"null"', "null"))
    for path in (table, bare):
        assert nsa("solve", path, "--seed", 1).json["objective"] == 11
