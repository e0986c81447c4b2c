"""Running the command as a user does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers import command, wait_for


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
def nsa(capsys, monkeypatch):
    """Run the command line in this process, with data on its standard input if need be."""
    from nsa_cli.cli.main import exit_code

    def run(*arguments, data=None):
        if data is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
        code = exit_code([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def nsa_process():
    """Run the command line in a process of its own."""

    def run(*arguments, env=None):
        done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, env=env)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def used(pid):
    """Seconds of processor time that a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def interrupted():
    """Run a command once for each signal, side by side; exit codes, and what was written.

    Signals come after some seconds of processor time, or soon after a line on stderr that has a word. No
    process outlives the test.
    """
    started = []

    def run(*arguments, numbers, after, stdin=None, env=None):
        pipes = {"stdin": stdin, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes = [subprocess.Popen(command(*arguments), env=env, text=True, **pipes) for _ in numbers]
        started.extend(processes)
        for process, number in zip(processes, numbers, strict=True):
            if isinstance(after, str):
                next(line for line in process.stderr if after in line)
                time.sleep(0.3)
            else:
                wait_for(lambda pid=process.pid: used(pid) >= after)
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
