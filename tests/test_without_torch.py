"""Without torch, and without Numba: all but what needs them works alike."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from nsa_cli.kernels.toolchain import library
from nsa_cli.solver.search import choose_device

ROOT = Path(__file__).parents[1]

COMMAND = "from nsa_cli.cli.main import exit_code\nsys.exit(exit_code(sys.argv[1:]))"

#: Runs a command for each argument, and prints its exit code and what it wrote as a line.
COMMANDS = """
import contextlib, io, json
from nsa_cli.cli.main import exit_code
for command in sys.argv[1:]:
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
        code = exit_code(command.split())
        out.flush()
    print(json.dumps([code, out.buffer.getvalue().decode()]))
"""


def run(*arguments, without=("torch",), code=COMMAND, folder=ROOT, **environment):
    """Run a command, or other code, in a process that has not some packages, as far as it can tell."""
    text = f"import sys\nsys.modules.update(dict.fromkeys({without}))\n{code}"
    command = [sys.executable, "-c", text, *map(str, arguments)]
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder, env=environment)


@cache
def answers(without):
    """Give what each of the commands tells, without times."""
    done, found = run(*SAME, without=without, code=COMMANDS), {}
    for command, line in zip(SAME, done.stdout.splitlines(), strict=True):
        code, text = json.loads(line)
        assert code == 0, done.stderr
        found[command] = text
        if command.startswith("solve"):
            found[command] = {k: v for k, v in json.loads(text).items() if k not in ("seconds", "bound")}
    return found


SAME = [
    "solve examples/capitals.csv --seed 1 --threads 1",
    "solve examples/packing.csv --seed 1 --no-bound --steps 300",
    "solve examples/cutting.json --seed 1 --neighbourhood squares --steps 300",
    "solve examples/valley.json --seed 1 --chains 4",
    "solve examples/capitals.tsp --seed 1 --steps 300 --policy tsp-ppo-best",
    "solve examples/capitals.csv --seed 1 --steps 300 --neighbourhood nearest:10",
    "solve examples/cutting.json --seed 1 --steps 300 --t-start auto --t-end auto",
    "solve examples/capitals.csv --seed 1 --steps 300 --schedule linear --device auto",
    "generate knapsack --size 50 --paper --count 2",
    "generate bin --size 50 --paper --count 2 --format jsonl",
    "generate tsp --size 20 --paper --count 2",
    "generate rosenbrock --size 3 --seed 1",
]


def test_answers_are_the_same():
    """With torch and without it."""
    assert answers(("torch",)) == answers(())


def test_checking_drawing_and_benchmarks(tmp_path):
    """They need no torch either."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = (
        "solve examples/capitals.csv --steps 100 -o c.tour --curve r.svg",
        "check examples/capitals.csv c.tour",
        "plot solution examples/capitals.csv c.tour -o b.png",
        "benchmark knapsack --sizes 50 --steps 1 --count 2 --out out",
    )
    done = run(*commands, code=COMMANDS, folder=tmp_path)
    assert [json.loads(line)[0] for line in done.stdout.splitlines()] == [0, 0, 0, 0], done.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"examples", "c.tour", "b.png", "r.svg", "out"}


HINT = "pip install torch"


#: What needs torch, and the beginning of what is said.
NEEDY = {
    "train knapsack --epochs 1 --out x.json": "training needs PyTorch: ",
    "solve examples/capitals.csv --device cuda": "--device: cuda needs PyTorch: ",
    "solve examples/capitals.csv --backend torch": "--backend: torch needs PyTorch: ",
    "benchmark tsp --sizes 20 --device cuda": "--device: cuda needs PyTorch: ",
    "plot policy knapsack-es-best -o x.png": "the picture of a policy needs PyTorch: ",
    "solve data.json --problem own.py": "own.py:2: needs PyTorch: ",
}


def test_what_needs_torch_asks_for_it_in_a_line(tmp_path):
    """With the command that installs it, and nothing written."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "own.py").write_text('"""Own."""\nimport torch\n')
    (tmp_path / "data.json").write_text("{}")
    done = run(*NEEDY, code=COMMANDS, folder=tmp_path)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[2, ""]] * len(NEEDY)
    said = done.stderr.replace(f"{tmp_path}/", "").splitlines()
    assert said == [f"nsa: error: {start}{HINT}" for start in NEEDY.values()]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.json", "examples", "own.py"]


def test_policies_without_a_kernel_ask_for_torch():
    """As the reference implementation is all that runs them."""
    code = """
from nsa_cli.cli.main import exit_code
from nsa_cli.problems.knapsack import FlipItem
FlipItem.kernel = lambda self: None
sys.exit(exit_code(["solve", "examples/packing.csv", "--steps", "10", "--policy", "uniform", "--no-bound"]))
"""
    done = run(code=code)
    assert (done.returncode, done.stdout) == (2, "")
    why = "knapsack has no kernel for uniform proposals, and the reference implementation needs PyTorch"
    assert done.stderr == f"nsa: error: {why}: {HINT}\n"


def test_a_gpu_is_left_alone_where_torch_is_not(monkeypatch):
    """`auto` is then the CPU."""
    monkeypatch.setattr("nsa_cli.solver.search._may_have_cuda", lambda: True)
    monkeypatch.setattr("nsa_cli.solver.search.is_installed", lambda package: package != "torch")
    assert choose_device("auto") == "cpu"


def test_python_functions_do_without_torch():
    """And names that need it say so when they are used."""
    code = """
import nsa_cli as nsa
print(nsa.knapsack([60, 100, 120], [10, 20, 30], 50).solution.tolist(), "solve" in dir(nsa))
try:
    nsa.tsp([[0, 0], [3, 4], [0, 4], [3, 0]], backend="torch")
except nsa.UsageError as error:
    print(error)
"""
    done = run(code=code)
    assert done.stdout == f"[1, 2] True\nbackend: torch needs PyTorch: {HINT}\n", done.stderr


NUMBA = ("numba", "llvmlite")


@pytest.mark.skipif(library.library() is None, reason="no machine code was built for this machine")
def test_answers_without_a_compiler_are_the_same():
    """It is for own problems, and for processors that no library was made for."""
    assert answers(NUMBA) == answers(("torch",))


def test_own_problems_run_in_python_without_a_compiler(tmp_path):
    """Large ones, too; a line says what would compile them."""
    shutil.copy(ROOT / "examples" / "maxcut.py", tmp_path)
    (tmp_path / "graph.json").write_text(json.dumps({"weights": [[0] * 120] * 120}))
    command = "solve graph.json --problem maxcut.py:MaxCut --steps 20 --seed 1"
    done = run(command, without=NUMBA, code=COMMANDS, folder=tmp_path)
    code, out = json.loads(done.stdout)
    assert (code, json.loads(out)["backend"]) == (0, "python")
    assert "not compiled without Numba: pip install numba; the search is in Python" in done.stderr


def test_what_needs_a_compiler_asks_for_it_in_a_line(tmp_path):
    """With what installs it; the last one is a machine that no library was made for."""
    shutil.copy(ROOT / "examples" / "capitals.csv", tmp_path)
    commands = {
        "train knapsack --epochs 1": "training needs Numba",
        "solve capitals.csv": "no machine code came with nsa, needs Numba",
    }
    done = run(*commands, without=NUMBA, code=COMMANDS, folder=tmp_path, NSA_KERNELS="jit")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[2, ""]] * 2
    for line, words in zip(done.stderr.splitlines(), commands.values(), strict=True):
        assert line.endswith(f"{words}: pip install numba")
