"""Cases made from public reports of people who do this job, with the answers that are right.

They run where their folder lies beside the checkout; small copies of their forms are in `tests/problems`.
"""

from __future__ import annotations

import pytest

QUICK = ("--seed", 1, "--steps", 300, "--chains", 2)

#: Files of the cases with options, objective, and solution where there is only one.
CASES = [
    ("second/c01.csv", (), pytest.approx(12050.199558, abs=1e-6), None),
    ("second/c03.txt", ("-p", "tsp"), 200, None),
    ("second/c03b.txt", (), 200, None),
    ("second/c03c.txt", ("-p", "tsp"), 200, None),
    ("second/c04.csv", (), 3, None),
    ("second/c04.json", (), 3, None),
    ("second/c04q.json", (), 3, None),
    ("second/c04k.json", (), 25, None),
    ("second/c07.tsv", ("--capacity", 2200), 2700, ["lathe", "vice"]),
    ("second/c15.csv", ("-p", "knapsack", "--columns", "weight,value"), 80, None),
    ("second/c17b.csv", (), 47, None),
    ("second/c17b.csv", ("-p", "tsp"), 47, None),
    ("second/c17c.csv", ("-p", "tsp"), 41, None),
    ("second/c19.csv", (), 140, None),
    ("second/c19k.csv", (), 7, ["box", "box (2)"]),
    ("t01.tsp", (), 40, None),
    ("t11.csv", (), pytest.approx(3.00469709, abs=1e-6), None),
    ("t11.json", (), pytest.approx(3.00469709, abs=1e-6), None),
    ("t18.tsp", (), 34, None),
    ("t26.tsp", (), 28, None),
    ("k03.json", (), 10, None),
    ("k05.csv", ("--capacity", 11), 19, None),
    ("k06.csv", (), 1031, [1, 6]),
    ("k07.in", (), 28, [1, 2, 3]),
    ("k12.csv", ("--capacity", 2.45), 7.0, ["b", "c"]),
    ("b01.json", (), 2, None),
    ("b07.json", (), 4, None),
    ("p08_c.txt", (), 19, [3, 4]),
    ("t31.atsp", (), 11, None),
    ("t39.tsp", (), 48, None),
]


@pytest.mark.parametrize(("name", "options", "objective", "solution"), CASES)
def test_cases_have_their_right_answers(nsa, shared, name, options, objective, solution):
    """Whatever the form."""
    result = nsa("solve", shared / "cases" / name, *options, "--seed", 1, "--time-limit", 5).json
    assert result["objective"] == objective
    assert solution is None or sorted(result["solution"]) == solution


# --- ids of other programs -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "solution", "objective", "remark"),
    [
        ("square.tsp", "0 2 1 3\n", 140, "read as positions in the file from 0"),
        ("square.tsp", "4\n0 2 1 3\n", 140, "from 0 and the number of cities first"),
        ("square.tsp", "1 3 2 4 1\n", 140, "read with the first city again at the end"),
        ("square.tsp", "[0, 2, 1, 3, 0]", 140, "from 0 and the first city again at the end"),
        ("names.csv", "1 3 2 4\n", 140, "read as positions in the file from 1"),
        ("names.csv", "A, C, B, D\n", 140, None),
        ("sack.json", "1 0 1\n", 4, "read as 0 or 1 for each item"),
        ("sack.json", "1\n0\n1\n", 4, "read as 0 or 1 for each item"),
        ("sack.json", "[0, 1, 0]", 2, "read as 0 or 1 for each item"),
        ("sack.json", "011\n", 5, "read as 0 or 1 for each item"),
        ("sack.json", "0 2\n", 4, "read as positions in the file from 0"),
        ("sack.json", "1 3\n", 4, None),
        ("bins.json", "[[0, 1], [2]]", 2, "read as positions in the file from 0"),
        ("bins.json", "0 1\n2\n", 2, "read as positions in the file from 0"),
        ("bins.json", "[1, 1, 2]", 2, "read as the bin of each item"),
        ("bins.json", "0 0 1\n", 2, "read as the bin of each item"),
    ],
)
def test_ids_of_other_programs(nsa, tmp_path, square, instance, solution, objective, remark):
    """Are understood where they can mean one thing only, and that is said."""
    (tmp_path / "names.csv").write_text("name,x,y\nA,0,0\nB,30,40\nC,0,40\nD,30,0\n")
    (tmp_path / "sack.json").write_text('{"values": [1, 2, 3], "weights": [1, 1, 1], "capacity": 2}')
    (tmp_path / "bins.json").write_text('{"weights": [5, 5, 4], "capacity": 10}')
    (tmp_path / "s.sol").write_text(solution)
    done = nsa("check", tmp_path / instance, tmp_path / "s.sol", "--format", "json", "--no-bound")
    assert (done.code, done.json["objective"]) == (0, objective)
    assert (remark is None and done.err == "") or remark in done.err
    start = nsa(
        "solve", tmp_path / instance, "--init", tmp_path / "s.sol", "--steps", 0, "--no-bound", "--seed", 1
    )
    assert start.code == 0
    assert remark is None or remark in start.err


def test_ids_that_are_none_are_told_which_there_are(nsa, tmp_path, square):
    """And another numbering that would be feasible is not taken."""
    (tmp_path / "s").write_text("5 6 7 8\n")
    done = nsa("check", square, tmp_path / "s")
    assert done.code == 3
    assert "there is no city 5 in the instance, which has 1 to 4" in done.out
    (tmp_path / "k.json").write_text('{"values": [9, 1, 1], "weights": [1, 1, 9], "capacity": 9}')
    (tmp_path / "s").write_text("[2, 3]")
    assert nsa("check", tmp_path / "k.json", tmp_path / "s").code == 3


def test_zeros_and_ones_that_are_ids(nsa, tmp_path):
    """Cannot be told from a selection."""
    (tmp_path / "k.json").write_text('{"values": [9, 1], "weights": [1, 1], "capacity": 9, "ids": [0, 1]}')
    (tmp_path / "s").write_text("[1, 0]")
    done = nsa("check", tmp_path / "k.json", tmp_path / "s")
    assert (done.code, "cannot tell a selection from a list of ids" in done.out) == (3, True)


# --- small promises ------------------------------------------------------------------------------------


def test_what_is_written_to_a_file_is_told(nsa, square, tmp_path):
    """The objective, on stderr, unless one wants it quiet."""
    out = tmp_path / "o.json"
    assert nsa("solve", square, *QUICK, "-o", out).err == f"nsa: objective 140, optimal: {out}\n"
    assert nsa("solve", square, *QUICK, "-o", out, "-q").err == ""


def test_columns_from_a_configuration(nsa, tmp_path):
    """And a key that is none has the nearest one."""
    (tmp_path / "f.csv").write_text("5,7,3\n8,9,1\n4,4,2\n")
    (tmp_path / "c.yaml").write_text("columns: [id, x, y]\nproblem: tsp\nsteps: 100\nseed: 1\n")
    result = nsa("solve", tmp_path / "f.csv", "--config", tmp_path / "c.yaml").json
    assert sorted(result["solution"]) == [4, 5, 8]
    (tmp_path / "c.yaml").write_text("colums: x,y\n")
    done = nsa("solve", tmp_path / "f.csv", "--config", tmp_path / "c.yaml")
    assert done.err.endswith("c.yaml: there is no option 'colums'; the nearest is columns\n")


def test_one_error_for_one_cause(nsa, tmp_path):
    """Of many instances of a file; each still has its line of JSON."""
    (tmp_path / "f.jsonl").write_text('{"values": [1], "weights": [1]}\n' * 5 + '{"weights": [1]}\n')
    done = nsa("solve", tmp_path / "f.jsonl", *QUICK)
    assert (done.code, done.err.count("\n"), done.out.count("\n")) == (2, 1, 6)
    assert done.err.endswith("f.jsonl:1: capacity is missing; use --capacity (and 4 more like it)\n")


def test_capacity_is_a_number(nsa, tmp_path):
    """And the error names the option that was typed."""
    (tmp_path / "f.json").write_text('{"weights": [1]}')
    done = nsa("solve", tmp_path / "f.json", "--capacity", "ten")
    assert done.err == "nsa: error: --capacity: expected a number, got 'ten'\n"


def test_help_has_headings_and_choices(nsa):
    """Options are in groups, and choices are shown."""
    text = nsa("solve", "--help").out
    for heading in ("Reading:", "Stopping:", "Search:", "Annealing:", "Output:"):
        assert f"\n{heading}\n" in text
    assert "--method auto|anneal|large-step" in text
    assert "--schedule geometric|linear|constant" in text
