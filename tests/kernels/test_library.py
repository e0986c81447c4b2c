"""Machine code that travels with the package: found, equal to what Numba makes, and never stale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.kernels.jit import kernel
from nsa_cli.kernels.toolchain import library
from nsa_cli.kernels.toolchain.sources import PACKAGE, files_of, rooms

built = pytest.mark.skipif(
    library.library() is None, reason="no machine code was built for this machine: build_kernels.py"
)


class Pair(NamedTuple):
    array: np.ndarray
    number: float


def flat(*values):
    key, numbers = [], []
    for value in values:
        library.flatten(value, key, numbers)
    return key, numbers


def test_arguments_are_told_apart_by_type_and_passed_as_64_bits():
    """Whole numbers as they are, others by their bits, arrays by size, place, shape and strides."""
    array = np.zeros((2, 3), np.float32)
    key, numbers = flat(3, 0.5, True, None, np.float32(1.0), Pair(array, -1.0))
    assert numbers[:5] == [3, 0x3FE0 << 48, 1, 0, 0x3F800000]
    assert numbers[5:-1] == [0, 0, 6, 4, array.ctypes.data, 2, 3, 12, 4]
    assert key[:7] == ["i", "d", "b", "n", "f", Pair, 2]
    others = (3.0, array.T, array.astype(float), array[:, 0], (3,), np.uint64(3))
    keys = {tuple(flat(value)[0]) for value in (3, array, *others)}
    assert len(keys) == 2 + len(others)
    read_only = array.copy()
    read_only.flags.writeable = False
    assert flat(read_only)[0] != flat(array)[0]


def test_what_nobody_foresaw_is_compiled():
    """For new types of arguments, or a kernel of a test."""

    @kernel
    def total(pair: Pair) -> float:
        found = pair.number
        for x in pair.array:
            found += x
        return found

    assert total(Pair(np.arange(4.0), 0.5)) == 6.5
    assert total(Pair(np.arange(4), 0.5)) == 6.5


def symbols(file: Path) -> list[str]:
    done = subprocess.run(["nm", "-D", str(file)], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@built
@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_a_library_has_all_kernels_and_needs_little():
    """Functions of the C library's mathematics, and nothing of a compiler or of Python."""
    for target in filter(lambda target: (library.FOLDER / target.file).exists(), library.TARGETS):
        found = [line.split() for line in symbols(library.FOLDER / target.file)]
        assert sum(words[-2:][0] == "T" and words[-1].startswith("nsa_cli.") for words in found) > 40
        needed = {words[-1].partition("@")[0] for words in found if words[-2] == "U"}
        assert needed <= {"acos", "cos", "exp", "expf", "fmod", "log", "logf", "pow", "sin", "sqrt"} | {
            "memcpy", "memmove", "memset"
        }  # fmt: skip


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of this machine's library, which may be broken."""
    shutil.copytree(library.FOLDER, tmp_path / "libraries")
    monkeypatch.setattr(library, "FOLDER", tmp_path / "libraries")
    target = library.target_here()
    yield tmp_path / "libraries" / target.file
    monkeypatch.undo()
    library.library.cache_clear()
    library.target_here.cache_clear()


@built
@pytest.mark.parametrize("what", ["whole", "cut", "empty", "changed", "missing", "no hashes", "other"])
def test_a_library_that_is_not_as_it_was_built_is_none(copied, what):
    """It would be run, or end the process."""
    content = copied.read_bytes()
    if what == "missing":
        for file in copied.parent.glob("*.so"):
            file.unlink()
    elif what == "no hashes":
        (copied.parent / library.HASHES).write_text("{")
    elif what != "whole":
        changed = content[:9000] + bytes([content[9000] ^ 1]) + content[9001:]
        copied.write_bytes(
            {"cut": content[:5000], "empty": b"", "changed": changed, "other": b"no code"}[what]
        )
    library.library.cache_clear()
    library.target_here.cache_clear()
    assert (library.library() is not None) == (what == "whole")


#: Every way to solve that has kernels of its own, with the result of each.
WAYS = """
import sys
import numpy as np
import nsa_cli as nsa
from nsa_cli.policy.checkpoint import available
for problem in sys.argv[1:]:
    (task,) = nsa.generate(problem, 4 if problem == "rosenbrock" else 40, 1, seed=3)
    ways = [{}, {"policy": "uniform", "steps": 200}]
    ways += [{"policy": name, "steps": 50} for name in available(problem)] if problem != "rosenbrock" else []
    for way in ways:
        r = nsa.solve(task, seed=5, bound=not way, **way)
        print(problem, way, r.objective, r.accepted, r.solution.tolist(), r.bound and r.bound.value)
print(sorted({"numba", "torch", "scipy"} & set(sys.modules)))
"""


def output_of(mode: str, *problems: str, root: Path = PACKAGE.parent) -> list[str]:
    environment = {**os.environ, "NSA_KERNELS": mode, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", WAYS, *problems], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@built
@pytest.mark.parametrize(
    "problem",
    ["knapsack", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tsp", "bin", "rosenbrock"))],
)
def test_machine_code_is_what_numba_makes(problem):
    """To the last bit, by every method; and nothing heavy is imported for it."""
    *answers, imported = output_of("shipped", problem)
    *expected, _ = output_of("jit", problem)
    assert answers == expected
    assert imported == "[]"


@built
def test_code_of_edited_sources_is_not_run(tmp_path):
    """A kernel whose source, or one that it imports, was edited is compiled; the others are as they were."""
    shutil.copytree(PACKAGE, tmp_path / "nsa_cli", ignore=shutil.ignore_patterns("__pycache__"))
    assert output_of("shipped", "bin", root=tmp_path)[-1] == "[]"
    inside = {tmp_path / path.relative_to(PACKAGE.parent) for room in rooms() for path in files_of(room)}
    others = set((tmp_path / "nsa_cli").rglob("*.py")) - inside
    for path in (*others, tmp_path / "nsa_cli" / "problems" / "tsp" / "kernels" / "links.py"):
        with path.open("a") as file:
            file.write("# edited\n")
    assert output_of("shipped", "bin", root=tmp_path)[-1] == "[]"
    with (tmp_path / "nsa_cli" / "problems" / "bin" / "kernels" / "move.py").open("a") as file:
        file.write("# edited\n")
    with pytest.raises(AssertionError, match="NSA_KERNELS=shipped: there is no machine code nsa_cli"):
        output_of("shipped", "bin", root=tmp_path)


def test_a_variable_chooses(monkeypatch):
    """By its name in the error of what is refused."""
    monkeypatch.setenv("NSA_KERNELS", "shipped")
    library._choice.cache_clear()
    try:

        @kernel
        def nothing(x: int) -> int:
            return x

        with pytest.raises(nsa.UsageError, match="NSA_KERNELS=shipped"):
            nothing(1)
    finally:
        monkeypatch.undo()
        library._choice.cache_clear()


@pytest.mark.parametrize("number", [1.5, 3, True, np.float32(0.1)])
def test_a_kernel_gives_back_what_it_was_given(number):
    """Of each type of result."""

    @kernel
    def same(x):
        return x

    assert same(number) == number
