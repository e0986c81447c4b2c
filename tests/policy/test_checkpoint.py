"""Policies as files."""

import json
import pickle

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.errors import InputError, NsaError, UsageError
from nsa_cli.policy.build import build, find_policy
from nsa_cli.policy.checkpoint import read, save
from nsa_cli.policy.gaussian import GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy


def fresh(name):
    operations = nsa.find_problem(name).neighbourhood("paper").operations()
    torch.manual_seed(1)
    if name == "rosenbrock":
        return operations, GaussianPolicy(name="mine")
    return operations, SlotPolicy(operations.feature_sets["paper"].slots, name="mine")


def test_a_saved_policy_is_the_same_policy(problem, tmp_path):
    """Every weight comes back bit for bit, and the file is text."""
    operations, policy = fresh(problem.name)
    policy.temperature_steps = 5
    save(tmp_path / "p.json", policy, problem.name, {"training": {"seed": 7}})
    again = build(read(tmp_path / "p.json", problem.name), operations)
    assert again.name == "mine"
    assert again.temperature_steps == 5
    for key, value in policy.state_dict().items():
        assert torch.equal(again.state_dict()[key], value)
    assert json.loads((tmp_path / "p.json").read_text())["training"] == {"seed": 7}


def test_a_file_is_found_by_path_and_uniform_by_name(tmp_path):
    """``--policy`` takes a path or a name."""
    operations, policy = fresh("knapsack")
    save(tmp_path / "p.json", policy, "knapsack")
    found = find_policy(str(tmp_path / "p.json"), "knapsack", operations, greedy=True)
    assert isinstance(found, SlotPolicy)
    assert found.greedy
    assert find_policy("uniform", "knapsack", operations).name == "uniform"
    with pytest.raises(UsageError, match="uniform"):
        find_policy("nonsense", "knapsack", operations)
    with pytest.raises(UsageError, match="most probable"):
        find_policy("uniform", "knapsack", operations, greedy=True)


def damaged():
    """Give name and damage of files that must be refused."""

    def change(**keys):
        return lambda data: {**data, **keys}

    def weight(value):
        return lambda data: {**data, "weights": {**data["weights"], "networks.0.first.bias": value}}

    return {
        "no steps of a temperature": change(temperature_steps=0),
        "other problem": change(problem="tsp"),
        "no name of a neighbourhood": change(neighbourhood=7),
        "other format": change(format="nsa-policy-99"),
        "unknown features": change(feature_set="secret"),
        "other kind": change(kind="gaussian"),
        "kind is a list": change(kind=[]),
        "hidden too large": change(hidden=10**9),
        "hidden disagrees": change(hidden=8),
        "no weights": change(weights=None),
        "a weight too few": weight([0.0] * 15),
        "a weight is text": weight(["x"] * 16),
        "a weight is true": weight([True] * 16),
        "a weight is nan": weight([float("nan")] * 16),
        "a weight is huge": weight([1e300] * 16),
        "a list": lambda data: [data],
    }


@pytest.mark.parametrize("damage", list(damaged()))
def test_damaged_and_foreign_files_are_refused_in_one_line(damage, tmp_path):
    """The message names the file; nothing else escapes."""
    operations, policy = fresh("knapsack")
    path = tmp_path / "p.json"
    save(path, policy, "knapsack")
    path.write_text(json.dumps(damaged()[damage](json.loads(path.read_text()))))
    with pytest.raises(InputError) as caught:
        build(read(path, "knapsack"), operations)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Bomb:
    """A pickle that would run code."""

    def __reduce__(self):
        return (exec, ("raise SystemExit('the file was executed')",))


@pytest.mark.parametrize(
    "content",
    [pickle.dumps(Bomb()), b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b'{"format": 1e999}', b"null"],
)
def test_what_is_no_policy_is_refused_and_never_run(content, tmp_path):
    """Pickles, binaries and broken JSON end in one line."""
    operations, _ = fresh("knapsack")
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(InputError):
        build(read(path, "knapsack"), operations)
    with pytest.raises(NsaError):
        build(read(tmp_path, "knapsack"), operations)
