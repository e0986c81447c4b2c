"""What kernels compute of transitions, and its gradients, is what tensor operations compute."""

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.operations import select
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.train.estimators import Targets
from nsa_cli.train.transitions import (
    Critic,
    KernelTransitions,
    Minibatch,
    TensorTransitions,
    Trajectories,
    transitions,
)

from helpers import random_instances, starts_of

STEPS, CHAINS = 3, 5


def random_rollout(problem, feature_set, size):
    """States and moves of uniform proposals, some of them impossible, and networks."""
    torch.manual_seed(1)
    operations = problem.neighbourhood("paper").operations()
    instances = random_instances(problem, size, CHAINS)
    batch, x = operations.pack(instances, unit=1.0), starts_of(problem, instances, "paper")
    policy = SlotPolicy(operations.feature_sets[feature_set].slots, feature_set)
    states, actions = [x], []
    temperature = torch.tensor([1.0, 0.5, 0.1, 0.1], dtype=torch.float64)
    for heat in temperature[:-1]:
        move = policy.propose(operations, batch, x, heat, torch.rand(operations.slots, CHAINS).double())
        actions.append(move.action)
        moved = operations.apply(batch, x, move.action)
        x = torch.where(move.possible[:, None], moved, x)
        states.append(x)
    action = tuple(torch.stack(a) for a in zip(*actions, strict=True))
    return policy, Trajectories(operations, batch, torch.stack(states), action, temperature)


def targets_near(rollout, policy):
    """Targets of all moves: old log-probabilities around the policy's, the rest at random."""
    count, generator = STEPS * CHAINS, torch.Generator().manual_seed(2)
    action = tuple(a.flatten(0, 1) for a in rollout.action)
    chains = torch.arange(count) % CHAINS
    with torch.no_grad():
        now = policy.log_prob(
            rollout.operations,
            select(rollout.batch, chains),
            rollout.x[:-1].flatten(0, 1),
            rollout.temperature[:-1].repeat_interleave(CHAINS),
            action,
        )
    possible = now > -torch.inf
    old = now + 0.3 * torch.randn(count, generator=generator).double()
    advantage, returns = (torch.randn(count, generator=generator) for _ in range(2))
    return Targets(old, possible, advantage, returns), now


def learnt(made, policy, critic, rows, targets):
    """Losses of some rows and the gradients of both networks."""
    found = made.put_gradients(policy, critic, rows, targets.at(rows), Minibatch(len(rows), 0.25, 0.1))
    gradients = [p.grad.clone() for part in (policy, critic) for p in part.parameters()]
    return [torch.tensor(found), *gradients]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [1, 6, 33])
@pytest.mark.parametrize(
    ("name", "feature_set"), [("knapsack", "relative"), ("bin", "paper"), ("tsp", "paper")]
)
def test_kernels_give_the_same_losses_and_gradients(name, feature_set, size, threads, monkeypatch):
    """For rows in any order, repeated or not; one candidate, fewer than a vector, more than two."""
    monkeypatch.setattr("nsa_cli.train.transitions._LEAST", 0)
    policy, rollout = random_rollout(nsa.find_problem(name), feature_set, size)
    critic, rows = Critic(rollout.operations, feature_set, 16), torch.randint(0, STEPS * CHAINS, (40,))
    targets, _ = targets_near(rollout, policy)
    expected, got = (
        learnt(made, policy, critic, rows, targets)
        for made in (TensorTransitions(rollout), KernelTransitions(rollout, policy, threads))
    )
    assert size == 1 or 0 < expected[0][2] < 1  # some ratios are clipped, some are not
    for one, other in zip(expected, got, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    """Sums are taken in the same parts whatever works on them."""
    monkeypatch.setattr("nsa_cli.train.transitions._LEAST", 0)
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 20)
    critic, rows = Critic(rollout.operations, "paper", 16), torch.arange(STEPS * CHAINS)
    targets, _ = targets_near(rollout, policy)
    one, two = (
        learnt(KernelTransitions(rollout, policy, threads), policy, critic, rows, targets)
        for threads in (1, 2)
    )
    assert all(map(torch.equal, one, two))


@pytest.mark.parametrize(
    ("hidden", "kind"), [(5, KernelTransitions), (16, KernelTransitions), (17, TensorTransitions)]
)
def test_kernels_take_networks_as_large_as_theirs(hidden, kind):
    """Smaller ones are padded with units that add nothing; larger ones are left to tensor operations."""
    _, rollout = random_rollout(nsa.find_problem("bin"), "paper", 7)
    slots = rollout.operations.feature_sets["paper"].slots
    policy, rows = SlotPolicy(slots, "paper", hidden), torch.arange(STEPS * CHAINS)
    critic = Critic(rollout.operations, "paper", hidden)
    targets, _ = targets_near(rollout, policy)
    made = transitions(rollout, policy, by_kernel=True)
    assert isinstance(made, kind)
    for one, other in zip(
        learnt(TensorTransitions(rollout), policy, critic, rows, targets),
        learnt(made, policy, critic, rows, targets),
        strict=True,
    ):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-5)


def test_scores_far_apart_neither_overflow_nor_vanish():
    """Logits of hundreds: the likeliest has probability 1, the others a finite log-probability below it."""
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 20)
    with torch.no_grad():
        policy.networks[0].second.weight.mul_(3000.0)
    (targets, now), rows = targets_near(rollout, policy), torch.arange(STEPS * CHAINS)
    assert now.min() < -100
    critic = Critic(rollout.operations, "paper", 16)
    found = learnt(KernelTransitions(rollout, policy, 1), policy, critic, rows, targets)
    expected = learnt(TensorTransitions(rollout), policy, critic, rows, targets)
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-3)


def test_the_last_states_have_values(monkeypatch):
    """Of K steps there are K + 1 states; features that do not fit into memory are computed when needed."""
    policy, rollout = random_rollout(nsa.find_problem("knapsack"), "paper", 8)
    critic, rows = Critic(rollout.operations, "paper", 16), torch.arange(STEPS * CHAINS, (STEPS + 1) * CHAINS)
    kept = transitions(rollout, policy, by_kernel=True)
    assert isinstance(kept, KernelTransitions)
    monkeypatch.setattr("nsa_cli.train.transitions._MOST_BYTES", 100)
    anew = transitions(rollout, policy, by_kernel=True)
    assert isinstance(anew, TensorTransitions)
    np.testing.assert_allclose(kept.values(critic, rows), anew.values(critic, rows), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [TensorTransitions, KernelTransitions])
@pytest.mark.parametrize(
    ("name", "feature_set"), [("knapsack", "relative"), ("bin", "paper"), ("tsp", "paper")]
)
def test_parts_of_a_minibatch_add_up_to_the_whole(name, feature_set, kind):
    """Losses and gradients of its rows, whichever process has them."""
    policy, rollout = random_rollout(nsa.find_problem(name), feature_set, 6)
    critic, rows = Critic(rollout.operations, feature_set, 16), torch.randint(0, STEPS * CHAINS, (40,))
    targets, _ = targets_near(rollout, policy)
    made = TensorTransitions(rollout) if kind is TensorTransitions else KernelTransitions(rollout, policy, 1)
    minibatch, sums = Minibatch(len(rows), 0.25, 0.1), []
    for part in (rows, rows[:13], rows[13:14], rows[14:]):
        found = made.put_gradients(policy, critic, part, targets.at(part), minibatch)
        gradients = [p.grad.clone() for network in (policy, critic) for p in network.parameters()]
        sums.append([torch.tensor(found), *gradients])
    for whole, *parts in zip(*sums, strict=True):
        torch.testing.assert_close(sum(parts), whole, rtol=1e-4, atol=1e-6)
