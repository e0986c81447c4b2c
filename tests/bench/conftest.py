"""What the tests of benchmarks share."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsa_cli.bench.benchmark import prepare
from nsa_cli.bench.request import Request
from nsa_cli.bench.solvers import Monitor


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    """Where the examples are."""
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.fixture
def measured():
    """Prepare and run a small benchmark by steps: the benchmark, and its runs."""

    def run(problem, size, *, monitor=None, **wanted):
        request = Request(
            what=(problem,), sizes=(size,), **{"policies": (), "steps": (1,), "count": 3, **wanted}
        )
        ready = prepare(request)
        return ready, [run for _, some in ready.runs(monitor or Monitor()) for run in some]

    return run


@pytest.fixture
def command(capsys, monkeypatch):
    """Run `nsa benchmark` in this process: exit code, stdout, stderr."""
    from nsa_cli.cli.main import exit_code

    def run(*arguments):
        code = exit_code(["benchmark", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run
