"""``--config FILE.yaml``, for every command alike; completion."""

from __future__ import annotations

import json
import re

import pytest
import yaml


@pytest.fixture
def write(tmp_path):
    """Write a configuration file."""

    def make(text):
        path = tmp_path / "c.yaml"
        path.write_text(text)
        return path

    return make


def test_a_file_gives_defaults_and_the_command_line_wins(nsa, square, write):
    """Numbers, texts, names with - or with _."""
    path = write("steps: 10N\nno-bound: true\nseed: 7\nchains: 3\nt-start: 2.5\nt_end: 1e-2\ninit: random\n")
    result = nsa("solve", square, "--config", path).json
    assert (result["seed"], result["steps"], result["chains"], result["start"]) == (7, 40, 3, "random")
    assert (result["schedule"]["t_start"], result["schedule"]["t_end"]) == (2.5, 0.01)
    for arguments in (("--config", path, "--seed", 8), ("--seed", 8, "--config", path)):
        result = nsa("solve", square, *arguments).json
        assert (result["seed"], result["steps"]) == (8, 40)


def test_flags_lists_and_nothing(nsa, tmp_path, write):
    """Truth values are flags, mappings and lists are options given several times, null is the default."""
    items = tmp_path / "items.csv"
    items.write_text("weight,value\n4,8\n5,10\n8,15\n3,4\n")
    for pairs in ("{name: q, best_known: 19}", '["name=q", best_known=19]'):
        path = write(f"quiet: true\ngreedy: false\nseed:\nsteps: 500\ncapacity: 11\nset: {pairs}\n")
        result = nsa("solve", items, "--config", path).json
        assert (result["name"], result["best_known"], result["gap"]) == ("q", 19, 0.0)
    path = write("set: name=r\ncapacity: 11\nsteps: 50\n")
    assert nsa("solve", items, "--config", path).json["name"] == "r"


def test_every_command_has_it(nsa, write):
    """One mechanism: also options that must be given may stand in the file."""
    generated = nsa("generate", "bin", "--config", write("size: 4\ncount: 2\nseed: 3\n"))
    assert (generated.code, len(generated.out.splitlines())) == (0, 2)
    path = write("sizes: [3, 4]\nsteps: 1\ncount: 2\npolicies: none\n")
    measured = nsa("benchmark", "rosenbrock", "--config", path, "-v")
    assert (measured.code, '"sizes": "3,4"' in measured.err) == (0, True)
    for command in ("solve", "generate", "train", "benchmark"):
        assert "--config" in nsa(command, "--help").out


TRAINING = """method: es
size: 6
epochs: 2
seed: 5
problems: 4
population: 4
steps: 5
learning_rate: 1e-3
validation_problems: 2
validation_size: 6
"""


def test_a_training_has_options_and_fields_in_one_file(nsa, write, tmp_path):
    """Fields over the preset, options beside them, the command line over both."""
    out = tmp_path / "p.json"
    done = nsa("train", "knapsack", "--config", write(f"{TRAINING}out: {out}\n"), "--epochs", 1, "-v")
    assert done.code == 0, done.err
    assert '"epochs": "1"' in done.err
    training = json.loads(out.read_text())["training"]
    assert (training["population"], training["learning_rate"], training["size"]) == (4, 1e-3, 6)
    assert training["epochs"] == 1
    bad = nsa("train", "knapsack", "--config", write("populaton: 4\n"), "--out", tmp_path / "q.json")
    assert (bad.code, bad.err.count("\n")) == (2, 1)
    assert re.search("populaton.*population.*options.*preset", bad.err)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeed: 1\n", "c.yaml: there is no option 'seeed'; the nearest is seed"),
        ("config: other.yaml\n", "no option 'config'"),
        ("files: x.tsp\n", "no option 'files'"),
        ("1: 2\n", "no option 1"),
        ("seed: x\n", "c.yaml: seed: "),
        ("seed: [1, 2]\n", "seed: "),
        ("seed: true\n", "seed: expected a text or a number, got True"),
        ("greedy: 1\n", "greedy: expected true or false, got 1"),
        ("steps: {a: 1}\n", "steps: expected a text or a number"),
        ("set: [[1]]\n", "set: expected a text or a number"),
        ("- seed\n", "expected names with values, got "),
        ("a: b: c\n", "c.yaml:1: not valid YAML: "),
        ("steps: 1\nx: !!python/object/apply:os.system [ls]\n", ":2: not valid YAML: "),
        ("device: tpu\n", "c.yaml: device: expected "),  # what only the command can check
    ],
)
def test_what_is_no_configuration_is_one_line(nsa, square, write, text, message):
    """With the file, and what there is instead."""
    done = nsa("solve", square, "--config", write(text))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err, done.err


def test_a_value_of_the_command_line_is_not_blamed_on_the_file(nsa, square, write):
    """Which had another one."""
    done = nsa("solve", square, "--config", write("time-limit: 5\nno-bound: true\n"), "--time-limit", "soon")
    assert done.code == 2
    assert done.err.startswith("nsa: error: --time-limit: expected seconds"), done.err


def test_a_missing_file_is_one_line(nsa, square, tmp_path):
    """As for instances."""
    for path in (tmp_path / "none.yaml", tmp_path):
        done = nsa("solve", square, "--config", path)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert str(path) in done.err


def test_what_is_in_force_is_a_configuration(nsa, square, write):
    """``-v`` says it on stderr; saved, it gives the same run."""
    path = write("steps: 30\nno-bound: true\nset: {name: q}\n")
    done = nsa("solve", square, "--config", path, "--seed", 4, "-v")
    (line,) = (x for x in done.err.splitlines() if x.startswith("nsa: solve with "))
    text = line.removeprefix("nsa: solve with ")
    settings = yaml.safe_load(text)
    assert (settings["steps"], settings["seed"], settings["set"]) == ("30", "4", {"name": "q"})
    result = nsa("solve", square, "--config", write(text)).json
    assert (result["seed"], result["steps"], result["name"]) == (4, 30, "q")
    assert result["solution"] == done.json["solution"]
    assert "nsa: solve with" not in nsa("solve", square, "--steps", 5).err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nsa so", ["solve"]),
        ("nsa solve --time", ["--time-limit"]),
        ("nsa train kn", ["knapsack"]),
        ("nsa solve --method la", ["large-step"]),
        ("nsa solve --schedule li", ["linear"]),
        ("nsa solve --policy tsp-es-n", ["tsp-es-nearest"]),
        ("nsa solve --init gr", ["greedy"]),
        ("nsa check --problem t", ["tsp"]),
        ("nsa plot policy tsp-es-n", ["tsp-es-nearest"]),
        ("nsa example cap", ["capitals.csv", "capitals.tsp"]),
        ("nsa train knapsack --method p", ["ppo"]),
    ],
)
def test_the_shell_completes(nsa, monkeypatch, words, expected):
    """Commands, options, names of problems."""
    monkeypatch.setenv("_NSA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert nsa().out.split() == expected


def test_completion_can_be_shown(nsa, monkeypatch):
    """For a shell that is named: a test may run under none."""
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = nsa("--show-completion", "bash")
    assert (shown.code, "_NSA_COMPLETE=complete_bash" in shown.out) == (0, True)
