"""Answers stay what they were: solution, objective, steps and accepted moves of some fifty recorded runs.

A change that is meant to alter answers records them again: ``python tests/test_answers.py`` writes them.
Kernels sum float32 in vectors, so on a processor of another kind a run by a learnt policy may part from the
record; runs by large steps and by uniform proposals may not.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import nsa_cli as nsa

RECORD = Path(__file__).with_name("answers.json")
SIZES = {"tsp": 60, "knapsack": 80, "bin": 60, "rosenbrock": 2}
POLICIES = sorted(path.stem for path in (Path(__file__).parents[1] / "checkpoints").glob("*.json"))


def _runs():
    """Name each run: problem, and settings beside seed 7 and no bound."""
    for problem in SIZES:
        uniform = {"policy": "uniform", "steps": 600}
        yield problem, {}
        yield problem, {**uniform, "backend": "torch", "steps": 80, "chains": 2}
        yield problem, {**uniform, "schedule": "linear", "t_end": 0.0, "chains": 3}
        yield problem, {**uniform, "t_start": "auto", "t_end": "auto"}
        yield problem, {"method": "anneal", "steps": "3N", "init": "paper"}
        yield problem, {"method": "anneal", "steps": 200, "bound": True, "no_improvement": "2N"}
    for problem in ("tsp", "bin"):
        yield problem, {"method": "large-step", "steps": 50, "chains": 2, "init": "paper"}
        yield problem, {"method": "large-step", "steps": 64, "t_start": 3.0, "schedule": "constant"}
    for policy in POLICIES:
        yield policy.split("-")[0], {"policy": policy, "steps": 200, "chains": 2}
    yield "tsp", {"policy": "tsp-es-best", "steps": 50, "greedy": True}
    yield "tsp", {"policy": "uniform", "steps": 600, "neighbourhood": "nearest:5"}
    yield "tsp", {"policy": "uniform", "steps": 60, "neighbourhood": "nearest:5", "backend": "torch"}
    yield "tsp", {"policy": "tsp-es-nearest", "steps": 40, "backend": "torch", "chains": 2}
    yield "bin", {"policy": "uniform", "steps": 600, "neighbourhood": "squares"}
    yield "bin", {"policy": "bin-es-best", "steps": 40, "backend": "torch", "chains": 2}
    yield "knapsack", {"policy": "knapsack-es-best", "steps": 40, "backend": "torch", "chains": 2}


RUNS = {f"{problem} {json.dumps(settings)}": (problem, settings) for problem, settings in _runs()}


def answer(name):
    """Solve, and tell what must not change."""
    problem, settings = RUNS[name]
    task = nsa.generate(problem, SIZES[problem], seed=5)[0]
    result = nsa.solve(task, seed=7, **{"device": "cpu", "bound": False, **settings})
    solution = hashlib.sha256(np.ascontiguousarray(result.raw).tobytes()).hexdigest()[:16]
    return [float(result.objective).hex(), result.steps, result.accepted, solution]


@pytest.mark.parametrize("name", RUNS)
def test_an_answer_is_the_recorded_one(name):
    """To the last bit."""
    assert answer(name) == json.loads(RECORD.read_text())[name]


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(answer(name))}" for name in RUNS)
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")
