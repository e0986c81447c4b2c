"""The contract that every problem keeps, whatever it is; run over all that are there and those of users."""

from functools import cache
from pathlib import Path

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.contract import CHECKS, Case
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.core.record import Record, Source
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import read_instances, write_instances

from helpers import random_instances, starts_of
from user_problems import ALL, SHOWN

#: Problems of users, in tests.
OWN = Path(__file__).parent / "user_problems.py"

#: Every problem in each of its neighbourhoods, and those of users.
CASES = [(name, n.name) for name in builtin_names() for n in find_problem(name).neighbourhoods]
CASES += [(own, "paper") for own in (*SHOWN, *(f"{OWN}:{cls.__name__}" for cls in ALL))]

#: What a neighbourhood does not promise: a move between near cities may have no way back, and may
#: turn round the rest of a tour (tests/problems/tsp/test_nearest.py).
UNPROMISED = {("nearest:10", "reverse_leads_back")}


@cache
def found(name):
    """Find a problem, and compile it, once."""
    return find_problem(name)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize(("name", "neighbourhood"), CASES, ids=lambda n: n.rpartition(":")[2])
def test_every_problem_keeps_the_contract(name, neighbourhood, check, monkeypatch):
    """Each check at odd and even, tiny and larger sizes; in plain Python at one, by fewer steps."""
    if (neighbourhood, check.__name__) in UNPROMISED:
        pytest.skip("is not promised")
    problem, sizes = found(name), (2 if name == "rosenbrock" else 1, 4, 17)
    if not problem.built_in:
        sizes = (5,)
        monkeypatch.setattr("nsa_cli.contract._STEPS", 4)
    for size in sizes:
        check(Case(problem, problem.neighbourhood(neighbourhood), size, 1))


@pytest.mark.parametrize("size", [2, 5, 30])
def test_every_written_format_gives_the_same_instance_back(problem, size):
    """Tables and the problem's own formats out and in lose nothing, not even a last bit."""
    (instance,) = random_instances(problem, size, 1)
    formats = ["jsonl"] + (["csv"] if problem.columns else []) + [f.name for f in problem.formats if f.write]
    for fmt in formats:
        text = write_instances(problem, [instance], fmt)
        suffix = {"csv": ".csv"}.get(fmt, "")
        ((_, other),) = read_instances(Source(f"x{suffix}", suffix, text))
        assert instance.record() == other.record(), fmt


def test_unit_free_instances_look_the_same(problem):
    """What a policy sees of an instance does not depend on the file's units."""
    (instance,) = random_instances(problem, 12, 1)
    data = dict(instance.record())
    scaled = {
        key: _scaled(value) if key in ("coords", "values", "weights", "capacity") else value
        for key, value in data.items()
    }
    other = Record(scaled, Source("x", "", "")).build(problem.from_record)
    operations = problem.neighbourhood("paper").operations()
    if not isinstance(operations, DiscreteOperations):
        pytest.skip("a function of real variables has no other unit")
    x = starts_of(problem, [instance])
    heat = torch.tensor(0.3, dtype=torch.float64)
    for feature_set in operations.feature_sets.values():
        seen = [feature_set.compute(operations.pack([i]), x, (), heat) for i in (instance, other)]
        torch.testing.assert_close(*seen, rtol=1e-5, atol=1e-6)


def _scaled(value):
    if isinstance(value, list):
        return [_scaled(x) for x in value]
    return value * 1024.0  # a power of two: scaling is exact


def test_the_same_seed_generates_the_same_instances(problem):
    """And the first of many are the few."""
    few = [i.record() for i in random_instances(problem, 5, 2, seed=9)]
    many = [i.record() for i in random_instances(problem, 5, 4, seed=9)]
    other = [i.record() for i in random_instances(problem, 5, 2, seed=10)]
    assert [{**r, "name": 0} for r in few] == [{**r, "name": 0} for r in many[:2]]
    assert few != other


def test_a_problem_says_what_it_is(problem):
    """Names, a summary and starts are there; the paper's start is among them."""
    assert problem.name
    assert problem.summary
    assert "paper" in problem.starts
    assert problem.sense in ("min", "max")


def test_an_unknown_start_is_refused_with_the_known_ones(problem):
    """The message lists the starts."""
    with pytest.raises(nsa.UsageError, match="paper"):
        problem.start("nonsense")
