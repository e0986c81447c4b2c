"""The command: table on stdout, files in a directory, errors in one line."""

import importlib.util
import json
import os
import shlex
import signal

import pytest

import nsa_cli as nsa
from nsa_cli.bench.solvers import format_budget
from nsa_cli.bench.summary import COLUMNS
from nsa_cli.core.options import parse_budgets
from nsa_cli.io.journal import Journal

QUICK = ("--steps", "1", "--count", "3", "--policies", "none", "--device", "cpu")
TIMED = ("--sizes", "50", "--budget", "2ms,10ms", "--count", "2", "--policies", "none")


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


def test_files(command, tmp_path, rows_of):
    """One row an instance, solver and seed; strict JSON with the table's rows and the circumstances."""
    directory = tmp_path / "a" / "b"
    code, _, _ = command("knapsack", "--sizes", "50,100", "--seeds", "1..2", *QUICK, "--out", directory)
    assert code == 0
    runs = rows_of(directory)
    assert tuple(runs[0]) == COLUMNS
    keys = [(r["size"], r["instance"], r["solver"], r["budget"], r["seed"]) for r in runs]
    assert len(set(keys)) == len(keys)
    assert sum(k[2] == "nsa-sa" for k in keys) == 2 * 3 * 2
    assert all(r["solver"].startswith("nsa") for r in runs if r["steps"])
    summary = json.loads((directory / "summary.json").read_text(), parse_constant=pytest.fail)
    assert set(summary) >= {"command", "versions", "machine", "date", "threads", "device", "rows"}
    row = next(row for row in summary["rows"] if row["solver"] == "nsa-sa")
    mine = [r for r in runs if (r["size"], r["solver"]) == ("50", "nsa-sa")]
    for key, column in (("mean", "objective"), ("gap", "gap")):
        assert row[key] == pytest.approx(sum(float(r[column]) for r in mine) / len(mine))
    assert {"ci95", "std_seeds", "seconds"} <= set(row)


def test_by_seconds(command, tmp_path, rows_of):
    """Every run in the table of runs, a row a solver and budget."""
    code, out, err = command("knapsack", *TIMED, "--out", tmp_path)
    assert (code, err) == (0, "")
    assert "nsa-solve" in out
    runs = rows_of(tmp_path)
    assert {r["budget"] for r in runs if r["solver"] == "nsa-sa-tuned"} == {"2ms", "10ms"}
    assert {r["budget"] for r in runs if r["solver"] == "greedy"} == {""}
    assert all(float(r["gap"]) >= 0 and float(r["cpu_seconds"]) > 0 for r in runs)
    summary = json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)
    rows = {(row["solver"], row["budget"]) for row in summary["rows"]}
    assert rows >= {("nsa-solve", "2ms"), ("nsa-sa-tuned", "10ms"), ("greedy", "")}
    assert {row["threads"] for row in summary["rows"] if row["kind"] == "nsa"} == {1}


def test_files_and_folders(command, tmp_path, rows_of):
    """Instances of a folder, gaps to a list of optima; what is no instance is passed over."""
    folder = tmp_path / "sets"
    folder.mkdir()
    for k, task in enumerate(nsa.generate("knapsack", 30, 2, seed=1)):
        (folder / f"k{k}.json").write_text(json.dumps({**task.instance.record(), "name": f"k{k}"}))
    (folder / "notes.txt").write_text("nothing")
    (tmp_path / "best.txt").write_text("k0 : 1.0\nk1 : 1.0\n")
    arguments = ("--budget", "2ms", "--references", tmp_path / "best.txt", "--policies", "none")
    code, out, _ = command(folder, *arguments, "--out", tmp_path / "out")
    assert code == 0
    assert "2 of knapsack files" in out
    rows = rows_of(tmp_path / "out")
    assert {(r["instance"], r["reference"]) for r in rows} == {("k0", "1.0"), ("k1", "1.0")}


def test_the_command_in_the_summary_gives_the_same_figures(command, tmp_path):
    """Word for word as it is written there."""
    command("bin", "--sizes", "50", *QUICK, "--seeds", "3", "--out", tmp_path)
    first = json.loads((tmp_path / "summary.json").read_text())
    again = shlex.split(first["command"])
    assert again[:2] == ["nsa", "benchmark"]
    command(*again[2:], "--again")
    second = json.loads((tmp_path / "summary.json").read_text())
    assert second["command"] == f"{first['command']} --again"
    means = [[(r["solver"], r.get("mean")) for r in summary["rows"]] for summary in (first, second)]
    assert means[0] == means[1]


def test_interrupted(command, tmp_path, monkeypatch, rows_of):
    """Ctrl-C after the first run: its files and rows are there, the exit code is 130."""
    append = Journal.append

    def append_and_press(*arguments):
        append(*arguments)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Journal, "append", append_and_press)
    code, out, err = command("bin", "--sizes", "50", *QUICK, "--out", tmp_path)
    assert code == 130
    assert "nsa-solve" in out
    assert "nsa-sa" not in out
    assert "ffd" not in out.split("published")[0]
    assert err.count("\n") == 1
    assert len(rows_of(tmp_path)) == 3


def test_budgets():
    """Units, order, repetition; what is no time is refused by name."""
    assert parse_budgets("budget", "1s, 5ms,0.02,5ms,1min") == (0.005, 0.02, 1.0, 60.0)
    for seconds in (0.0005, 0.02, 1.0, 90.0):
        assert parse_budgets("budget", format_budget(seconds)) == (seconds,)
    for text in ("", "5 hours", "0ms", "-1s", "5ms,", "nan"):
        with pytest.raises(nsa.UsageError, match="budget: expected seconds"):
            parse_budgets("budget", text)


FILES = ("examples/capitals.tsp", "examples/packing.csv")


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
        (("tsp", "--sizes", "20", "--against", "nobody"), "it has fast-tsp, ortools-routing, pyvrp, all"),
        (("rosenbrock", "--sizes", "2", "--against", "x"), "it has none"),
        (("tsp", "--sizes", "20", "--references", "/nowhere"), "tsp20_opt.npy: no such file"),
        (("rosenbrock", "--sizes", "2", "--references", "."), "has no reference files"),
        (("tsp", "--sizes", "20", "--out", "README.md"), "journal.jsonl: cannot be written"),
        (("tsp", "--sizes", "20", "--again"), "--again: nothing is kept without a folder; use --out DIR"),
        (("tsp", "--sizes", "20", "--device", "tpu"), "expected auto, cpu, cuda or cuda:N"),
        (("nothing", "--sizes", "20"), "there is no problem 'nothing'"),
        (("tsp",), "--sizes"),
        (("tsp", "--budget", "5ms"), "--sizes"),
        (("tsp", "--sizes", "20", "--budget", "soon"), "--budget: expected seconds"),
        (("tsp", "--sizes", "20", "--budget", "1s", "--device", "cuda"), "use --device cpu"),
        ((FILES[0], "--budget", "5ms", "--sizes", "20"), "--sizes: is for a PROBLEM's own sets"),
        ((*FILES, "--budget", "5ms"), "files of one problem"),
        (FILES, "use --budget"),
        ((FILES[0], "--budget", "5ms", "--references", "nowhere"), "nowhere: no such file"),
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
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "highspy" else find(name))
    code, out, err = command("knapsack", "--sizes", "50", *QUICK, "--against", "highs")
    assert (code, out) == (2, "")
    assert "pip install highspy" in err
