"""`nsa check` as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

TOUR = "TYPE : TOUR\nTOUR_SECTION\n{}\n-1\n"


def test_a_good_tour_is_feasible_with_its_exact_length(nsa, square, tmp_path):
    """As a tour file, as a result, as ids in plain text and as a bare list; the bound proves it."""
    result = tmp_path / "r.json"
    assert nsa("solve", square, "-o", result).code == 0
    for name, text in {
        "t.tour": TOUR.format("1 3 2 4"),
        "r.json": result.read_text(),
        "ids.txt": "1 3 2 4\n",
        "list.json": "[1, 3, 2, 4]",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        done = nsa("check", square, path, "--format", "json")
        assert done.code == 0
        verdict = done.json
        assert (verdict["feasible"], verdict["objective"], verdict["status"]) == (True, 140, "optimal")
        assert (verdict["violation"], verdict["gap"], verdict["bound"]["value"]) == (None, 0.0, 140)
    words = nsa("check", square, tmp_path / "t.tour").out
    assert "feasible   yes\n" in words
    assert "objective  140 (smaller is better)\n" in words
    assert "optimal" in words


INFEASIBLE = [
    ("tsp", "1 2 3", "city 4 is not in the tour"),
    ("tsp", "1 2 2 4", "city 2 occurs twice"),
    ("tsp", "1 2 3 9", "no city 9"),
    ("knapsack", "1 2 3", "weight 6 exceeds the capacity 5"),
    ("knapsack", "1 9", "no item 9"),
    ("bin", "1 2\n3 4", "bin 1 ('1, 2') holds 12"),
    ("bin", "1 3\n2", "item 4 is in no bin"),
    ("rosenbrock", "1 2 3", "expected a point of 2 coordinates, got 3"),
]

DATA = {
    "tsp": {"coords": [[0, 0], [0, 1], [1, 1], [1, 0]]},
    "knapsack": {"values": [6, 10, 12], "weights": [1, 2, 3], "capacity": 5},
    "bin": {"weights": [4, 8, 1, 4], "capacity": 10},
    "rosenbrock": {"a": 1, "b": 100},
}


@pytest.mark.parametrize(("name", "text", "word"), INFEASIBLE)
def test_what_is_not_feasible_says_why(nsa, tmp_path, name, text, word):
    """The first violation is named; exit code 3; nothing on stderr."""
    path, file = tmp_path / "i.json", tmp_path / "s.txt"
    path.write_text(json.dumps(DATA[name]))
    file.write_text(text)
    done = nsa("check", path, file, "--format", "json")
    assert (done.code, done.err) == (3, "")
    verdict = done.json
    assert (verdict["feasible"], verdict["status"], verdict["objective"]) == (False, "infeasible", None)
    assert word in verdict["violation"]
    assert word in nsa("check", path, file).out


@pytest.mark.parametrize(("name", "text"), [("knapsack", "2 3"), ("bin", "1 4 3\n2"), ("rosenbrock", "1 1")])
def test_every_problem_can_be_checked(nsa, tmp_path, name, text):
    """Their optima, in plain text."""
    path, file = tmp_path / "i.json", tmp_path / "s.txt"
    path.write_text(json.dumps(DATA[name]))
    file.write_text(text)
    verdict = nsa("check", path, file, "--format", "json").json
    assert verdict["feasible"]
    assert verdict["status"] == "optimal"


def test_names_with_blanks_are_a_line_each(nsa, tmp_path):
    """As in a packing list."""
    path, file = tmp_path / "i.json", tmp_path / "s.txt"
    path.write_text(json.dumps({**DATA["knapsack"], "names": ["old hat", "a stove", "tent"]}))
    for text in ("a stove\ntent\n", "a stove, tent\n"):
        file.write_text(text)
        assert nsa("check", path, file, "--format", "json").json["objective"] == 22


def test_results_pipe_from_solve_into_check(nsa, nsa_process, tmp_path):
    """Several instances, one line each, found by name whatever their order."""
    path = tmp_path / "all.jsonl"
    rng = np.random.default_rng(1)
    records = [{"name": f"i{k}", "weights": rng.random(12).tolist()} for k in range(3)]
    path.write_text("\n".join(json.dumps(r) for r in records))
    lines = nsa("solve", path, "--steps", 20).out.splitlines()
    swapped = "\n".join(reversed(lines))
    done = nsa_process("check", path, "-", "--format", "json", data=swapped)
    assert done.code == 0, done.err
    verdicts = [json.loads(line) for line in done.out.splitlines()]
    assert [v["name"] for v in verdicts] == ["i2", "i1", "i0"]
    assert [v["objective"] for v in verdicts] == [json.loads(line)["objective"] for line in reversed(lines)]
    some = tmp_path / "some.jsonl"
    some.write_text(lines[1])
    fewer = nsa("check", path, some, "--format", "json")
    assert (fewer.code, fewer.json["name"]) == (0, "i1")
    assert "2 of the 3" in fewer.err
    bare = tmp_path / "bare.json"
    bare.write_text("[[1], [2]]")
    assert nsa("check", path, bare).code == 2


def test_a_file_that_lies_is_caught(nsa, tmp_path):
    """About the objective, and about the bound, whose witness is computed again."""
    path, file = tmp_path / "c.json", tmp_path / "r.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(3).random((30, 2)).tolist()}))
    result = nsa("solve", path, "--steps", 50, "--seed", 1).json
    assert result["bound"]["method"] == "held-karp"
    file.write_text(json.dumps(result))
    honest = nsa("check", path, file, "--format", "json")
    assert honest.json["remarks"] == []
    assert honest.json["bound"]["value"] == result["bound"]["value"]
    truth = result["objective"]
    file.write_text(json.dumps({**result, "objective": truth / 2}))
    done = nsa("check", path, file, "--format", "json")
    assert done.json["objective"] == truth
    assert "objective" in done.err
    file.write_text(json.dumps({**result, "bound": {**result["bound"], "value": truth}}))
    done = nsa("check", path, file, "--format", "json")
    assert done.json["status"] == "feasible"
    assert "witness" in done.err
    file.write_text(json.dumps({**result, "bound": {**result["bound"], "witness": {"scale": 1}}}))
    assert "does not hold" in nsa("check", path, file).err


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
        assert (done.code, done.out) == (2, "")
        assert done.err.count("\n") == 1
        assert word in done.err


def test_check_does_without_an_engine(nsa_process, square, tmp_path):
    """A checker is instant: torch stays on the disk."""
    file = tmp_path / "ids.txt"
    file.write_text("1 3 2 4")
    code = (
        "import sys; from nsa_cli.cli.main import exit_code; "
        f"exit_code(['check', {str(square)!r}, {str(file)!r}]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_optimal_tours_of_tsplib_check_out(nsa, shared):
    """The published tours have the published lengths."""
    folder = shared / "data" / "tsplib"
    for name, length in (("berlin52", 7542), ("att48", 10628), ("brg180", 1950)):
        verdict = nsa("check", folder / f"{name}.tsp", folder / f"{name}.opt.tour", "--format", "json").json
        assert (verdict["feasible"], verdict["objective"]) == (True, length)
        assert verdict["bound"]["value"] <= length
    case = nsa("check", shared / "cases" / "t35.tsp", shared / "cases" / "t35.tour")
    assert "objective  40 " in case.out


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
def test_what_is_no_solution_is_told_from_a_wrong_one(nsa, tmp_path, text, code):
    """Exit code 2 where it cannot be read, 3 where it is not feasible."""
    (tmp_path / "e.csv").write_text("stop,x,y\nhome,0,0\nbakery,2,1\nlibrary,1,4\nschool,5,0\n")
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    done = nsa("check", tmp_path / "e.csv", tmp_path / "a.txt", "--no-bound")
    assert done.code == code, done
    assert (code != 2) == (done.err.count("error: ") == 0)
