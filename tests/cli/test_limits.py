"""Options that end a search, bounds, and what the result says of them."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from nsa_cli.problems.tsp import Tsp


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(7).random((40, 2)).tolist()}))
    return path


RUN = ("--seed", 1, "--steps", 1000, "--chains", 2, "--init", "random", "--policy", "uniform")


#: So cold that nothing gets better before long.
COLD = ("--t-start", "1e-9", "--t-end", "1e-9", "--steps", 10**9)


@pytest.mark.parametrize(
    ("options", "reason", "steps"),
    [
        (("--target", 9), "target", (0, 1000)),
        (("--gap", "30%"), "gap", (0, 1000)),
        ((*COLD, "--no-improvement", 500), "no_improvement", (500, 10**6)),
        ((*COLD, "--no-improvement", "0.3s"), "no_improvement", (0, 10**9)),
        (("--no-improvement", 900, "--target", 100), "target", (-1, 900)),
    ],
)
def test_a_goal_stops_the_search(nsa, cities, options, reason, steps):
    """Which is first gives the reason, and not long before the end of the steps."""
    own = RUN[:2] + RUN[4:] if "--steps" in options else RUN
    result = nsa("solve", cities, *own, *options).json
    assert (result["stop_reason"], result["status"]) == (reason, "feasible")
    assert steps[0] < result["steps"] < steps[1]
    if reason == "target":
        assert result["objective"] <= options[-1]
    if reason == "gap":
        assert 0 <= result["gap"] == result["bound"]["gap"] <= 0.3
        assert result["objective"] <= 1.3 * result["bound"]["value"]


def test_without_a_bound_there_is_none(nsa, cities):
    """Nor a proof, nor a gap that needs one."""
    result = nsa("solve", cities, *RUN, "--no-bound").json
    assert (result["bound"], result["gap"]) == (None, None)
    refused = nsa("solve", cities, *RUN, "--no-bound", "--gap", "1%")
    assert (refused.code, "--no-bound" in refused.err) == (2, True)


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
    asked = []
    monkeypatch.setattr(Tsp, "bound", lambda self, instance, clock: asked.append(clock.left))
    path, rng = tmp_path / "many.jsonl", np.random.default_rng(3)
    sizes = (20, 20, 21, 22)  # each size is a batch
    path.write_text("\n".join(json.dumps({"coords": rng.random((n, 2)).tolist()}) for n in sizes))
    assert nsa("solve", path, *RUN, "--time-limit", 1000, "--format", "jsonl").code == 0
    assert 30 < asked[0] <= 0.2 * 1000 / 4
    assert asked[0] < min(asked[1:3]) <= max(asked[1:3]) < asked[3] <= 0.2 * 1000  # what one leaves over


BOUNDED = """
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
    ("value", "status"),
    [("data.prices.sum()", "optimal"), ("100", "feasible"), ("None", "feasible"), ("float('nan')", None)],
)
def test_a_problem_of_ones_own_may_have_a_bound(nsa, tmp_path, value, status):
    """In the objective's sense; a proof ends the search; one that is no number is refused by its name."""
    code, data = tmp_path / "ones.py", tmp_path / "ones.json"
    code.write_text(BOUNDED.replace("VALUE", value))
    data.write_text(json.dumps({"prices": [1] * 12}))
    done = nsa("solve", data, "--problem", f"{code}:Ones", *RUN[:6])
    if status is None:
        assert (done.code, "bound" in done.err) == (2, True)
    else:
        assert (done.json["objective"], done.json["status"]) == (12, status)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells")
def test_the_process_has_an_age():
    """The clock of a command starts with its process, where the system tells."""
    code = "import time; time.sleep(0.2); from nsa_cli.core import clock; print(clock._age())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.2 < float(done.stdout) < 60
