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

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.estimators import normalised
from nsa_cli.train.group import Group
from nsa_cli.train.loop import Training
from nsa_cli.train.ppo import own_rows, train_ppo

from helpers import child_of_rank, ended, environment

FIELDS = {
    "es": "size: 8\nsteps: 6\nproblems: 7\nvalidation_problems: 2\nvalidate_every: 2\npopulation: 2\n",
    "ppo": "size: 8\nsteps: 6\nproblems: 7\nvalidation_problems: 5\nvalidate_every: 2\nminibatch: 10\n"
    "passes: 2\nlearning_rate: 1e-3\nentropy: 0.01\n",
}

#: Of a training that takes some seconds, with an update every few hundredths.
LONG = "size: 30\nsteps: 60\nproblems: 64\nvalidation_problems: 16\nvalidate_every: 3\nepochs: 30\n"


def command(method, out, *words):
    return ("train", "knapsack", "--method", method, "--config", f"{method}.yaml", "-o", out, *words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder with a configuration of each method, and go there."""
    monkeypatch.chdir(tmp_path)
    for method, fields in FIELDS.items():
        Path(f"{method}.yaml").write_text(fields)
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
    alone(*command("es", "one.json", "--epochs", "6"))
    assert together(2, *command("es", "p.json", "-q", "--epochs", "2")) == ([0, 0], "")
    assert together(3, *command("es", "p.json", "-q", "--epochs", "4", "--resume")) == ([0, 0, 0], "")
    assert len(log("p.csv")) == 5
    alone(*command("es", "p.json", "--epochs", "6", "--resume"))
    assert weights("p.json") == weights("one.json")
    assert log("p.csv") == log("one.csv")


def test_ppo_is_the_same_up_to_the_order_of_sums(folder, together):
    """The log, and how good the policy is; with one process's share larger than the other's.

    Not each weight: where a weight makes no difference its gradient is rounding, which Adam scales up.
    """
    alone(*command("ppo", "one.json", "--epochs", "4"))
    codes, said = together(2, *command("ppo", "p.json", "--epochs", "4"))
    assert codes == [0, 0]
    assert said.count("nsa: done") == said.count("nsa: beside uniform proposals at equal time") == 1
    assert said.count("\n") == 2
    head, *rows = log("p.csv")
    expected = log("one.csv")
    assert head == expected[0]
    assert [row[:2] for row in rows] == [row[:2] for row in expected[1:]]
    for got, row in zip(rows, expected[1:], strict=True):
        numbers = [[float(cell or 0) for cell in cells] for cells in (got, row)]
        np.testing.assert_allclose(*numbers, rtol=2e-3, atol=1e-4)


def test_more_processes_than_instances_are_refused(tmp_path):
    """By name: each has to have transitions."""
    group = Group()
    group.size = 5
    run = Training(nsa.find_problem("knapsack"), PpoConfig(problems=4), 0, tmp_path / "p.json", group=group)
    with pytest.raises(nsa.UsageError, match="5 processes for 4 instances an epoch: start fewer, or raise"):
        train_ppo(run)


def test_one_process_says_what_is_wrong(folder, together):
    """A mistake that all find alike is a line; so is one that only the process that writes can find."""
    codes, said = together(2, *command("es", "p.json", "--features", "nonsense"))
    assert codes == [2, 2]
    assert said.startswith("nsa: error: --features: ")
    assert said.count("\n") == 1
    Path("old.json").write_text("")
    Path("old.csv").write_text("")
    codes, said = together(2, *command("es", "old.json"))
    assert codes[0] == 2
    assert codes[1] != 0
    assert "there is a training already" in said
    assert said.count("\n") == 1


def test_a_signal_to_one_process_ends_all_with_their_state_saved(folder, start):
    """All leave with its exit code, and a single process goes on."""
    Path("es.yaml").write_text(LONG)
    alone(*command("es", "one.json"))
    processes = start(2, *command("es", "p.json"))
    await_epoch("p.csv", 4, processes[0])
    processes[1].send_signal(signal.SIGTERM)
    codes, said = ended(processes)
    assert codes == [143, 143]
    assert said.count("stopped; --resume goes on") == said.count("\n") == 1
    alone(*command("es", "p.json", "--resume"))
    assert weights("p.json") == weights("one.json")
    assert log("p.csv") == log("one.csv")


@pytest.mark.slow
def test_torchrun_starts_a_training_again_that_lost_a_process(folder):
    """It goes on by itself, says so in a line, and comes to the policy of one that was never killed."""
    Path("es.yaml").write_text(LONG)
    alone(*command("es", "one.json"))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    words = [*launcher, "--max-restarts", "1", "-m", "nsa_cli", *command("es", "p.json")]
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
    group.size = size
    shares = [group.part(count, rank) for rank in range(size)]
    assert [k for share in shares for k in range(count)[share]] == list(range(count))
    sizes = [share.stop - share.start for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_rows_of_a_share_are_found_among_all():
    """Row k B + b of all is row k B' + b - first of the own ones."""
    own, rows = own_rows(torch.tensor([0, 2, 4, 5, 9, 13, 18]), slice(2, 5), 7)
    assert own.tolist() == [False, True, True, False, True, False, True]
    assert rows.tolist() == [0, 2, 3, 8]


@pytest.mark.parametrize("size", [1, 2, 50])
def test_advantages_are_normalised_over_the_whole_minibatch(size):
    """Mean 0 and standard deviation 1, as far as there are two."""
    found = normalised(torch.linspace(3, 9, size))
    assert float(found.mean()) == pytest.approx(0, abs=1e-6)
    if size > 1:
        assert float(found.std()) == pytest.approx(1, rel=1e-6)
