"""Kernels that are not compiled yet keep nobody waiting, and can be compiled beforehand."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest


@pytest.fixture
def cold(tmp_path):
    """An environment in which nothing is compiled."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cold")}


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(7).random((40, 2)).tolist()}))
    return path


def test_while_kernels_compile_the_same_search_runs_uncompiled(nsa_process, cities, cold):
    """A short time limit is kept, and the answer is not just the start."""
    nothing = nsa_process("solve", cities, "--time-limit", 0, env=cold).json
    assert (nothing["found_by"], nothing["steps"]) == ("start", 0)
    begin = time.monotonic()
    done = nsa_process("solve", cities, "--time-limit", 6, env=cold)
    assert time.monotonic() - begin < 6 + 3  # half a second, on a machine that has nothing else to do
    found = done.json
    assert (found["status"], found["found_by"]) == ("time_limit", "annealing, uncompiled")
    assert found["steps"] > 0
    assert found["objective"] < nothing["objective"]
    assert done.err.count("\n") == 2
    assert "compiling kernels" in done.err
    assert "nsa compile" in done.err


def test_an_interrupt_while_kernels_compile_gives_the_start(cities, cold):
    """At once, with the exit code of an interrupt."""
    command = [sys.executable, "-m", "nsa_cli", "solve", str(cities)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=cold, text=True, **pipes) as process:
        assert "compiling kernels" in process.stderr.readline()
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert time.monotonic() - begin < 2 + 2
    assert process.returncode == 130
    assert json.loads(out)["status"] == "interrupted"
    assert "Traceback" not in err


#: Tells in which thread the first compilation begins, and goes no further.
PROBE = """
import os, sys, threading
from nsa_cli.core.kernel import on_first_compilation
import nsa_cli as nsa
def tell():
    print(threading.current_thread().name, flush=True)
    os._exit(0)
(task,) = nsa.generate(sys.argv[1], 60, 1, 0)
with on_first_compilation(tell):
    nsa.solve(task, bound=sys.argv[2] == "bound")
"""


@pytest.mark.parametrize("problem", ["bin", "knapsack", "tsp"])
@pytest.mark.parametrize("bound", ["bound", "none"])
def test_nothing_is_compiled_where_a_user_waits(problem, bound, cold):
    """But in a thread that is left behind if need be."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, problem, bound], env=cold, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() != "MainThread"


@pytest.mark.parametrize("data", [{"coords": [[0.1, 0.7]]}, {"weights": [0.21, 0.33, 0.4], "capacity": 1}])
def test_uncompiled_large_steps_are_the_compiled_ones(nsa, nsa_process, tmp_path, data):
    """The same code, so the same answer to the last bit."""
    data = dict(data)
    rng = np.random.default_rng(3)
    if "coords" in data:
        data["coords"] = rng.random((25, 2)).tolist()
    else:
        data["weights"] = rng.uniform(0.1, 0.6, 30).round(3).tolist()
    path = tmp_path / "i.json"
    path.write_text(json.dumps(data))
    run = ("solve", path, "--method", "large-step", "--steps", 40, "--seed", 5, "--no-bound")
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    compiled, uncompiled = nsa(*run).json, nsa_process(*run, env=plain).json
    for key in ("solution", "objective", "steps", "accepted"):
        assert compiled[key] == uncompiled[key]


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["bin", "knapsack", "rosenbrock", "tsp"])
def test_compiled_beforehand_nothing_is_compiled_in_a_solve(nsa_process, tmp_path, problem, cold):
    """By whatever method and policy."""
    assert nsa_process("compile", problem, env=cold, timeout=300).code == 0
    instance = tmp_path / "i.json"
    size = 2 if problem == "rosenbrock" else 60
    instance.write_text(nsa_process("generate", problem, "--size", size, "--seed", 1).out)
    for options in ([], ["--no-bound"], ["--steps", 50], ["--policy", "uniform", "--no-bound"]):
        done = nsa_process("solve", instance, "--time-limit", 5, *options, env=cold)
        assert done.json["steps"] > 0 or done.json["status"] == "optimal"
        assert "compil" not in done.err


def test_there_is_nothing_to_compile_for_an_unknown_problem(nsa):
    """One line."""
    done = nsa("compile", "knapsak")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "knapsak" in done.err


def test_kernels_of_a_problem_are_made_ready(nsa):
    """Silently, if asked to."""
    assert (nsa("compile", "rosenbrock").err, nsa("compile", "-q", "rosenbrock").err) == (
        "nsa: compiling rosenbrock\n",
        "",
    )
