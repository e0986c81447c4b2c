"""``docs/result.schema.json`` says what results hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import nsa_cli as nsa
from nsa_cli.io.json_text import dumps

from helpers import KEYS

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

LENGTHS = [[0, 3, 9, 4], [5, 0, 2, 7], [6, 1, 0, 8], [2, 9, 3, 0]]

RESULTS = {
    "default tour": lambda: nsa.solve(ROOT / "examples" / "capitals.csv", seed=1),
    "path": lambda: nsa.tsp(matrix=LENGTHS, from_city=0, to_city=2, fixed_edges=[(1, 3)], seed=1),
    "annealed": lambda: nsa.tsp([[0, 0], [0, 4], [3, 4], [3, 0], [1, 1]], steps=100, seed=1),
    "torch": lambda: nsa.knapsack([3, 2, 1], [1, 1, 1], 2, backend="torch", steps=20, bound=False, seed=1),
    "adaptive": lambda: nsa.bin_packing(
        [1, 2, 3] * 5, 4, steps=300, schedule="adaptive", bound=False, seed=1
    ),
    "optimal": lambda: nsa.knapsack([3, 2, 1], [1, 1, 1], 2, best_known=5),
    "timed": lambda: nsa.rosenbrock(dim=3, time_limit=0.2, seed=1),
    "target": lambda: nsa.rosenbrock(target=100, seed=1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_as_the_schema_says(name):
    """Whatever was solved, and however it ended."""
    result = json.loads(dumps(RESULTS[name]().to_dict()))
    assert [error.message for error in VALIDATOR.iter_errors(result)] == []
    assert result.keys() <= SCHEMA["properties"].keys(), "a key that the schema does not describe"


def test_the_schema_is_strict_enough_to_refuse():
    """A checker that finds nothing would prove nothing."""
    result = nsa.knapsack([3], [1], 2).to_dict()
    Draft202012Validator.check_schema(SCHEMA)
    wrong = {"status": "good", "n": 0, "objective": "3", "seed": True, "bound": {}, "seconds": {}}
    for key, value in wrong.items():
        assert not VALIDATOR.is_valid({**result, key: value}), key
    (error,) = VALIDATOR.iter_errors({k: v for k, v in result.items() if k != "gap"})
    assert error.message == "'gap' is a required property"


def test_scripts_may_rely_on_every_key_that_is_promised():
    """Required keys are those of the tests of the command line, and more."""
    assert set(SCHEMA["required"]) >= KEYS
    assert set(SCHEMA["required"]) <= SCHEMA["properties"].keys()
