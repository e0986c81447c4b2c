"""The contract that every built-in problem keeps, in each of its neighbourhoods."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.clock import Clock
from nsa_cli.core.draws import start_draws, stream_keys, uniforms_torch
from nsa_cli.core.operations import ContinuousOperations, DiscreteOperations
from nsa_cli.core.record import Record, Source
from nsa_cli.io.json_text import dumps
from nsa_cli.policy.build import find_policy
from nsa_cli.problems import builtin_names, find_problem
from nsa_cli.problems.files import read_instances, write_instances

from helpers import random_instances, starts_of

#: Every problem in each of its neighbourhoods.
CASES = [(name, n.name) for name in builtin_names() for n in find_problem(name).neighbourhoods]

STEPS, CHAINS, HEAT = 30, 6, torch.tensor(0.3, dtype=torch.float64)


class Move(NamedTuple):
    """A proposal on a random walk; `possible` tells in which rows it is a move."""

    instances: list[Any]
    batch: Any
    x: torch.Tensor
    action: Any
    possible: torch.Tensor


class Case(NamedTuple):
    """A neighbourhood of a problem at a size."""

    problem: Any
    operations: Any
    size: int

    def walk(self) -> Iterator[Move]:
        """Accept random moves, step by step, from the paper's start."""
        instances, keys = (
            random_instances(self.problem, self.size, CHAINS, 1),
            stream_keys(1, np.arange(CHAINS)),
        )
        batch, x = self.operations.pack(instances), starts_of(self.problem, instances, "paper", 1)
        policy = find_policy("uniform", self.problem.name, self.operations)
        for u in uniforms_torch(torch.from_numpy(keys), 0, STEPS, policy.draws(self.operations, x)):
            action, possible = policy.propose(self.operations, batch, x, HEAT, u)
            yield Move(instances, batch, x, action, possible)
            moved = self.operations.apply(batch, x, action)
            x = torch.where(possible.reshape(-1, *[1] * (x.dim() - 1)), moved, x)


def delta_is_the_difference_of_costs(case):
    for m in case.walk():
        moved = case.operations.apply(m.batch, m.x, m.action)
        differ = case.operations.cost(m.batch, moved) - case.operations.cost(m.batch, m.x)
        said = case.operations.delta(m.batch, m.x, m.action)
        torch.testing.assert_close(said[m.possible], differ[m.possible], rtol=1e-9, atol=1e-9)


def cost_is_the_exact_objective(case):
    """In file units; of a maximised objective the sign is turned."""
    sign = 1 if case.problem.sense == "min" else -1
    for m in case.walk():
        cost = case.operations.cost(m.batch, m.x)
        exact = [sign * i.objective(row) for i, row in zip(m.instances, m.x.numpy(), strict=True)]
        assert case.operations.objectives(cost.numpy()) == pytest.approx(exact, rel=1e-9, abs=1e-9)
        assert cost.dtype == torch.float64


def allowed_moves_are_feasible(case):
    for m in case.walk():
        moved = case.operations.apply(m.batch, m.x, m.action).numpy()
        rows = zip(m.instances, moved, m.possible.tolist(), strict=True)
        assert not any(instance.fault(row) for instance, row, possible in rows if possible)


def operations_leave_their_argument_alone(case):
    for m in case.walk():
        before = m.x.clone()
        case.operations.apply(m.batch, m.x, m.action)
        case.operations.delta(m.batch, m.x, m.action)
        assert torch.equal(before, m.x)


def features_are_as_announced(case):
    """Finite float32[B, N, F]; one temperature for all equals one a chain."""
    for m in case.walk():
        if isinstance(case.operations, ContinuousOperations):
            assert case.operations.observe(m.batch, m.x, HEAT).dtype == torch.float32
            continue
        for features in case.operations.feature_sets.values():
            for k, slot in enumerate(features.slots):
                if slot.features:
                    allowed = case.operations.allowed(m.batch, m.x, m.action[:k])
                    seen = features.compute(m.batch, m.x, m.action[:k], HEAT)
                    assert (seen.dtype, seen.shape) == (torch.float32, (*allowed.shape, slot.features))
                    assert seen.isfinite().all()
                    each = features.compute(m.batch, m.x, m.action[:k], HEAT.expand(len(m.x)))
                    assert torch.equal(seen, each)


def starts_are_feasible(case):
    (instance,), (key,) = random_instances(case.problem, case.size, 1, 1), stream_keys(1, np.arange(1))
    for name, start in case.problem.starts.items():
        assert instance.fault(start(instance, partial(start_draws, key))) is None, name


def records_and_ids_lose_nothing(case):
    (instance,) = random_instances(case.problem, case.size, 1, 1)
    ((_, again),) = read_instances(Source("a record", "", dumps(instance.record())), case.problem)
    assert again.record() == instance.record()
    for m in case.walk():
        instance, row = m.instances[0], m.x[0].numpy()
        assert instance.objective(instance.from_ids(instance.to_ids(row))) == instance.objective(row)


def bounds_are_not_beaten(case):
    """And the witness of a bound gives it again."""
    (instance,) = random_instances(case.problem, case.size, 1, 1)
    if (bound := case.problem.bound(instance, Clock.of(5.0))) is None:
        return
    for m in case.walk():
        assert not bound.beaten_by(m.instances[0].exact_objective(m.x[0].numpy()), case.problem.sense)
    if bound.witness is not None:
        assert case.problem.recompute_bound(instance, bound.witness) == bound.unrounded


CHECKS = (
    delta_is_the_difference_of_costs,
    cost_is_the_exact_objective,
    allowed_moves_are_feasible,
    operations_leave_their_argument_alone,
    features_are_as_announced,
    starts_are_feasible,
    records_and_ids_lose_nothing,
    bounds_are_not_beaten,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize(("name", "neighbourhood"), CASES)
def test_every_problem_keeps_the_contract(name, neighbourhood, check):
    """Each check at odd and even, tiny and larger sizes."""
    problem = find_problem(name)
    operations = problem.neighbourhood(neighbourhood).operations()
    for size in (2 if name == "rosenbrock" else 1, 4, 17):
        check(Case(problem, operations, size))


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
