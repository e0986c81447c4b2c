"""What a training leaves beside its policy: diagnostics, the code it came from."""

import csv
import json

import pytest

import nsa_cli as nsa
from nsa_cli.cli.main import exit_code
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
    """By its version."""
    assert exit_code(["train", "knapsack", *tiny, "-q"]) == 0
    assert json.loads((tmp_path / "p.json").read_text())["version"] == nsa.__version__
