"""What a training leaves beside its policy: diagnostics, the code it came from."""

import csv
import json
import subprocess
from pathlib import Path

import pytest

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code
from nsa_cli.core import machine
from nsa_cli.train.config import PpoConfig
from nsa_cli.train.loop import Training
from nsa_cli.train.ppo import train_ppo

TINY = ["--epochs", "2", "--size", "6", "--config"]
TINY_FILE = "steps: 8\nproblems: 8\nvalidate_every: 1\nvalidation_problems: 4\nvalidation_size: 6\n"


@pytest.fixture
def tiny(tmp_path):
    """Options of a training of a second."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY_FILE)
    return [*TINY, str(path), "-o", str(tmp_path / "p.json")]


def read_log(directory):
    """The rows of a training's CSV file."""
    return list(csv.DictReader((directory / "p.csv").read_text().splitlines()))


def test_the_log_of_ppo_has_the_usual_diagnostics(tmp_path):
    """One column each, a number in every row; the first update is hardly off the old policy."""
    config = PpoConfig(size=6, steps=8, problems=8, epochs=2, validation_problems=4, validation_size=6)
    train_ppo(Training(nsa.find_problem("knapsack"), config, 0, tmp_path / "p.json"))
    rows = read_log(tmp_path)
    for key in ("kl", "clip_fraction", "explained_variance", "entropy", "gradient_norm", "value_loss"):
        assert all(float(row[key]) == float(row[key]) for row in rows), key
    assert 0 <= float(rows[0]["kl"]) < 0.1
    assert float(rows[0]["entropy"]) > 0.5


def test_a_policy_names_the_code_that_made_it(tiny, tmp_path):
    """In the file: the version, and the commit where the source is a checkout."""
    assert exit_code(["train", "knapsack", *tiny, "-q"]) == 0
    data = json.loads((tmp_path / "p.json").read_text())
    assert data["version"] == nsa.__version__
    assert data["commit"] == machine.source_version()


def test_code_that_is_no_checkout_is_named_by_its_version(tmp_path, monkeypatch):
    """An installed package, even one inside somebody else's repository."""
    machine.source_version.cache_clear()
    inside = tmp_path / "lib" / "site-packages" / "nsa_cli" / "core" / "machine.py"
    (tmp_path / "lib" / ".git").mkdir(parents=True)
    monkeypatch.setattr(machine, "__file__", str(inside))
    assert machine.source_version() == nsa.__version__
    machine.source_version.cache_clear()


def test_a_checkout_is_named_by_git():
    """The hash of its last commit, `-dirty` if files differ from it."""
    root = Path(machine.__file__).resolve().parents[3]
    asked = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip("not a checkout")
    name = machine.source_version().removesuffix("-dirty")
    assert asked.stdout.startswith(name.rpartition("-g")[2])
