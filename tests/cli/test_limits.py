"""Options that end a search, and what the result says of it."""

import json
import re
import sys
import time

import numpy as np
import pytest


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(7).random((40, 2)).tolist()}))
    return path


RUN = ("--seed", 1, "--steps", 1000, "--chains", 2, "--init", "random", "--policy", "uniform")


def test_a_target_stops_the_search(nsa, cities):
    """At the objective asked for or a better one, and not long before the end of the steps."""
    full = nsa("solve", cities, *RUN).json
    target = full["objective"] * 1.1
    result = nsa("solve", cities, *RUN, "--target", target).json
    assert result["objective"] <= target
    assert (result["stop_reason"], result["status"]) == ("target", "feasible")
    assert 0 < result["steps"] < full["steps"]


@pytest.mark.parametrize("gap", ["30%", "0.3"])
def test_a_gap_stops_the_search(nsa, cities, gap):
    """Relative to the bound, which the result has too."""
    result = nsa("solve", cities, *RUN, "--gap", gap).json
    assert result["stop_reason"] == "gap"
    assert result["objective"] <= 1.3 * result["bound"]["value"]
    assert 0 <= result["gap"] <= 0.3
    assert result["bound"]["gap"] == result["gap"]
    assert result["steps"] < 1000


def test_a_search_that_is_stuck_stops(nsa, cities):
    """After steps, or after seconds; whichever rule is first gives the reason."""
    cold = ("--t-start", "1e-9", "--t-end", "1e-9", "--steps", 10**9)
    result = nsa("solve", cities, *RUN[:2], *cold, "--policy", "uniform", "--no-improvement", 500).json
    assert result["stop_reason"] == "no_improvement"
    assert 500 < result["steps"] < 10**6
    begin = time.monotonic()
    result = nsa("solve", cities, *RUN[:2], *cold, "--policy", "uniform", "--no-improvement", "0.3s").json
    assert result["stop_reason"] == "no_improvement"
    assert time.monotonic() - begin < 20
    both = nsa("solve", cities, *RUN, "--no-improvement", "900", "--target", 100).json
    assert both["stop_reason"] == "target"


def test_without_a_bound_there_is_none(nsa, cities):
    """Nor a proof, nor a gap that needs one."""
    result = nsa("solve", cities, *RUN, "--no-bound").json
    assert result["bound"] is None
    assert result["gap"] is None
    refused = nsa("solve", cities, *RUN, "--no-bound", "--gap", "1%")
    assert refused.code == 2
    assert "--no-bound" in refused.err


def test_the_same_seed_stops_at_the_same_step(nsa, cities):
    """A goal is a matter of steps, not of the machine's speed."""
    runs = [nsa("solve", cities, *RUN, "--gap", "30%").json for _ in range(2)]
    assert runs[0]["steps"] == runs[1]["steps"]
    assert runs[0]["solution"] == runs[1]["solution"]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--gap", "x"], "--gap"),
        (["--gap", "-1%"], "--gap"),
        (["--gap", "nan"], "--gap"),
        (["--target", "nan"], "--target"),
        (["--target", "x"], "--target"),
        (["--no-improvement", "soon"], "--no-improvement"),
        (["--no-improvement", "s"], "--no-improvement"),
        (["--no-improvement", "-5"], "--no-improvement"),
    ],
)
def test_goals_that_make_no_sense_are_one_line(nsa, cities, options, word):
    """Exit code 2, nothing on stdout."""
    done = nsa("solve", cities, *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert word in done.err


@pytest.mark.study
@pytest.mark.parametrize("limit", [3.0, 5.0])
def test_a_time_limit_is_that_of_the_process(nsa_process, tmp_path, limit):
    """Start of the interpreter, bound and exit included, to half a second."""
    path = tmp_path / "many.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(1).random((1000, 2)).tolist()}))
    begin = time.monotonic()
    result = nsa_process("solve", path, "--time-limit", limit, "--steps", 10**7).json
    assert time.monotonic() - begin < limit + 0.5
    assert result["status"] == "time_limit"
    assert result["bound"]["seconds"] < 0.3 * limit
    assert result["steps"] > 0


def test_bounds_take_a_fifth_of_their_batchs_time(nsa, tmp_path, monkeypatch):
    """Not of the whole time limit, or the first of many batches would have nothing left to anneal in."""
    from nsa_cli.problems.tsp import Tsp

    asked = []
    monkeypatch.setattr(Tsp, "bound", lambda self, instance, clock: asked.append(clock.left))
    path = tmp_path / "many.jsonl"
    rng = np.random.default_rng(3)
    path.write_text(
        "".join(json.dumps({"coords": rng.random((n, 2)).tolist()}) + "\n" for n in (20, 21, 22, 23))
    )
    done = nsa("solve", path, *RUN, "--time-limit", 1000, "--format", "jsonl")
    assert done.code == 0
    assert len(asked) == 4
    assert 30 < asked[0] <= 0.2 * 1000 / 4  # each size is a batch of its own
    assert asked[0] < asked[1] < asked[2] < asked[3] <= 0.2 * 1000  # what one leaves over, the next ones have


BOUNDED = """
import numpy as np
from nsa_cli.user import UserProblem, flip, subset

class Ones(UserProblem):
    name, sense, keys = "ones", "max", ("prices",)
    solution, moves = subset("prices"), (flip,)
    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total -= data.prices[i] * x[i]
        return total
    def bound(data): return VALUE
"""


@pytest.mark.parametrize(
    ("value", "status"), [("data.prices.sum()", "optimal"), ("100", "feasible"), ("None", "feasible")]
)
def test_a_problem_of_ones_own_may_have_a_bound(nsa, tmp_path, value, status):
    """In the objective's sense; a proof ends the search."""
    code, data = tmp_path / "ones.py", tmp_path / "ones.json"
    code.write_text(BOUNDED.replace("VALUE", value))
    data.write_text(json.dumps({"prices": [1] * 12}))
    result = nsa("solve", data, "--problem", f"{code}:Ones", *RUN[:6]).json
    assert (result["objective"], result["status"]) == (12, status)


def test_a_users_bound_that_is_no_number_is_refused(nsa, tmp_path):
    """In one line that names the method."""
    code, data = tmp_path / "ones.py", tmp_path / "ones.json"
    code.write_text(BOUNDED.replace("VALUE", "float('nan')"))
    data.write_text(json.dumps({"prices": [1] * 12}))
    done = nsa("solve", data, "--problem", f"{code}:Ones", *RUN[:6])
    assert done.code == 2
    assert "bound" in done.err


# --- starts -------------------------------------------------------------------------------------------


def test_help_names_the_starts(nsa):
    """What --init can be is not a secret."""
    text = " ".join(nsa("solve", "--help").out.split())
    assert re.search(r"--init .*greedy, random", text)


STARTS = {
    "knapsack": ({"values": [6, 10, 12], "weights": [1, 2, 3], "capacity": 5}, [1, 2], "[1, 7]", "item 7"),
    "bin": ({"weights": [4, 8, 1, 4], "capacity": 10}, [[1, 4, 3], [2]], "[[1, 2, 3], [4]]", "bin 1"),
    "rosenbrock": ({"a": 1, "b": 100}, [1.0, 1.01], "[1.0]", "coordinates"),
}


@pytest.mark.parametrize("name", list(STARTS))
def test_a_start_from_a_file_is_never_made_worse_and_a_broken_one_is_refused(nsa, tmp_path, name):
    """For every problem, at a temperature that accepts everything; the message names the element."""
    data, start, broken, word = STARTS[name]
    path, file = tmp_path / "instance.json", tmp_path / "start.json"
    path.write_text(json.dumps(data))
    file.write_text(json.dumps(start))
    options = ("--init", file, "--seed", 1, "--no-bound")
    first = nsa("solve", path, *options, "--steps", 0).json
    assert first["solution"] == start or sorted(map(sorted, first["solution"])) == sorted(map(sorted, start))
    hot = nsa("solve", path, *options, "--steps", 50, "--t-start", 1e6, "--t-end", 1e6, "--chains", 1).json
    sign = 1 if hot["sense"] == "min" else -1
    assert sign * hot["objective"] <= sign * first["objective"]
    file.write_text(broken)
    refused = nsa("solve", path, *options)
    assert refused.code == 2
    assert word in refused.err
    assert str(file) in refused.err


def test_a_start_may_be_ids_in_plain_text(nsa, tmp_path, square):
    """Between blanks, line breaks or commas."""
    file = tmp_path / "start.txt"
    for text in ("1 3 2 4", "1\n3\n2\n4\n", "1, 3, 2, 4  # around"):
        file.write_text(text)
        assert nsa("solve", square, "--init", file, "--steps", 0, "--no-bound").json["objective"] == 140


def test_the_process_has_an_age():
    """The clock of a command starts with its process, where the system tells."""
    from nsa_cli.core import clock

    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux tells")
    assert 0 <= clock._age() < 60
    assert clock.began() == pytest.approx(time.monotonic(), abs=5.0)
