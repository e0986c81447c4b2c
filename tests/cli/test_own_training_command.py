"""`nsa train` on problems of one's own, and the names of what it writes."""

from __future__ import annotations

import json
import re
import shlex

from user_problems import MAXCUT


def test_the_command_says_how_to_see_whether_it_pays(nsa, tmp_path, monkeypatch):
    """By a command that measures it, and works."""
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "c.yaml"
    config.write_text("steps: 10\nproblems: 4\nvalidation_problems: 4\nvalidate_every: 2\npopulation: 2\n")
    done = nsa("train", MAXCUT, "-n", 6, "--epochs", 2, "--config", config)
    assert done.code == 0, done.err
    (words,) = re.findall(r"at equal time: nsa (.*)", done.err)
    table = nsa(*shlex.split(words), "--count", 1)
    assert (table.code, "es-best" in table.out) == (0, True), table.err
    assert json.loads((tmp_path / "maxcut-es-best.json").read_text())["problem"] == "maxcut"


def test_a_problem_without_features_is_not_trained(nsa, tmp_path):
    """Nor one whose change of cost is wrong."""
    path = tmp_path / "mine.py"
    text = (
        "from nsa_cli.user import *\nclass Mine(UserProblem):\n    name, keys = 'mine', ('w',)\n"
        "    solution, moves = subset('w'), (flip,)\n    def cost(data, x): return data.w[0] * x[0]\n"
    )
    path.write_text(text)
    done = nsa("train", path)
    assert (done.code, "has no features" in done.err) == (2, True)


def test_shipped_names_are_not_taken(nsa, tmp_path, monkeypatch):
    """By default another name; a given one is taken with a warning."""
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "c.yaml"
    config.write_text(
        "size: 5\nsteps: 4\nproblems: 2\nvalidation_problems: 2\nvalidation_size: 5\nmixed_sizes: []\n"
    )
    words = ("--epochs", 1, "--config", config)
    assert nsa("train", "knapsack", *words).code == 0
    assert (tmp_path / "knapsack-es-best-own.json").exists()
    done = nsa("train", "knapsack", *words, "-o", "knapsack-es-best.json")
    assert "knapsack-es-best is a shipped policy, too" in done.err
