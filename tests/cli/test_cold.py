"""Where own functions still have to be compiled, nobody waits beyond a limit; the next run has them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
MAXCUT = f"{EXAMPLES}/maxcut.py:MaxCut"

#: Seconds that an answer may be late where other work is done beside.
PATIENCE = 15


@pytest.fixture
def cold(tmp_path):
    """An environment in which nothing is compiled."""
    return {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cold")}


@pytest.fixture
def graph(nsa, tmp_path):
    path = tmp_path / "graph.json"
    assert nsa("generate", MAXCUT, "--size", 60, "--seed", 1, "-o", path).code == 0
    return path


def test_a_limit_is_kept_while_functions_compile_and_python_answers(nsa_process, graph, cold):
    """By the same search."""
    for limit in (1, 4, 16):  # on a busy machine a process may take as long to begin
        begin = time.monotonic()
        done = nsa_process("solve", graph, "--problem", MAXCUT, "--time-limit", limit, env=cold)
        assert time.monotonic() - begin < limit + PATIENCE
        if "compiling" in done.err and done.json["steps"]:
            break
    found = done.json
    assert (found["status"], found["found_by"], found["backend"]) == ("time_limit", "annealing", "python")
    assert found["steps"] > 0
    told, *warned = done.err.splitlines()
    assert told.startswith("nsa: compiling the functions of this problem, which takes some seconds; ")
    assert any("the next run has them" in line for line in warned)


def test_an_interrupt_while_functions_compile_gives_the_start(interrupted, graph, cold):
    """Soon, with the exit code of an interrupt."""
    command = ("solve", graph, "--problem", MAXCUT)
    (done,) = interrupted(*command, numbers=[signal.SIGINT], after="compiling", env=cold)
    assert (done.code, done.json["status"]) == (130, "interrupted")
    assert "Traceback" not in done.err


#: Tells in which thread the compiler is first imported, and goes no further.
PROBE = """
import builtins, os, sys, threading
import nsa_cli as nsa
def load(name, *rest):
    if name == "numba":
        print(threading.current_thread().name, flush=True)
        os._exit(0)
    return known(name, *rest)
(task,) = nsa.generate(sys.argv[1], 60, 1, 0)
known, builtins.__import__ = builtins.__import__, load
nsa.solve(task)
"""


def test_nothing_is_compiled_where_a_user_waits(cold):
    """But in a thread that is left behind if need be."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, MAXCUT], env=cold, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "nsa"


@pytest.mark.parametrize("kernels", ["jit", ""])
def test_nothing_in_the_current_directory_is_run(tmp_path, cold, kernels):
    """Whatever a module there is called, and whichever process would import it."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in [
        "json",
        "llvmlite",
        "nsa_cli",
        "numba",
        "numpy",
        "random",
        "scipy",
        "torch",
        "typer",
        "yaml",
    ]:
        (folder / f"{name}.py").write_text(f"import os\nos.write(2, b'{name} ran')\nos._exit(9)\n")
    script = Path(sys.executable).with_name("nsa")
    start = [script] if script.exists() and not kernels else [sys.executable, "-P", "-c", RUN]
    words = [*start, "solve", EXAMPLES / "valley.json", "--time-limit", "1"]
    environment = {**cold, "NSA_KERNELS": kernels}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    assert (done.returncode, "ran" in done.stderr) == (0, False), done.stderr
    time.sleep(1)  # for a process that goes on compiling
    assert {path.suffix for path in folder.iterdir()} == {".py"}


#: As the script has it.
RUN = "from nsa_cli.__main__ import run; run()"
