"""Rooms of kernels: nothing but rooms goes into machine code, and what was edited is not run."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from scipy.special import ndtri

from nsa_cli.core.draws import stream_keys, uniforms
from nsa_cli.kernels.draws import at_step, uniform
from nsa_cli.kernels.jit import uncached
from nsa_cli.kernels.normal import quantile
from nsa_cli.kernels.toolchain import sources
from nsa_cli.kernels.toolchain.sources import PACKAGE, files_of, room_of, rooms

#: Rooms of this package's problems, and the shared one; own problems' functions are data to theirs.
SEALED = rooms()

#: What a file of a room may import, beside rooms.
ALLOWED = {"__future__", "collections", "dataclasses", "functools", "inspect", "math", "numpy", "typing"}


@pytest.mark.parametrize("room", SEALED)
def test_a_room_imports_rooms_only(room):
    """NumPy, a little of the library, the shared room and its own; what a kernel calls is among that."""
    for path in files_of(room):
        if "toolchain" in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:  # what a function imports, no kernel can use
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                inside = name.startswith("nsa_cli.") and room_of(name) in (room, sources.SHARED)
                assert (inside and "toolchain" not in name) or name.partition(".")[0] in ALLOWED, (path, name)


def test_whatever_is_compiled_is_in_a_room():
    """What is not hashed could run stale."""
    marks = ("@kernel", "@inlined", "@variant", "@uncached", "@generic", "njit(", "@operation")
    found = {path for path in PACKAGE.rglob("*.py") if any(mark in path.read_text() for mark in marks)}
    assert found
    assert found <= {path for room in rooms() for path in files_of(room)}


def test_numba_is_imported_in_one_place():
    """By what makes machine code; and there for nothing else."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and any(word in ast.unparse(node).split()[1] for word in ("numba", "llvmlite"))
    }
    assert found == {"kernels/toolchain/compiler.py"}


def test_draws_are_those_of_the_reference():
    """One at a time or all at once."""
    keys, at, draw_one = stream_keys(7, np.arange(5)), uncached(at_step), uncached(uniform)
    for step in (-1, 0, 1, 10**9):
        expected = uniforms(keys, step, 3)
        found = [[draw_one(np.uint64(at(key, step)), draw) for key in keys] for draw in range(3)]
        assert (np.array(found) == expected).all()


def test_normal_quantiles_are_scipys():
    """Over all three ranges of the approximation."""
    u = np.concatenate([np.geomspace(1e-300, 0.5, 400), 1 - np.geomspace(1e-16, 0.5, 400)])
    found = np.array([quantile(x) for x in u])
    assert np.allclose(found, ndtri(u), rtol=1e-12, atol=1e-14)
