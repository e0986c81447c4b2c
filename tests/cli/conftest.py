"""Running the command as a user does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one strict JSON document on stdout."""
        return json.loads(self.out, parse_constant=pytest.fail)


@pytest.fixture
def nsa(capsys):
    """Run the command line in this process."""
    from nsa_cli.cli.main import exit_code

    def run(*arguments):
        code = exit_code([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def nsa_process():
    """Run the command line in a process of its own."""

    def run(*arguments, data=None, **options):
        command = [sys.executable, "-m", "nsa_cli", *map(str, arguments)]
        options = {"timeout": 60, **options}
        done = subprocess.run(command, input=data, capture_output=True, text=True, **options)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def interrupted():
    """Run a command once for each signal, side by side; exit codes, and what was written.

    Signals come after some seconds, or when a line on stderr has a word. No process outlives the test.
    """
    started = []

    def run(*arguments, numbers, after, stdin=None, env=None):
        command = [sys.executable, "-m", "nsa_cli", *map(str, arguments)]
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes = [subprocess.Popen(command, env=env, text=True, **pipes) for _ in numbers]
        started.extend(processes)
        if isinstance(after, str):
            for process in processes:
                next(line for line in process.stderr if after in line)
        else:
            time.sleep(after)
        for process, number in zip(processes, numbers, strict=True):
            process.send_signal(number)
        said = [process.communicate(timeout=60) for process in processes]
        return [Done(process.returncode, *both) for process, both in zip(processes, said, strict=True)]

    yield run
    for process in started:
        with process:
            process.kill()


SQUARE = """NAME : square
TYPE : TSP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 30 40
3 0 40
4 30 0
EOF
"""


@pytest.fixture
def square(tmp_path):
    """A tour of length 140 around a rectangle."""
    path = tmp_path / "square.tsp"
    path.write_text(SQUARE)
    return path
