"""The paper's networks, uniform proposals, and what both propose."""

import math

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import DiscreteOperations
from nsa_cli.policy.gaussian import ConstantGaussianPolicy, GaussianPolicy
from nsa_cli.policy.slots import SlotPolicy, UniformSlotPolicy

from helpers import random_instances, starts_of

T = torch.tensor(0.4, dtype=torch.float64)


@pytest.mark.parametrize(("name", "parameters"), [("tsp", 384), ("bin", 160), ("knapsack", 112)])
def test_networks_have_the_papers_number_of_parameters(name, parameters):
    """384, 160 and 112 (section 5, Computational Efficiency): no bias at the output."""
    operations = nsa.find_problem(name).neighbourhood("paper").operations()
    policy = SlotPolicy(operations.feature_sets["paper"].slots)
    assert sum(p.numel() for p in policy.parameters()) == parameters


def test_the_gaussian_network_is_2_16_2():
    """Weights 2 x 16 and 16 x 2, a bias a unit."""
    shapes = [tuple(p.shape) for p in GaussianPolicy().parameters()]
    assert shapes == [(16, 2), (16,), (2, 16), (2,)]


def discrete(name, size=7, count=1, seed=2):
    problem = nsa.find_problem(name)
    operations = problem.neighbourhood("paper").operations()
    assert isinstance(operations, DiscreteOperations)
    instances = random_instances(problem, size, count, seed)
    return operations, operations.pack(instances), starts_of(problem, instances)


@pytest.mark.parametrize("name", ["tsp", "bin", "knapsack"])
@pytest.mark.parametrize("policy_kind", ["uniform", "learnt"])
def test_log_prob_is_the_log_of_how_often_an_action_is_proposed(name, policy_kind):
    """Frequencies of actions from one state against exp(log_prob), and all of them sum to one."""
    problem = nsa.find_problem(name)
    operations = problem.neighbourhood("paper").operations()
    (instance,) = random_instances(problem, 6, 1, seed=2)
    count = 40_000
    batch = operations.pack([instance] * count)
    x = starts_of(problem, [instance], "greedy").expand(count, -1)
    torch.manual_seed(0)
    policy = (
        UniformSlotPolicy()
        if policy_kind == "uniform"
        else SlotPolicy(operations.feature_sets["paper"].slots).requires_grad_(False)
    )
    u = torch.rand(operations.slots, count, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    action, possible = policy.propose(operations, batch, x, T, u)
    probability = policy.log_prob(operations, batch, x, T, action).exp()
    codes = torch.stack(action, 1)[possible]
    seen, inverse, counts = codes.unique(dim=0, return_inverse=True, return_counts=True)
    expected = torch.zeros(len(seen), dtype=torch.float64)
    expected[inverse] = probability[possible]
    frequency = counts.double() / count
    error = (expected * (1 - expected) / count).sqrt()
    assert ((frequency - expected).abs() < 5 * error + 1e-4).all()
    assert expected.sum() <= 1 + 1e-9
    assert expected.sum() > 0.95 * frequency.sum()


@pytest.mark.parametrize("name", ["tsp", "bin", "knapsack"])
def test_a_greedy_policy_proposes_the_likeliest_action(name):
    """Whatever the random numbers; slot by slot."""
    operations, batch, x = discrete(name, 9, 5)
    torch.manual_seed(4)
    policy = SlotPolicy(operations.feature_sets["paper"].slots).requires_grad_(False)
    policy.greedy = True
    lots = [policy.propose(operations, batch, x, T, torch.full((2, 5), v)).action for v in (0.1, 0.9)]
    for a, b in zip(*lots, strict=True):
        assert torch.equal(a, b)
    logits = policy.logits(operations, batch, x, (), T)
    allowed = operations.allowed(batch, x, ())
    top = logits.masked_fill(~allowed, -torch.inf).max(1).values
    assert torch.equal(logits.gather(1, lots[0][0][:, None])[:, 0], top)


def test_a_policy_is_equivariant_to_the_order_of_the_items():
    """Permuted items have permuted scores (section 3.2)."""
    operations, batch, x = discrete("knapsack", 11, 3)
    policy = SlotPolicy(operations.feature_sets["paper"].slots).requires_grad_(False)
    order = torch.randperm(11, generator=torch.Generator().manual_seed(0))
    permuted = batch._replace(
        values=batch.values[:, order], weights=batch.weights[:, order], items=batch.items[:, order]
    )
    torch.testing.assert_close(
        policy.logits(operations, permuted, x[:, order], (), T),
        policy.logits(operations, batch, x, (), T)[:, order],
    )


def test_gaussian_steps_have_the_standard_deviation_they_say():
    """Moments of constant steps, and the density of one by hand."""
    operations = nsa.find_problem("rosenbrock").neighbourhood("paper").operations()
    x = torch.zeros(50_000, 2, dtype=torch.float64)
    u = torch.rand(2, 50_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    policy = ConstantGaussianPolicy()
    (step,), possible = policy.propose(operations, None, x, T, u)
    assert possible.all()
    np.testing.assert_allclose(step.std(0), operations.sigma, rtol=0.02)
    np.testing.assert_allclose(step.mean(0), 0, atol=0.01)
    density = policy.log_prob(operations, None, x[:1], T, (torch.full((1, 2), 0.3).double(),))
    # Each axis: -(0.3 / 0.3)^2 / 2 - log 0.3 - log(2 pi) / 2.
    assert density.item() == pytest.approx(2 * (-0.5 - math.log(0.3) - 0.5 * math.log(2 * math.pi)))


def test_a_gaussian_network_for_other_dimensions_is_refused():
    """The message names both numbers."""
    operations = nsa.find_problem("rosenbrock").neighbourhood("paper").operations()
    x = torch.zeros(1, 3, dtype=torch.float64)
    with pytest.raises(UsageError, match=r"2 dimensions.*3"):
        GaussianPolicy().propose(operations, None, x, T, torch.full((3, 1), 0.5))
