"""The contract that every problem keeps, whatever it is; run over all that are there."""

import numpy as np
import pytest
import torch
from conftest import draws_of, random_instances, starts_of

import nsa_cli as nsa
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.core.record import Record, Source
from nsa_cli.io.json_text import dumps
from nsa_cli.policy.gaussian import ConstantGaussianPolicy
from nsa_cli.policy.slots import UniformSlotPolicy
from nsa_cli.problems.files import read_instances, write_instances

T = torch.tensor(0.3, dtype=torch.float64)
SIZES = [2, 3, 4, 5, 17, 40]


def uniform(operations):
    return UniformSlotPolicy() if isinstance(operations, DiscreteOperations) else ConstantGaussianPolicy()


def walk(problem, size, steps=30, count=6, seed=1):
    """Yield what a random walk over all feasible moves meets at each step."""
    operations = problem.operations()
    instances = random_instances(problem, size, count, seed)
    batch = operations.pack(instances)
    x = starts_of(problem, instances, "paper")
    policy = uniform(operations)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        u = torch.rand(policy.draws(operations, x), count, generator=generator, dtype=torch.float64)
        action, possible = policy.propose(operations, batch, x, T, u)
        yield operations, instances, batch, x, action, possible
        moved = operations.apply(batch, x, action)
        x = torch.where(possible.reshape(-1, *[1] * (x.dim() - 1)), moved, x)


@pytest.mark.parametrize("size", SIZES)
def test_delta_is_the_difference_of_costs(problem, size):
    """What a move is said to change is what it changes."""
    for operations, _, batch, x, action, possible in walk(problem, size):
        delta = operations.delta(batch, x, action)[possible]
        moved = operations.apply(batch, x, action)
        difference = (operations.cost(batch, moved) - operations.cost(batch, x))[possible]
        torch.testing.assert_close(delta, difference, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_the_engines_cost_is_the_exact_objective(problem, size):
    """Energies are in file units; a maximised objective has its sign turned."""
    sign = 1 if problem.sense == "min" else -1
    for operations, instances, batch, x, _, _ in walk(problem, size, steps=5):
        exact = [sign * i.objective(row) for i, row in zip(instances, x.numpy(), strict=True)]
        np.testing.assert_allclose(operations.cost(batch, x).numpy(), exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_allowed_moves_lead_to_feasible_solutions(problem, size):
    """No proposal leaves the feasible set, by the exact check."""
    for operations, instances, batch, x, action, possible in walk(problem, size):
        moved = operations.apply(batch, x, action)
        for instance, row, yes in zip(instances, moved.numpy(), possible.tolist(), strict=True):
            assert not yes or instance.violation(row) is None


@pytest.mark.parametrize("size", SIZES)
def test_the_reverse_action_leads_back(problem, size):
    """Apply, then apply the reverse: the solution is the old one, and the reverse was allowed."""
    for operations, _, batch, x, action, possible in walk(problem, size):
        moved = operations.apply(batch, x, action)
        back = operations.reverse(batch, x, action)
        again = operations.apply(batch, moved, back)
        log_prob = uniform(operations).log_prob(operations, batch, moved, T, back)
        assert torch.isfinite(log_prob[possible]).all()
        torch.testing.assert_close(again[possible], x[possible], rtol=0, atol=1e-12)


def test_apply_leaves_its_argument_alone(problem):
    """Solutions are values."""
    for operations, _, batch, x, action, _ in walk(problem, 8, steps=3):
        before = x.clone()
        operations.apply(batch, x, action)
        operations.delta(batch, x, action)
        assert torch.equal(before, x)


@pytest.mark.parametrize("size", [4, 9])
def test_features_have_the_shape_their_slots_announce(problem, size):
    """float32[B, N, F], finite, for every feature set and slot."""
    for operations, _, batch, x, action, _ in walk(problem, size, steps=3):
        if not isinstance(operations, DiscreteOperations):
            seen = operations.observe(batch, x, T)
            assert seen.shape == (len(x), operations.features) or size != operations.features
            continue
        for feature_set in operations.feature_sets.values():
            for k, slot in enumerate(feature_set.slots):
                features = feature_set.compute(batch, x, action[:k], T)
                assert features.shape == (len(x), size, slot.features)
                assert features.dtype == torch.float32
                assert torch.isfinite(features).all()
                assert operations.allowed(batch, x, action[:k]).shape == (len(x), size)


def test_temperature_may_differ_by_chain(problem):
    """A scalar temperature and one a chain mean the same."""
    for operations, _, batch, x, action, _ in walk(problem, 6, steps=1):
        if isinstance(operations, DiscreteOperations):
            for feature_set in operations.feature_sets.values():
                one = feature_set.compute(batch, x, action[:0], T)
                many = feature_set.compute(batch, x, action[:0], T.expand(len(x)))
                assert torch.equal(one, many)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 37])
def test_every_start_is_feasible(problem, size):
    """Named starts give solutions, of the smallest instances too."""
    if problem.name == "rosenbrock" and size < 2:
        pytest.skip("the function has two variables at least")
    (instance,) = random_instances(problem, size, 1)
    for name in problem.starts:
        solution = problem.start(name)(instance, draws_of(0))
        assert instance.violation(solution) is None, name


@pytest.mark.parametrize("size", [2, 5, 30])
def test_a_record_gives_the_same_instance_back(problem, size):
    """JSON text out and in loses nothing, not even a last bit."""
    (instance,) = random_instances(problem, size, 1)
    text = dumps(instance.record())
    ((again, other),) = read_instances(Source("x.json", ".json", text))
    assert again.name == problem.name
    assert other.record() == instance.record()


@pytest.mark.parametrize("size", [2, 5, 30])
def test_every_written_format_gives_the_same_instance_back(problem, size):
    """Tables and the problem's own formats out and in lose nothing."""
    (instance,) = random_instances(problem, size, 1)
    formats = ["jsonl"] + (["csv"] if problem.columns else []) + [f.name for f in problem.formats if f.write]
    for fmt in formats:
        text = write_instances(problem, [instance], fmt)
        suffix = {"csv": ".csv"}.get(fmt, "")
        ((_, other),) = read_instances(Source(f"x{suffix}", suffix, text))
        assert {**instance.record(), "name": None} == {**other.record(), "name": None}, fmt


@pytest.mark.parametrize("size", [2, 5, 30])
def test_ids_give_the_same_solution_back(problem, size):
    """A solution written with the file's ids is read back with the same objective."""
    (instance,) = random_instances(problem, size, 1)
    solution = problem.start("paper")(instance, draws_of(3))
    again = instance.from_ids(instance.to_ids(solution))
    assert instance.objective(again) == instance.objective(solution)
    assert instance.to_ids(again) == instance.to_ids(solution)


def test_unit_free_instances_look_the_same(problem):
    """What a policy sees of an instance does not depend on the file's units."""
    (instance,) = random_instances(problem, 12, 1)
    data = dict(instance.record())
    scaled = {
        key: _scaled(value) if key in ("coords", "values", "weights", "capacity") else value
        for key, value in data.items()
    }
    other = Record(scaled, Source("x", "", "")).build(problem.from_record)
    operations = problem.operations()
    if not isinstance(operations, DiscreteOperations):
        pytest.skip("a function of real variables has no other unit")
    x = starts_of(problem, [instance])
    for feature_set in operations.feature_sets.values():
        seen = [feature_set.compute(operations.pack([i]), x, (), T) for i in (instance, other)]
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
    assert few == many[:2]
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
