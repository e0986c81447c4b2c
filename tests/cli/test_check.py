"""`nsa check` as a user meets it."""

import json

import numpy as np
import pytest

TOUR = "TYPE : TOUR\nTOUR_SECTION\n1 3 2 4\n-1\n"


@pytest.fixture
def check(nsa, tmp_path):
    """Check a text against data."""

    def run(data, text, *options):
        path, file = tmp_path / "i.json", tmp_path / "s.txt"
        path.write_text(json.dumps(data))
        file.write_text(text, encoding="utf-8")
        return nsa("check", path, file, *options)

    return run


AS_JSON = ("--format", "json")


def test_a_good_tour_is_feasible_with_its_exact_length(nsa, square, tmp_path):
    """As a tour file, as a result, as ids in plain text and as a bare list; the bound proves it."""
    solved = nsa("solve", square).out
    path = tmp_path / "solution"
    for text in (solved, "1 3 2 4\n", "[1, 3, 2, 4]", TOUR):
        path.write_text(text)
        done = nsa("check", square, path, *AS_JSON)
        assert done.code == 0
        verdict = done.json
        assert (verdict["feasible"], verdict["objective"], verdict["status"]) == (True, 140, "optimal")
        assert (verdict["violation"], verdict["gap"], verdict["bound"]["value"]) == (None, 0.0, 140)
    words = nsa("check", square, path).out
    assert "feasible   yes\n" in words
    assert "objective  140 (smaller is better)\n" in words
    assert "optimal" in words


DATA = {
    "tsp": {"coords": [[0, 0], [0, 1], [1, 1], [1, 0]]},
    "knapsack": {"values": [6, 10, 12], "weights": [1, 2, 3], "capacity": 5},
    "bin": {"weights": [4, 8, 1, 4], "capacity": 10},
    "rosenbrock": {"a": 1, "b": 100},
}


@pytest.mark.parametrize(
    ("name", "optimal", "text", "word"),
    [
        ("tsp", "1 2 3 4", "1 2 3", "city 4 is not in the tour"),
        ("knapsack", "2 3", "1 2 3", "weight 6 exceeds the capacity 5"),
        ("bin", "1 4 3\n2", "1 2\n3 4", "bin 1 ('1, 2') holds 12"),
        ("bin", "1 4 3\n2", "1 3\n2", "item 4 is in no bin"),
        ("rosenbrock", "1 1", "1 2 3", "expected a point of 2 coordinates, got 3"),
    ],
)
def test_what_is_not_feasible_says_why(check, name, optimal, text, word):
    """The first violation is named; exit code 3; nothing on stderr; optima are optimal."""
    done = check(DATA[name], text, *AS_JSON)
    assert (done.code, done.err) == (3, "")
    verdict = done.json
    assert (verdict["feasible"], verdict["status"], verdict["objective"]) == (False, "infeasible", None)
    assert word in verdict["violation"]
    assert word in check(DATA[name], text).out
    assert check(DATA[name], optimal, *AS_JSON).json["status"] == "optimal"


def test_names_with_blanks_are_a_line_each(check):
    """As in a packing list."""
    data = {**DATA["knapsack"], "names": ["old hat", "a stove", "tent"]}
    for text in ("a stove\ntent\n", "a stove, tent\n"):
        assert check(data, text, *AS_JSON).json["objective"] == 22


def test_results_pipe_from_solve_into_check(nsa, tmp_path):
    """Several instances, one line each, found by name whatever their order."""
    path, some = tmp_path / "all.jsonl", tmp_path / "some.jsonl"
    rng = np.random.default_rng(1)
    records = [{"name": f"i{k}", "weights": rng.random(12).tolist()} for k in range(3)]
    path.write_text("\n".join(map(json.dumps, records)))
    lines = nsa("solve", path, "--steps", 20).out.splitlines()[::-1]
    done = nsa("check", path, "-", *AS_JSON, data="\n".join(lines))
    assert done.code == 0, done.err
    verdicts = [json.loads(line) for line in done.out.splitlines()]
    assert [v["name"] for v in verdicts] == ["i2", "i1", "i0"]
    assert [v["objective"] for v in verdicts] == [json.loads(line)["objective"] for line in lines]
    some.write_text(lines[1])
    fewer = nsa("check", path, some, *AS_JSON)
    assert (fewer.code, fewer.json["name"]) == (0, "i1")
    assert "2 of the 3" in fewer.err
    some.write_text("[[1], [2]]")
    assert nsa("check", path, some).code == 2


def test_a_file_that_lies_is_caught(nsa, check):
    """About the objective, and about the bound, whose witness is computed again."""
    data = {"coords": np.random.default_rng(3).random((30, 2)).tolist()}
    result = nsa("solve", "-", "--steps", 50, "--seed", 1, data=json.dumps(data)).json
    truth, bound = result["objective"], result["bound"]
    assert bound["method"] == "held-karp"

    def told(**changes):
        return check(data, json.dumps({**result, "name": "i", **changes}), *AS_JSON)

    honest = told().json
    assert (honest["remarks"], honest["bound"]["value"]) == ([], bound["value"])
    done = told(objective=truth / 2)
    assert (done.json["objective"], "objective" in done.err) == (truth, True)
    done = told(bound={**bound, "value": truth})
    assert (done.json["status"], "witness" in done.err) == ("feasible", True)
    assert "does not hold" in told(bound={**bound, "witness": {"scale": 1}}).err


def test_what_cannot_be_read_is_one_line(nsa, square, tmp_path):
    """Exit code 2: no file, no solution in it, both from standard input, an unknown format."""
    good, bad = tmp_path / "ids.txt", tmp_path / "bad.json"
    good.write_text("1 2 3 4")
    bad.write_text('{"solution": 3}')
    for arguments, word in [
        ((square, tmp_path / "none"), "no such file"),
        ((tmp_path / "none", good), "no such file"),
        ((square, bad), "solution"),
        (("-", "-"), "standard input"),
        ((square, good, "--format", "xml"), "xml"),
        ((square, good, "-o", "/nowhere/x"), "/nowhere"),
    ]:
        done = nsa("check", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert word in done.err


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name,x,y\nA,1,2\n", 2),
        ("dear reader\nthis is no tour\n", 2),
        ("home\nbakery\nschool\n", 3),
        ("home\nbakery\nschool\nshop\n", 3),
        ("home, bakery, school, library", 0),
        ("0 -> 1 -> 2 -> 3 -> 0", 0),
        ("home \u2192 bakery \u2192 school \u2192 library", 0),
    ],
)
def test_what_is_no_solution_is_told_from_a_wrong_one(check, text, code):
    """Exit code 2 where it cannot be read, 3 where it is not feasible."""
    data = {"coords": [[0, 0], [2, 1], [1, 4], [5, 0]], "ids": ["home", "bakery", "library", "school"]}
    done = check(data, text, "--no-bound")
    assert done.code == code, done
    assert (code != 2) == (done.err.count("error: ") == 0)
