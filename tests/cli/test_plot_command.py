"""Traces, pictures and progress as a user meets them."""

import json
import re
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from nsa_cli.anneal.chains import Progress
from nsa_cli.report import progress
from nsa_cli.report.plots import Row

from helpers import QUICK as STEPS

#: What is small is solved by its bound alone; here it is to be annealed.
QUICK = (*STEPS, "--no-bound")

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def files(tmp_path):
    """A curve and a picture beside the result: options, and where they go."""
    pytest.importorskip("matplotlib")
    curve, picture = tmp_path / "t.csv", tmp_path / "s.png"
    return ("--curve", curve, "--plot", picture), curve, picture


def test_solve_writes_trace_and_pictures_beside_the_result(nsa, square, tmp_path, files):
    """Stdout is the same with them, and stderr silent."""
    options, curve, picture = files
    plain = nsa("solve", square, "--seed", 1, *QUICK).json
    done = nsa("solve", square, "--seed", 1, *QUICK, *options)
    assert (done.code, done.err) == (0, "")
    assert [done.json[key] for key in ("solution", "accepted")] == [plain["solution"], plain["accepted"]]
    assert picture.read_bytes().startswith(PNG)
    rows = curve.read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", *map(str, range(51))]
    assert float(rows[-1].split(",")[-2]) == done.json["objective"]
    assert nsa("solve", square, *QUICK, "--curve", tmp_path / "r.pdf").code == 0
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [(STEPS, "optimal", "no annealing curve"), (("--time-limit", 0), "time_limit", "no time for a step")],
)
def test_where_there_was_no_step_there_is_no_curve(nsa, square, tmp_path, files, options, status, why):
    """A warning says so, the answer and its picture are there all the same, and the trace is empty."""
    wanted, curve, picture = files
    large = tmp_path / "large.json"
    large.write_text(nsa("generate", "tsp", "--size", 60, "--seed", 1).out)
    file = square if status == "optimal" else large
    done = nsa("solve", file, *options, *wanted)
    assert (done.code, done.json["status"], done.json["steps"]) == (0, status, 0)
    assert why in done.err.splitlines()[0]  # another may say that it comes late
    assert picture.read_bytes().startswith(PNG)
    assert curve.read_text() == ",".join(Row._fields) + "\n"
    assert why in nsa("solve", file, *options, "--curve", tmp_path / "r.png").err
    assert not (tmp_path / "r.png").exists()


def test_an_interrupted_run_is_traced_as_far_as_it_went(nsa, tmp_path):
    """To the step at which its time was up."""
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(7).random((40, 2)).tolist()}))
    run = ("solve", path, "--policy", "uniform", "--no-bound", "--curve", tmp_path / "t.csv")
    assert nsa(*run, "--steps", 10).code == 0  # its kernels are compiled
    done = nsa(*run, "--steps", 10**9, "--time-limit", 0.6)
    assert done.json["status"] == "time_limit"
    steps = [int(line.split(",")[0]) for line in (tmp_path / "t.csv").read_text().splitlines()[1:]]
    assert steps[0] == 0
    assert steps == sorted(set(steps))
    assert steps[-1] == done.json["steps"] > 0


def test_a_solution_from_a_file_is_drawn(nsa, square, tmp_path):
    """Whatever solved it."""
    pytest.importorskip("matplotlib")
    nsa("solve", square, *QUICK, "-o", tmp_path / "s.json")
    assert nsa("plot", "solution", square, tmp_path / "s.json", "-o", tmp_path / "s.png").code == 0
    assert (tmp_path / "s.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("name", "size", "word"),
    [
        ("tsp-es-best", 3, "--size: expected at least 4 cities, which have moves to show, got 3"),
        ("tsp-es-best", 0, "--size: expected a whole number from 1 on, got 0"),
        ("knapsack-es-best", 1, None),
        ("bin-es-best", 1, None),
        ("bin-es-best", 6, None),
    ],
)
def test_a_policy_by_its_name(nsa, tmp_path, name, size, word):
    """A picture of it, also on next to nothing, or one line."""
    pytest.importorskip("matplotlib")
    done = nsa("plot", "policy", name, "-n", size, "--steps", 3, "-o", tmp_path / "p.png")
    assert (done.code, done.out, done.err.count("\n")) == ((2, "", 1) if word else (0, "", 0)), done.err
    assert word in done.err if word else (tmp_path / "p.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "INSTANCE", "--plot", "a.gif"), "--plot: expected a file name that ends in .png, .svg"),
        (("solve", "INSTANCE", "--plot", "-"), "--plot: expected a file name, got -"),
        (("solve", "INSTANCE", "--curve", "nowhere/a.csv"), "--curve nowhere/a.csv: there is no directory"),
        (("solve", "INSTANCE", "--curve", "a.txt"), "--curve: expected a file name that ends in .csv, .png"),
        (("solve", "TWO", "--plot", "a.png"), "--plot: expected one instance, got 2"),
        (("plot", "policy", "uniform", "-o", "a.png"), "uniform proposals are not learnt"),
        (("plot", "policy", "nope", "-o", "a.png"), "there is no policy 'nope'"),
        (("plot", "policy", "INSTANCE", "-o", "a.png"), "is no policy file"),
        (("plot", "policy", "tsp-ppo-best"), "--output"),
        (("plot", "policy", "rosenbrock-es-best", "--size", "3", "-o", "a.png"), "moves 2 dimensions"),
        (("plot", "solution", "INSTANCE", "INSTANCE", "-o", "a.png"), "expected a list under the key"),
        (("plot",), "command"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(nsa, tmp_path, monkeypatch, arguments, message):
    """Before anything is computed or written."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    record = json.dumps({"problem": "bin", "weights": [0.5, 0.6]})
    (tmp_path / "INSTANCE").write_text(record)
    (tmp_path / "TWO").write_text(f"{record}\n{record}\n")
    done = nsa(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["INSTANCE", "TWO"]


def test_without_matplotlib_one_line_says_what_to_install(nsa, square, tmp_path, monkeypatch):
    """Before anything is computed."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = nsa("solve", square, "--plot", tmp_path / "a.png")
    assert (done.code, done.out) == (2, "")
    assert done.err == "nsa: error: --plot: needs matplotlib: pip install matplotlib\n"


@pytest.fixture
def moment(monkeypatch):
    """A run of 100 steps after 20 of them, and some seconds: its line."""

    def make(seconds=2.0, sense="min", best_known=None, deadline=None, tasks=1, width=200, **fields):
        now = iter([0.0, 0.0, seconds])
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(now)))
        problem, instance = SimpleNamespace(sense=sense), SimpleNamespace(best_known=best_known)
        run = progress.RunLive([SimpleNamespace(problem=problem, instance=instance)] * tasks, deadline)
        run(Progress(20, 100, 0.5, 0.25, -8.0, mean=-7.0)._replace(**fields))
        return run.line(width)

    return make


def test_the_line_says_where_a_run_stands(moment):
    """In the problem's sense, with the time that is left by the pace so far, or by the clock."""
    line = "step 20/100 (20 %)  T 0.5  accepted 25 %  best 8  bound 10  gap 20.00 %  8 s left"
    assert moment(sense="max", bound=10.0) == (line, 0.2)
    assert "gap 60.00 % to best known" in moment(sense="max", best_known=20)[0]
    assert "best" not in moment(tasks=3)[0]
    assert "3 instances" in moment(tasks=3)[0]
    assert moment(deadline=5.0)[0].endswith("  3 s left")
    assert moment(deadline=500.0)[0].endswith("  8 s left")
    assert "left" not in moment(step=0)[0]
    assert "1:20 left" in moment(seconds=20.0)[0]
    assert "2:13:20 left" in moment(seconds=2000.0)[0]


def test_where_the_time_decides_the_share_is_that_of_the_time(moment):
    """No number of steps is planned then."""
    line, share = moment(steps=None, deadline=8.0)
    assert line.startswith("step 20 (25 %)  ")
    assert line.endswith("  6 s left")
    assert share == 0.25


@pytest.mark.parametrize("width", range(1, 120, 7))
def test_a_line_is_never_wider_than_the_terminal(moment, width):
    """A wrapped line could not be written over."""
    assert len(moment(bound=-9.0, width=width)[0]) <= width


def test_a_terminal_gets_one_line_that_goes_away(nsa, square, monkeypatch):
    """Written over and over; in the end there is nothing left of it."""
    monkeypatch.setattr(progress, "_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = nsa("solve", square, "--steps", 10**9, "--no-bound", "--method", "anneal", "--time-limit", 1).err
    assert re.search(r" step \d+/1000000000 ", err), err
    assert err.endswith("\x1b[2K")


def test_a_run_says_what_it_does_before_its_first_step(moment):
    """While a population is made, too; there are no acceptances then."""
    assert moment(step=0, doing="starts 12 of 300")[0] == "starts 12 of 300  best -8"
    assert "T 0.5  accepted 25 %  large steps" in moment(doing="large steps")[0]


def test_before_there_is_progress_a_line_says_so():
    """And how long it may take."""
    run = progress.RunLive([], time.monotonic() + 20)
    assert run.line(80) == ("first solution and bound  20 s left", pytest.approx(0, abs=0.1))


def test_a_pipe_gets_nothing_of_it(nsa_process, square):
    """However long it takes."""
    done = nsa_process("solve", square, "--time-limit", 1, "--no-bound")
    assert (done.code, "step" in done.err) == (0, False)  # a busy machine may be late, and say so
