"""Signals and standard output, apart from any solve."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from nsa_cli.cli.console import Signals

#: Longer than a pipe holds.
LONG = 400_000

WRITER = f"""
from nsa_cli.cli.console import Signals, emit
with Signals() as signals:
    emit("x" * {LONG}, None)
raise SystemExit(signals.exit_code)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_interrupt_while_the_result_is_written_cuts_nothing_off(unbuffered):
    """The reader is slow, the pipe is full, the signal comes: everything arrives all the same."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    process = subprocess.Popen([sys.executable, "-c", WRITER], stdout=subprocess.PIPE, env=environment)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    out, _ = process.communicate(timeout=30)
    assert len(out) == LONG
    assert process.returncode == 130


def test_a_doubled_signal_is_one_and_a_later_one_leaves(monkeypatch):
    """As `timeout` sends it to a process and to its group; and as an impatient user does."""
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert (signals.exit_code, left) == (130, [])
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)
        assert (signals.exit_code, left) == (130, [143])
