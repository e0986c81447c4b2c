"""What the tests of benchmarks share."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from nsa_cli.bench.benchmark import prepare
from nsa_cli.bench.request import Request
from nsa_cli.cli.main import exit_code


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch):
    """Where the examples are."""
    monkeypatch.chdir(Path(__file__).parents[2])


@pytest.fixture
def measured():
    """Run a small benchmark by steps; give it, with what it has found."""

    def run(problem, size, **wanted):
        wanted = {"policies": (), "steps": (1,), "count": 3, **wanted}
        ready = prepare(Request(what=(problem,), sizes=(size,), **wanted))
        assert all(step is None for step in ready.run())
        return ready

    return run


@pytest.fixture
def command(capsys, monkeypatch):
    """Run `nsa benchmark` in this process: exit code, stdout, stderr."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["nsa", "benchmark", *map(str, arguments)])
        code = exit_code(sys.argv[1:])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def rows_of():
    """Read the rows of runs.csv."""

    def read(folder):
        with (folder / "runs.csv").open() as file:
            return list(csv.DictReader(file))

    return read
