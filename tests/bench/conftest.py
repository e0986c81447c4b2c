"""What the tests of benchmarks share."""

from __future__ import annotations

from pathlib import Path

import pytest

import nsa_cli as nsa
from nsa_cli.bench.choose import Wanted
from nsa_cli.bench.plan import Plan
from nsa_cli.bench.solvers import Watch


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    """Where the examples are."""
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.fixture
def measured():
    """Prepare and run a small benchmark: the benchmark, and its runs."""

    def run(problem, size, *, count=3, seeds=(1,), references=None, watch=None, **wanted):
        plan = Plan(
            problem=nsa.find_problem(problem),
            sizes=(size,),
            seeds=seeds,
            count=count,
            wanted=Wanted(**{"policies": (), "steps": (1,), **wanted}),
            references=references,
        )
        ready = plan.prepare()
        return ready, list(ready.runs(watch or Watch()))

    return run


@pytest.fixture
def command(capsys, monkeypatch):
    """Run `nsa benchmark` in this process: exit code, stdout, stderr; cold kernels say nothing."""
    from nsa_cli.cli.main import exit_code

    monkeypatch.setattr("nsa_cli.core.kernel._waiting", [])

    def run(*arguments):
        code = exit_code(["benchmark", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run
