"""Claims of solutions in files: numbers of any size, and witnesses that are none."""

import json

import pytest

import nsa_cli as nsa
from nsa_cli.problems import find_problem
from nsa_cli.problems.solutions import ClaimedSolution
from nsa_cli.solver.check import evaluate

SACK = {"name": "k", "values": [1, 2.5], "weights": [1, 2], "capacity": 2}
CITIES = {"name": "t", "coords": [[0, 0], [3, 4], [0, 4], [3, 0]]}


def evaluated(name, record, ids, **claims):
    problem = find_problem(name)
    task = nsa.Task(problem, problem.from_record(record))
    evaluation = evaluate(task, ClaimedSolution(ids, claims))
    json.dumps(evaluation.to_dict(), allow_nan=False)
    return evaluation


@pytest.mark.parametrize(
    "claimed",
    [10**400, -(10**400), 2**63, float("inf"), float("nan"), True, "x", None, {}],
    ids=lambda x: repr(x)[:12],
)
def test_claimed_numbers_of_any_kind(claimed):
    """A finite one that is wrong is remarked on, the others are no claims."""
    witness = {"capacity_multiplier": "25/2"}  # of values in tenths
    bound = {"value": claimed, "witness": witness, "method": "\x1b[31m"}
    evaluation = evaluated("knapsack", SACK, [2], objective=claimed, bound=bound)
    assert evaluation.objective == 2.5
    assert evaluation.bound.value == 2.5
    assert bool(evaluation.remarks) == (isinstance(claimed, int) and claimed is not True)
    assert all(remark.isprintable() for remark in (*evaluation.remarks, evaluation.bound.method))


MULTIPLIERS = [
    *({"capacity_multiplier": x} for x in ("1e999999999", "1e400", 10**400, "1/0", "9" * 10**6, [1], "-1")),
    {"capacity_multiplier": "1", "item_multiplier": "nan"},
    {"capacity_multiplier": "1", "item_multiplier": "-1", "known": 10**400},
    {},
]

#: Too fine, too coarse, or no whole number.
SCALES = [{"scale": x, "potentials": [0, 0, 0, 0]} for x in (-1100, -100, 1100, 10**400, None, 0.5)]


@pytest.mark.parametrize("witness", [*MULTIPLIERS, *SCALES], ids=lambda x: repr(x)[:40])
def test_witnesses_that_are_none(witness):
    """They are refused at once, and the bound is computed instead."""
    bound = {"value": 3, "witness": witness}
    if "scale" in witness:
        evaluation = evaluated("tsp", CITIES, [1, 3, 2, 4], bound=bound)
    else:
        evaluation = evaluated("knapsack", SACK, [2], bound=bound)
    (remark,) = evaluation.remarks
    assert remark.startswith("the file's bound does not hold: witness")
    assert evaluation.bound.value == evaluation.objective


@pytest.mark.parametrize("best_known", [1e-320, -5e-324, 1e308, 0])
def test_gaps_to_a_reference_of_any_size(best_known):
    """One that is no finite number is not known."""
    evaluation = evaluated("knapsack", {**SACK, "best_known": best_known}, [2])
    assert evaluation.gap is None or abs(evaluation.gap) <= 1
