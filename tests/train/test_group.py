"""A training of several processes is the training of one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.estimators import normalised
from nsa_cli.train.group import Group
from nsa_cli.train.loop import Training
from nsa_cli.train.ppo import train_ppo

from helpers import child_of_rank, ended, environment

FIELDS = "size: 8\nsteps: 6\nproblems: 7\nvalidation_problems: 2\nvalidate_every: 2\npopulation: 2\n"

#: Of a training that takes some seconds, with an update every few hundredths.
LONG = "size: 30\nsteps: 60\nproblems: 64\nvalidation_problems: 16\nvalidate_every: 3\nepochs: 30\n"


def command(out, *words):
    return ("train", "knapsack", "--config", "es.yaml", "-o", out, *words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder with a configuration, and go there."""
    monkeypatch.chdir(tmp_path)
    Path("es.yaml").write_text(FIELDS)
    return tmp_path


@pytest.fixture
def together(start):
    """Train in several processes: exit codes and what they say, all as one text."""

    def run(count, *words):
        return ended(start(count, *words))

    return run


def alone(*words):
    from nsa_cli.cli.main import exit_code

    assert exit_code([*words, "-q"]) == 0


def weights(path):
    data = json.loads(Path(path).read_text())
    assert data["validation"] is not None
    return data["weights"]


def log(path):
    """Rows of a log, without seconds."""
    rows = [line.split(",") for line in Path(path).read_text().splitlines()]
    return [[cell for k, cell in enumerate(row) if k != 1] for row in rows]


def await_epoch(path, epoch, process):
    """Wait until a training has logged an epoch."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int(Path(path).read_text().splitlines()[-1].split(",")[0]) >= epoch:
                return
        time.sleep(0.01)
    pytest.fail(f"no epoch {epoch}")


def test_es_is_the_same_bit_for_bit_whatever_the_number_of_processes(folder, together):
    """Begun by two, gone on with by three, of which the first has no member, ended by one."""
    alone(*command("one.json", "--epochs", "6"))
    assert together(2, *command("p.json", "-q", "--epochs", "2")) == ([0, 0], "")
    assert together(3, *command("p.json", "-q", "--epochs", "4", "--resume")) == ([0, 0, 0], "")
    assert len(log("p.csv")) == 5
    alone(*command("p.json", "--epochs", "6", "--resume"))
    assert weights("p.json") == weights("one.json")
    assert log("p.csv") == log("one.csv")


def test_ppo_is_for_one_process(tmp_path):
    """It says what is for several."""
    group = Group()
    group.size = 2
    run = Training(nsa.find_problem("knapsack"), PpoConfig(), 0, tmp_path / "p.json", group=group)
    with pytest.raises(nsa.UsageError, match="PPO trains in one process; use method='es'"):
        train_ppo(run)


def test_one_process_says_what_is_wrong(folder, together):
    """A mistake that all find alike is a line; so is one that only the process that writes can find."""
    codes, said = together(2, *command("p.json", "--features", "nonsense"))
    assert codes == [2, 2]
    assert said.startswith("nsa: error: --features: ")
    assert said.count("\n") == 1
    Path("old.json").write_text("")
    Path("old.csv").write_text("")
    codes, said = together(2, *command("old.json"))
    assert codes[0] == 2
    assert codes[1] != 0
    assert "there is a training already" in said
    assert said.count("\n") == 1


def test_a_signal_to_one_process_ends_all_with_their_state_saved(folder, start):
    """All leave with its exit code, and a single process goes on."""
    Path("es.yaml").write_text(LONG)
    alone(*command("one.json"))
    processes = start(2, *command("p.json"))
    await_epoch("p.csv", 4, processes[0])
    processes[1].send_signal(signal.SIGTERM)
    codes, said = ended(processes)
    assert codes == [143, 143]
    assert said.count("stopped; --resume goes on") == said.count("\n") == 1
    alone(*command("p.json", "--resume"))
    assert weights("p.json") == weights("one.json")
    assert log("p.csv") == log("one.csv")


@pytest.mark.slow
def test_torchrun_starts_a_training_again_that_lost_a_process(folder):
    """It goes on by itself, says so in a line, and comes to the policy of one that was never killed."""
    Path("es.yaml").write_text(LONG)
    alone(*command("one.json"))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [*launcher, "--max-restarts", "1", "-m", "nsa_cli", *command("p.json")]
    process = subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        await_epoch("p.csv", 4, process)
        os.kill(child_of_rank(process.pid, 1), signal.SIGKILL)
        (code,), said = ended([process])
    finally:
        process.kill()
    assert code == 0
    assert said.count("nsa: ") == 3  # the loss, the end, what to do next
    assert "another process of the training has ended" in said
    assert weights("p.json") == weights("one.json")
    assert log("p.csv") == log("one.csv")


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_shares_cover_everything_once_and_evenly(size, count):
    """With fewer things than processes some have none."""
    group = Group()
    group.size, shares = size, []
    for group.rank in range(size):
        shares.append(group.part(count))
    assert [k for share in shares for k in range(count)[share]] == list(range(count))
    sizes = [share.stop - share.start for share in shares]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("size", [1, 2, 50])
def test_advantages_are_normalised_over_the_whole_minibatch(size):
    """Mean 0 and standard deviation 1, as far as there are two."""
    found = normalised(torch.linspace(3, 9, size))
    assert float(found.mean()) == pytest.approx(0, abs=1e-6)
    if size > 1:
        assert float(found.std()) == pytest.approx(1, rel=1e-6)
