"""Where kernels must still be compiled, nobody waits beyond a limit, and the next run finds them done."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

#: Seconds that an answer may be late where other work is done beside.
PATIENCE = 15


@pytest.fixture
def cold(tmp_path):
    """An environment in which nothing is compiled, on a machine that no machine code is shipped for."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cold"), "NSA_KERNELS": "jit"}


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.json"
    path.write_text(json.dumps({"coords": np.random.default_rng(7).random((200, 2)).tolist()}))
    return path


def test_a_limit_is_kept_while_kernels_compile_and_the_answer_is_a_good_start(nsa, nsa_process, cities, cold):
    """2-opt, with nothing compiled: shorter than what the compiled greedy start makes."""
    begin = time.monotonic()
    done = nsa_process("solve", cities, "--time-limit", 2, env=cold)
    assert time.monotonic() - begin < 2 + PATIENCE
    found = done.json
    assert (found["status"], found["found_by"], found["steps"]) == ("time_limit", "start", 0)
    greedy = nsa("solve", cities, "--init", "greedy", "--steps", 0, "--no-bound").json
    assert found["objective"] < greedy["objective"]
    told, *warned = done.err.splitlines()
    assert told == "nsa: compiling kernels for this machine, which takes up to a minute"
    assert any("the next run has them" in line for line in warned)


def test_an_interrupt_while_kernels_compile_gives_the_start(interrupted, cities, cold):
    """Soon, with the exit code of an interrupt."""
    (done,) = interrupted("solve", cities, numbers=[signal.SIGINT], after="compiling", env=cold)
    assert (done.code, done.json["status"]) == (130, "interrupted")
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_what_a_short_run_leaves_uncompiled_the_next_one_finds(nsa_process, cities, cold):
    """A process of low priority goes on, one at a time, and says nothing."""
    for _ in range(2):
        assert nsa_process("solve", cities, "--time-limit", 1, env=cold).json["steps"] == 0
    (lock,) = Path(cold["XDG_CACHE_HOME"]).rglob("lock")
    time.sleep(5)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as long as it is at it
    done = nsa_process("solve", cities, "--time-limit", 5, env=cold)
    assert done.json["steps"] > 0
    assert done.err == ""


#: Tells in which thread the compiler is first imported, and goes no further.
PROBE = """
import os, sys, threading
import nsa_cli as nsa
class Finder:
    def find_spec(self, name, *_):
        if name == "numba":
            print(threading.current_thread().name, flush=True)
            os._exit(0)
(task,) = nsa.generate(sys.argv[1], 60, 1, 0)
sys.meta_path.insert(0, Finder())
nsa.solve(task, bound=sys.argv[2] == "bound")
"""


@pytest.mark.parametrize("problem", ["bin", "knapsack", "tsp"])
@pytest.mark.parametrize("bound", ["bound", "none"])
def test_nothing_is_compiled_where_a_user_waits(problem, bound, cold):
    """But in a thread that is left behind if need be."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, problem, bound], env=cold, capture_output=True, text=True, check=True
    )
    solved = problem == "knapsack" and bound == "bound"  # by a programme in NumPy, with nothing compiled
    assert done.stdout.strip() == ("" if solved else "nsa")


@pytest.mark.parametrize("kernels", ["jit", ""])
def test_nothing_in_the_current_directory_is_run(tmp_path, cities, cold, kernels):
    """Whatever a module there is called, and whichever process would import it."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in (
        "numba",
        "random",
        "json",
        "numpy",
        "torch",
        "yaml",
        "llvmlite",
        "scipy",
        "nsa_cli",
        "typer",
    ):
        (folder / f"{name}.py").write_text(f"import os\nos.write(2, b'{name} ran')\nos._exit(9)\n")
    command = [sys.executable, "-P", "-c", "import os, sys; from nsa_cli.__main__ import run; run()"]
    command += ["solve", str(cities), "--time-limit", "1"]
    environment = {**cold, "NSA_KERNELS": kernels}
    for start in (command, [str(Path(sys.executable).with_name("nsa")), *command[4:]]):
        if Path(start[0]).exists():
            done = subprocess.run(start, cwd=folder, env=environment, capture_output=True, text=True)
            assert (done.returncode, "ran" in done.stderr) == (0, False), done.stderr
    time.sleep(1)
    assert {path.suffix for path in folder.iterdir()} == {".py"}
