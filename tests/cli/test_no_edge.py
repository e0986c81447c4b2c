"""Matrices with edges that are not there, as a user meets them."""

import json

import pytest

#: A ring of five cities and one chord, whatever else is not there.
RING = [(0, 1, 3), (1, 2, 4), (2, 3, 5), (3, 4, 6), (4, 0, 7), (0, 2, 1)]


def matrix(mark, edges=RING, size=5):
    rows = [[mark] * size for _ in range(size)]
    for i, j, length in edges:
        rows[i][j] = rows[j][i] = length
    return rows


def tsplib(rows):
    lines = "\n".join(" ".join(map(str, row)) for row in rows)
    head = f"TYPE: TSP\nDIMENSION: {len(rows)}\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX\n"
    return f"{head}EDGE_WEIGHT_SECTION\n{lines}\nEOF\n"


@pytest.mark.parametrize("mark", [None, "inf", 2**63 - 1, 2**31 - 1, 10**9, 99_999, -1])
def test_json_and_tsplib_know_edges_that_are_not_there(nsa, tmp_path, mark):
    """The ring is the only tour; a number that is taken for no edge is named on stderr."""
    files = {"m.json": json.dumps({"matrix": matrix(mark)})}
    files |= {"m.tsp": tsplib(matrix(mark))} if isinstance(mark, int) else {}
    for name, text in files.items():
        path = tmp_path / name
        path.write_text(text)
        done = nsa("solve", path, "--seed", 1)
        assert (done.code, done.json["objective"], done.json["status"]) == (0, 25, "optimal")
        assert (f"{mark} is taken for no edge (4 of them)" in done.err) is isinstance(mark, int)


def test_a_user_names_the_number(nsa, tmp_path):
    """By --set or in the file; or says that there is none."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"matrix": matrix(77)}))
    assert nsa("solve", path, "--seed", 1).json["objective"] < 100
    assert nsa("solve", path, "--seed", 1, "--set", "no_edge=77").json["objective"] == 25
    path.write_text(json.dumps({"matrix": matrix(10**9, RING[:-2]), "name": "path"}))
    done = nsa("solve", path, "--seed", 1)
    assert (done.code, done.out) == (3, "")
    assert "no edge" in done.err
    assert nsa("solve", path, "--seed", 1, "--set", "no_edge=none").json["objective"] == 10**9 + 18


def test_check_says_which_edge_is_not_there(nsa, tmp_path):
    """Exit code 3, like for any tour that is not feasible."""
    path, tour = tmp_path / "m.json", tmp_path / "t.txt"
    path.write_text(json.dumps({"matrix": matrix(None)}))
    tour.write_text("1 2 3 4 5")
    assert nsa("check", path, tour, "--format", "json").json["status"] == "optimal"
    tour.write_text("1 3 2 4 5")
    done = nsa("check", path, tour)
    assert (done.code, "from city 2 to city 4, between which there is no edge" in done.out) == (3, True)


def test_a_larger_graph_without_a_tour(nsa, tmp_path):
    """Two rings that a single edge joins: searches end, and say what the best tour lacks."""
    rings = [(k, (k + 1) % 8, 5) for k in range(8)] + [(8 + k, 8 + (k + 1) % 8, 5) for k in range(8)]
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"matrix": matrix(None, [*rings, (0, 8, 1)], 16)}))
    for options in ((), ("--no-bound", "--steps", 200), ("--time-limit", 1)):
        done = nsa("solve", path, "--seed", 1, *options)
        assert (done.code, done.out) == (3, "")
        assert "no feasible solution was found: the tour goes from city" in done.err
