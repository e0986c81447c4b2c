"""Traces, pictures and progress as a user meets them."""

import json
import os
import pty
import re
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

import numpy as np
import pytest

from nsa_cli.anneal.chains import Progress
from nsa_cli.report.progress import RunLine, Snapshot
from nsa_cli.report.trace import Row

from helpers import QUICK as STEPS

#: What is small is solved by its bound alone; here it is to be annealed.
QUICK = (*STEPS, "--no-bound")

PNG = b"\x89PNG\r\n\x1a\n"


def test_solve_writes_trace_and_pictures_beside_the_result(nsa, square, tmp_path):
    """Stdout is the same with them, and stderr silent."""
    pytest.importorskip("matplotlib")
    plain = nsa("solve", square, "--seed", 1, *QUICK).json
    files = {"--curve": "t.csv", "--plot": "s.png"}
    done = nsa(
        "solve", square, "--seed", 1, *QUICK, *(x for k, v in files.items() for x in (k, tmp_path / v))
    )
    assert done.code == 0
    assert done.err == ""
    assert done.json["solution"] == plain["solution"]
    assert done.json["accepted"] == plain["accepted"]
    assert (tmp_path / "s.png").read_bytes().startswith(PNG)
    assert nsa("solve", square, *QUICK, "--curve", tmp_path / "r.pdf").code == 0
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    rows = (tmp_path / "t.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["step", *map(str, range(51))]
    assert float(rows[-1].split(",")[-2]) == done.json["objective"]


def test_where_the_bound_has_the_optimum_there_is_no_curve(nsa, square, tmp_path):
    """A warning says so, the answer and its picture are there all the same, and the trace is empty."""
    pytest.importorskip("matplotlib")
    files = {"--curve": "t.csv", "--plot": "s.png"}
    done = nsa("solve", square, *STEPS, *(x for k, v in files.items() for x in (k, tmp_path / v)))
    assert (done.code, done.json["status"], done.json["steps"]) == (0, "optimal", 0)
    assert "no annealing curve" in done.err
    assert done.err.count("\n") == 1
    assert (tmp_path / "s.png").read_bytes().startswith(PNG)
    assert (tmp_path / "t.csv").read_text() == ",".join(Row._fields) + "\n"
    assert "no annealing curve" in nsa("solve", square, *STEPS, "--curve", tmp_path / "r.png").err
    assert not (tmp_path / "r.png").exists()


def test_a_run_without_time_for_a_step_has_no_curve(nsa, square, tmp_path):
    """The start is the answer, and is drawn."""
    files = ("--curve", tmp_path / "t.csv", "--plot", tmp_path / "s.png")
    done = nsa("solve", square, "--time-limit", 0, *files)
    assert (done.json["status"], done.json["found_by"], done.json["steps"]) == ("time_limit", "start", 0)
    assert "there was no time for a step" in done.err.splitlines()[0]  # another may say that it comes late
    assert (tmp_path / "t.csv").read_text() == ",".join(Row._fields) + "\n"
    assert (tmp_path / "s.png").read_bytes().startswith(PNG)


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
    ],
)
def test_a_policy_on_next_to_nothing(nsa, tmp_path, name, size, word):
    """A picture of it, or one line."""
    pytest.importorskip("matplotlib")
    done = nsa("plot", "policy", name, "-n", size, "-o", tmp_path / "p.png")
    assert (done.code, done.err.count("\n")) == ((2, 1) if word else (0, 0)), done.err
    assert word is None or word in done.err


def test_a_shipped_policy_is_drawn(nsa, tmp_path):
    """By its name alone."""
    pytest.importorskip("matplotlib")
    done = nsa("plot", "policy", "bin-es-best", "-o", tmp_path / "p.png", "--size", 6, "--steps", 3)
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("solve", "INSTANCE", "--plot", "a.gif"),
            "--plot: expected a file name that ends in .png, .svg, .pdf",
        ),
        (("solve", "INSTANCE", "--plot", "-"), "--plot: expected a file name, got -"),
        (("solve", "INSTANCE", "--curve", "nowhere/a.csv"), "--curve nowhere/a.csv: there is no directory"),
        (
            ("solve", "INSTANCE", "--curve", "a.txt"),
            "--curve: expected a file name that ends in .csv, .png, .svg, .pdf",
        ),
        (("solve", "TWO", "--plot", "a.png"), "--plot: expected one instance, got 2"),
        (("plot", "policy", "uniform", "-o", "a.png"), "uniform proposals are not learnt"),
        (("plot", "policy", "nope", "-o", "a.png"), "there is no policy 'nope'"),
        (("plot", "policy", "INSTANCE", "-o", "a.png"), "is no policy file"),
        (("plot", "policy", "tsp-ppo-best"), "--output"),
        (
            ("plot", "policy", "rosenbrock-es-best", "--size", "3", "-o", "a.png"),
            "moves 2 dimensions, the instance has 3",
        ),
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


def moment(seconds=2.0, sense="min", best_known=None, deadline=None, tasks=1, **fields):
    """A run of 100 steps after 20 of them."""
    problem = SimpleNamespace(sense=sense)
    instance = SimpleNamespace(best_known=best_known)
    progress = Progress(20, 100, 0.5, 0.25, -8.0, mean=-7.0)._replace(**fields)
    return Snapshot(
        progress, seconds, [SimpleNamespace(problem=problem, instance=instance)] * tasks, deadline
    )


def test_the_line_says_where_a_run_stands():
    """In the problem's sense, with the time that is left by the pace so far."""
    line = moment(sense="max", bound=10.0).line(200)
    assert line == ("step 20/100 (20 %)  T 0.5  accepted 25 %  best 8  bound 10  gap 20.00 %  8 s left")
    assert "gap 60.00 % to best known" in moment(sense="max", best_known=20).line(200)
    assert "best" not in moment(tasks=3).line(200)
    assert "3 instances" in moment(tasks=3).line(200)


def test_a_time_limit_ends_a_run_before_its_steps_do():
    """Whichever comes first is the time left."""
    assert moment(deadline=5.0).left == 3.0
    assert moment(deadline=500.0).left == 8.0
    assert moment(step=0).left is None
    assert "1:20 left" in moment(seconds=20.0).line(200)
    assert "2:13:20 left" in moment(seconds=2000.0).line(200)


def test_where_the_time_decides_the_share_is_that_of_the_time():
    """No number of steps is planned then."""
    timed = moment(steps=None, deadline=8.0)
    assert timed.line(200).startswith("step 20 (25 %)  ")
    assert timed.line(200).endswith("  6 s left")


@pytest.mark.parametrize("width", range(1, 120, 7))
def test_a_line_is_never_wider_than_the_terminal(width):
    """A wrapped line could not be written over."""
    assert len(moment(bound=-9.0).line(width, verbose=True)) <= width


def test_a_terminal_gets_one_line_that_goes_away(square):
    """Written over and over, no wider than the terminal; in the end there is nothing left of it."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 60))
    command = [sys.executable, "-m", "nsa_cli", "solve", str(square), "--seed", "1", "--steps", "999999999"]
    command += ["--no-bound", "--method", "anneal", "--time-limit", "3"]
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)  # of the test runner's terminal
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env=environment)
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["objective"] == 140
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).strip() for line in seen.decode().split("\r")]
    assert any(re.search(r" step \d+/999999999 ", line) for line in lines)
    assert max(map(len, lines)) <= 60
    assert seen.endswith(b"\x1b[2K")


def test_a_run_says_what_it_does_before_its_first_step():
    """While a population is made, too; there are no acceptances then."""
    assert moment(step=0, doing="starts 12 of 300").line(200) == "starts 12 of 300  best -8"
    assert "T 0.5  accepted 25 %  large steps" in moment(doing="large steps").line(200)
    line = RunLine([], time.monotonic() + 20)
    assert line.line(80) == ("first solution and bound  20 s left", pytest.approx(0, abs=0.1))
    line(Progress(0, None, 1.0, 0.0, 7.0, doing="generation 4"))
    assert line.line(80).words == "generation 4  20 s left"


def test_a_pipe_gets_nothing_of_it(nsa_process, square):
    """However long it takes."""
    done = nsa_process("solve", square, "--time-limit", 1, "--no-bound")
    assert (done.code, done.err) == (0, "")
