"""The command: table on stdout, files in a directory, errors in one line."""

import csv
import json
import os
import shlex
import signal

import pytest

QUICK = ("--steps", "1", "--count", "3", "--policies", "none", "--device", "cpu")
COLUMNS = {
    *("problem", "size", "instance", "solver", "seed", "steps", "budget"),
    *("objective", "reference", "gap", "seconds", "cpu_seconds"),
}


def test_the_table_is_the_only_output(command):
    """Measured rows, published rows, and a caption that says what the gaps are to."""
    code, out, err = command("bin", "--sizes", "50", *QUICK)
    assert (code, err) == (0, "")
    rows = {line.split()[1]: line for line in out.splitlines() if line.split()[:1] == ["50"]}
    assert "nsa-sa" in rows
    assert "27.100" in rows["ffd"]
    assert "published" in rows["OR-Tools"]
    assert "best answer to each instance" in out
    assert not any(line.endswith(" ") for line in out.splitlines())


@pytest.mark.parametrize("problem", ["rosenbrock", "examples/maxcut.py:MaxCut"])
def test_problems_without_test_sets(command, problem):
    """Random instances, as the caption says, and no columns of a paper."""
    code, out, _ = command(problem, "--sizes", "6", *QUICK)
    assert code == 0
    assert "drawn at random, seed 0: 3 of size 6" in out
    assert "paper %" not in out


def test_files(command, tmp_path):
    """One row an instance, solver and seed; strict JSON with the table's rows and the circumstances."""
    directory = tmp_path / "a" / "b"
    code, _, _ = command("knapsack", "--sizes", "50,100", "--seeds", "1..2", *QUICK, "--out", directory)
    assert code == 0
    with (directory / "runs.csv").open() as file:
        runs = list(csv.DictReader(file))
    assert set(runs[0]) >= COLUMNS
    keys = [(r["size"], r["instance"], r["solver"], r["budget"], r["seed"]) for r in runs]
    assert len(set(keys)) == len(keys)
    assert sum(k[2] == "nsa-sa" for k in keys) == 2 * 3 * 2
    ours = {r["solver"] for r in runs if r["steps"]}
    assert all(name.startswith("nsa") for name in ours)
    summary = json.loads((directory / "summary.json").read_text(), parse_constant=pytest.fail)
    assert set(summary) >= {"command", "versions", "machine", "date", "threads", "device", "rows"}
    row = next(row for row in summary["rows"] if row["solver"] == "nsa-sa")
    mine = [float(r["objective"]) for r in runs if (r["size"], r["solver"]) == ("50", "nsa-sa")]
    assert row["mean"] == pytest.approx(sum(mine) / len(mine))
    assert row["gap"] == pytest.approx(
        sum(float(r["gap"]) for r in runs if (r["size"], r["solver"]) == ("50", "nsa-sa")) / len(mine)
    )
    assert {"ci95", "std_seeds", "seconds", "paper_value", "difference"} <= set(row)


def test_the_command_in_the_summary_gives_the_same_figures(command, tmp_path):
    """Word for word as it is written there."""
    command("bin", "--sizes", "50", *QUICK, "--seeds", "3", "--out", tmp_path)
    first = json.loads((tmp_path / "summary.json").read_text())
    again = shlex.split(first["command"])
    assert again[:2] == ["nsa", "benchmark"]
    command(*again[2:], "--out", tmp_path)
    second = json.loads((tmp_path / "summary.json").read_text())
    assert second["command"] == first["command"]
    assert [(r["solver"], r["mean"]) for r in second["rows"]] == [
        (r["solver"], r["mean"]) for r in first["rows"]
    ]


def test_interrupted(command, tmp_path, monkeypatch):
    """Ctrl-C after the first run: its files and rows are there, the exit code is 130."""
    from nsa_cli.bench import files

    write = files.write_files

    def write_and_press(*arguments, **options):
        write(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(files, "write_files", write_and_press)
    code, out, err = command("bin", "--sizes", "50", *QUICK, "--out", tmp_path)
    assert code == 130
    assert "nsa-solve" in out
    assert "nsa-sa" not in out
    assert "ffd" not in out.split("published")[0]
    assert err.count("\n") == 1
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tsp", "--sizes", "30"), "it has 20, 50, 100, 200, 500"),
        (("tsp", "--sizes", "x"), "--sizes: expected whole numbers"),
        (("tsp", "--sizes", "20,0"), "--sizes: expected whole numbers from 1"),
        (("tsp", "--sizes", "20", "--seeds", "5..1"), "--seeds: expected"),
        (("tsp", "--sizes", "20", "--seeds", "1..1000000000"), "--seeds: expected"),
        (("tsp", "--sizes", "20", "--steps", "1.5"), "--steps: expected"),
        (("tsp", "--sizes", "20", "--count", "0"), "--count: expected"),
        (("tsp", "--sizes", "20", "--time-limit", "0"), "--time-limit: expected"),
        (
            ("tsp", "--sizes", "20", "--policies", "nowhere"),
            "--policies: there is no policy 'nowhere' for tsp",
        ),
        (
            ("tsp", "--sizes", "20", "--against", "nobody"),
            "it has fast-tsp, ortools-routing, elkai, lkh, concorde, pyvrp, all",
        ),
        (("rosenbrock", "--sizes", "2", "--against", "x"), "it has none"),
        (("tsp", "--sizes", "20", "--references", "/nowhere"), "tsp20_opt.npy: no such file"),
        (("rosenbrock", "--sizes", "2", "--references", "."), "has no reference files"),
        (("tsp", "--sizes", "20", "--out", "README.md"), "--out: README.md"),
        (("tsp", "--sizes", "20", "--device", "tpu"), "expected auto, cpu, cuda or cuda:N"),
        (("nothing", "--sizes", "20"), "there is no problem 'nothing'"),
        (("tsp",), "--sizes"),
    ],
)
def test_errors_are_one_line(command, arguments, words):
    """What, and what to do; nothing is computed."""
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_damaged_reference_file_is_named(command, tmp_path):
    """And what it should be."""
    (tmp_path / "bin50_ref.npz").write_text("no array")
    code, _, err = command("bin", "--sizes", "50", *QUICK, "--references", tmp_path)
    assert code == 2
    assert "bin50_ref.npz: expected a NumPy file with an array ffd" in err


def test_a_peer_that_is_not_installed(command, monkeypatch):
    """One line that names the package to install."""
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "highspy" else find(name))
    code, out, err = command("knapsack", "--sizes", "50", *QUICK, "--against", "highs")
    assert (code, out) == (2, "")
    assert "pip install highspy" in err
