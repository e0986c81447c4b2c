"""Machine code that travels with the package: found, equal to what Numba makes, and never stale."""

from __future__ import annotations

import json
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
from nsa_cli.kernels.toolchain import shipped
from nsa_cli.kernels.toolchain.sources import PACKAGE

built = pytest.mark.skipif(
    shipped.target_here() is None, reason="no machine code was built for this machine: build_kernels.py"
)


class Pair(NamedTuple):
    array: np.ndarray
    number: float


def flat(*values):
    key, numbers = [], []
    for value in values:
        shipped.flatten(value, key, numbers)
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


@built
def test_every_object_is_of_these_sources():
    """In a checkout that was installed; after an edit, the objects are made by build_kernels.py."""
    index = json.loads((shipped.OBJECTS / "index.json").read_text())
    assert len(index) > 50
    for name, entry in index.items():
        assert all((PACKAGE / source).is_file() for source in entry["sources"]), name
        assert (shipped.OBJECTS / shipped.target_here().name / f"{name}.o").is_file()


@built
def test_a_cut_object_is_none(tmp_path):
    """Nor is an empty, a changed or a missing one: it would be run."""
    target = shipped.target_here()
    name, entry = next(iter(json.loads((shipped.OBJECTS / "index.json").read_text()).items()))
    file = tmp_path / target.name / f"{name}.o"
    file.parent.mkdir()
    whole = (shipped.OBJECTS / target.name / f"{name}.o").read_bytes()
    file.write_bytes(whole)
    assert shipped.object_file(tmp_path, target, name, entry) == whole
    for content in (whole[:500], b"", whole[:-1] + bytes([whole[-1] ^ 1])):
        file.write_bytes(content)
        assert shipped.object_file(tmp_path, target, name, entry) is None
    file.unlink()
    assert shipped.object_file(tmp_path, target, name, entry) is None


#: Every way to solve that has kernels of its own, with the result of each.
WAYS = """
import sys
import numpy as np
import nsa_cli as nsa
from nsa_cli.policy.checkpoint import available
for problem in sys.argv[1:]:
    (task,) = nsa.generate(problem, 4 if problem == "rosenbrock" else 40, 1, seed=3)
    ways = [{}, {"policy": "uniform", "steps": 200}]
    ways += [{"policy": "uniform", "steps": 50, "acceptance": "threshold"}]
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
    assert output_of("shipped", "knapsack", root=tmp_path)[-1] == "[]"
    with (tmp_path / "nsa_cli" / "problems" / "tsp" / "links.py").open("a") as file:
        file.write("# edited\n")
    assert output_of("shipped", "knapsack", root=tmp_path)[-1] == "[]"
    with (tmp_path / "nsa_cli" / "problems" / "knapsack" / "flip" / "kernel.py").open("a") as file:
        file.write("# edited\n")
    with pytest.raises(AssertionError, match="NSA_KERNELS=shipped: there is no machine code nsa_cli"):
        output_of("shipped", "knapsack", root=tmp_path)


@built
def test_a_garbled_index_is_no_index(monkeypatch, tmp_path):
    """As if nothing had been built."""
    (tmp_path / "index.json").write_text("{")
    monkeypatch.setattr(shipped, "OBJECTS", tmp_path)
    shipped._index.cache_clear()
    try:
        assert shipped._index() == {}
    finally:
        monkeypatch.undo()
        shipped._index.cache_clear()


def test_a_variable_chooses(monkeypatch):
    """By its name in the error of what is refused."""
    monkeypatch.setenv("NSA_KERNELS", "shipped")
    shipped._choice.cache_clear()
    try:

        @kernel
        def nothing(x: int) -> int:
            return x

        with pytest.raises(nsa.UsageError, match="NSA_KERNELS=shipped"):
            nothing(1)
    finally:
        monkeypatch.undo()
        shipped._choice.cache_clear()
