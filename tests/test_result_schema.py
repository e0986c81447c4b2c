"""``docs/result.schema.json`` says what results hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nsa_cli as nsa
from nsa_cli.io.json_text import dumps

from helpers import KEYS

ROOT = Path(__file__).parents[1]
SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text())
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
KNOWN = {
    *("$schema", "title", "description", "type", "enum", "const", "minimum"),
    *("required", "properties", "additionalProperties", "anyOf"),
}


def faults(schema, value, place="$"):
    """Find what breaks a schema, by the keywords that ours has; another keyword is an error."""
    for keyword, rule in schema.items():
        if keyword == "type":
            names = [rule] if isinstance(rule, str) else rule
            kinds = tuple(
                k for n in names for k in (TYPES[n] if isinstance(TYPES[n], tuple) else (TYPES[n],))
            )
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                yield f"{place}: {value!r} is not {rule}"
        elif keyword == "enum" and value not in rule:
            yield f"{place}: {value!r} is none of {rule}"
        elif keyword == "const" and value != rule:
            yield f"{place}: {value!r} is not {rule}"
        elif keyword == "minimum" and isinstance(value, int | float) and value < rule:
            yield f"{place}: {value} < {rule}"
        elif keyword == "required" and isinstance(value, dict):
            yield from (f"{place}: no {key}" for key in rule if key not in value)
        elif keyword == "properties" and isinstance(value, dict):
            for key in rule.keys() & value.keys():
                yield from faults(rule[key], value[key], f"{place}.{key}")
        elif keyword == "additionalProperties" and isinstance(value, dict):
            assert rule is False
            yield from (f"{place}: unknown {key}" for key in value.keys() - schema["properties"].keys())
        elif keyword == "anyOf" and not any(not list(faults(option, value)) for option in rule):
            yield f"{place}: {value!r} fits none"
        assert keyword in KNOWN, keyword


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
    assert list(faults(SCHEMA, result)) == []
    assert result.keys() <= SCHEMA["properties"].keys(), "a key that the schema does not describe"


def test_the_schema_is_strict_enough_to_refuse():
    """A checker that finds nothing would prove nothing."""
    result = nsa.knapsack([3], [1], 2).to_dict()
    for key, value in {
        "status": "good",
        "n": 0,
        "objective": "3",
        "seed": True,
        "bound": {},
        "seconds": {},
    }.items():
        assert list(faults(SCHEMA, {**result, key: value})), key
    assert list(faults(SCHEMA, {k: v for k, v in result.items() if k != "gap"})) == ["$: no gap"]


def test_scripts_may_rely_on_every_key_that_is_promised():
    """Required keys are those of the tests of the command line, and more."""
    assert set(SCHEMA["required"]) >= KEYS
    assert set(SCHEMA["required"]) <= SCHEMA["properties"].keys()
