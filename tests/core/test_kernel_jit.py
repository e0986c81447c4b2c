"""Compiled kernels: kept on disk, and never stale."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from nsa_cli.core.draws import stream_keys, uniforms
from nsa_cli.kernels.draws import at_step, uniform
from nsa_cli.kernels.jit import uncached
from nsa_cli.kernels.normal import quantile
from nsa_cli.kernels.toolchain.disk_cache import cache_folder
from nsa_cli.kernels.toolchain.sources import kernel_sources

PACKAGE = Path(__file__).parents[2] / "src" / "nsa_cli"

#: Prints a compiled number and how often something was compiled.
PROBE = """
from nsa_cli.kernels.toolchain.compiler import dispatcher
from nsa_cli.kernels.jit import variants
from nsa_cli.kernels.normal import quantile
print(round(quantile(0.6), 3), sum(dispatcher(quantile, variants).stats.cache_misses.values()))
"""


def run_probe(root: Path, cache: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": str(root), "XDG_CACHE_HOME": str(cache)}
    answer = subprocess.run(
        [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=True
    )
    return answer.stdout.split()


def test_a_compilation_is_kept_until_a_source_changes(tmp_path):
    """An edit of another kernel file, with its time stamp put back, is compiled anew."""
    shutil.copytree(PACKAGE, tmp_path / "nsa_cli", ignore=shutil.ignore_patterns("__pycache__"))
    assert run_probe(tmp_path, tmp_path / "cache") == ["0.253", "1"]
    assert run_probe(tmp_path, tmp_path / "cache") == ["0.253", "0"]
    file = tmp_path / "nsa_cli" / "core" / "kernel" / "normal.py"
    stamp, text = file.stat(), file.read_text()
    assert "centred = u - 0.5" in text
    file.write_text(text.replace("centred = u - 0.5", "centred = u - 0.4"))
    os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    number, compiled = run_probe(tmp_path, tmp_path / "cache")
    assert (number, compiled) != ("0.253", "0")
    assert number != "0.253"


def test_every_module_that_compiles_is_among_the_sources():
    """What is not hashed could run stale."""
    importing = {
        p for p in PACKAGE.rglob("*.py") if "import numba" in p.read_text() or "numba." in p.read_text()
    }
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    kernels = {path for path, text in texts.items() if "@kernel" in text or "@variant" in text}
    assert kernels <= set(kernel_sources())
    assert {p for p in importing if "njit" in p.read_text()} <= set(kernel_sources())


def test_constants_that_kernels_import_are_among_the_sources():
    """They are compiled into the kernels; what no kernel can use is edited without compiling anew."""
    names = {path.relative_to(PACKAGE).as_posix() for path in kernel_sources()}
    assert {"core/draws.py", "anneal/acceptance.py", "problems/tsp/two_opt/candidate_lists.py"} <= names
    assert not names & {"api.py", "cli/solve.py", "bench/suite.py"}


def test_the_folder_can_be_written_to():
    """A home that cannot be written to is no reason to fail."""
    assert os.access(cache_folder(), os.W_OK)


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
