"""What kernels compute of transitions, and its gradients, is what tensor operations compute."""

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.train.transitions import Critic, KernelTransitions, Rollout, TensorTransitions, transitions

from helpers import random_instances, starts_of

STEPS, CHAINS = 3, 5


def random_rollout(problem, feature_set, size):
    """States and moves of uniform proposals, some of them impossible, and networks."""
    torch.manual_seed(1)
    operations = problem.operations()
    instances = random_instances(problem, size, CHAINS)
    batch, x = operations.pack(instances, unit=1.0), starts_of(problem, instances, "paper")
    policy = SlotPolicy(operations.feature_sets[feature_set].slots, feature_set)
    states, actions = [x], []
    temperature = torch.tensor([1.0, 0.5, 0.1], dtype=torch.float64)
    for heat in temperature:
        move = policy.propose(operations, batch, x, heat, torch.rand(operations.slots, CHAINS).double())
        actions.append(move.action)
        moved = operations.apply(batch, x, move.action)
        x = torch.where(move.possible[:, None], moved, x)
        states.append(x)
    action = tuple(torch.stack(a) for a in zip(*actions, strict=True))
    return policy, Rollout(operations, batch, torch.stack(states), action, temperature)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 6, 33])
@pytest.mark.parametrize(
    ("name", "feature_set"), [("knapsack", "relative"), ("bin", "paper"), ("tsp", "paper")]
)
def test_kernels_give_the_same_numbers_and_gradients(name, feature_set, size, threads, monkeypatch):
    """For rows in any order, repeated or not; one candidate, fewer than a vector, more than two."""
    monkeypatch.setattr("nsa_cli.train.transitions._LEAST", 0)
    policy, rollout = random_rollout(nsa.find_problem(name), feature_set, size)
    critic = Critic(rollout.operations, feature_set, 16)
    rows, weight = torch.randint(0, STEPS * CHAINS, (40,)), torch.randn(40).double()
    found = []
    for made in (TensorTransitions(rollout), KernelTransitions(rollout, policy, threads)):
        log_prob, values = made.at(rows).log_prob(policy), made.at(rows).values(critic)
        possible = log_prob > -torch.inf
        policy.zero_grad()
        critic.zero_grad()
        (torch.where(possible, log_prob, 0.0) @ weight + values.double() @ weight).backward()
        gradients = [p.grad for part in (policy, critic) for p in part.parameters()]
        found.append([log_prob.detach(), values.detach(), *gradients])
    for expected, got in zip(*found, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    """Sums are taken in the same parts whatever works on them."""
    monkeypatch.setattr("nsa_cli.train.transitions._LEAST", 0)
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 20)
    rows, found = torch.arange(STEPS * CHAINS), []
    for threads in (1, 2):
        policy.zero_grad()
        KernelTransitions(rollout, policy, threads).at(rows).log_prob(policy).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in policy.parameters()]))
    assert torch.equal(*found)


@pytest.mark.parametrize(
    ("hidden", "kind"), [(5, KernelTransitions), (16, KernelTransitions), (17, TensorTransitions)]
)
def test_kernels_take_networks_as_large_as_theirs(hidden, kind):
    """Smaller ones are padded with units that add nothing; larger ones are left to tensor operations."""
    _, rollout = random_rollout(nsa.find_problem("bin"), "paper", 7)
    slots = rollout.operations.feature_sets["paper"].slots
    policy, rows, found = SlotPolicy(slots, "paper", hidden), torch.arange(STEPS * CHAINS), []
    made = transitions(rollout, policy, by_kernel=True)
    assert isinstance(made, kind)
    for each in (made, TensorTransitions(rollout)):
        policy.zero_grad()
        log_prob = each.at(rows).log_prob(policy)
        torch.where(log_prob > -torch.inf, log_prob, 0.0).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in policy.parameters()]))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_scores_far_apart_neither_overflow_nor_vanish():
    """Logits of hundreds: the likeliest has probability 1, the others a finite log-probability below it."""
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 20)
    with torch.no_grad():
        policy.networks[0].second.weight.mul_(3000.0)
    rows = torch.arange(STEPS * CHAINS)
    got, expected = (
        each.at(rows).log_prob(policy)
        for each in (KernelTransitions(rollout, policy, 1), TensorTransitions(rollout))
    )
    assert expected.min() < -100
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-3)


def test_the_last_states_have_values(monkeypatch):
    """Of K steps there are K + 1 states; features that do not fit into memory are computed when needed."""
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 8)
    critic, rows = Critic(rollout.operations, "paper", 16), torch.arange(STEPS * CHAINS, (STEPS + 1) * CHAINS)
    kept = transitions(rollout, policy, by_kernel=True)
    assert isinstance(kept, KernelTransitions)
    monkeypatch.setattr("nsa_cli.train.transitions._MOST_BYTES", 100)
    anew = transitions(rollout, policy, by_kernel=True)
    assert isinstance(anew, TensorTransitions)
    np.testing.assert_allclose(
        kept.at(rows).values(critic).detach(), anew.at(rows).values(critic).detach(), rtol=1e-5, atol=1e-6
    )
