"""The shipped policies on the paper's test sets: better than what the paper prints."""

import json
from copy import copy
from pathlib import Path

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.schedule import Schedule
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.build import build
from nsa_cli.policy.checkpoint import read
from nsa_cli.policy.gaussian import ConstantGaussianPolicy

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
SHIPPED = sorted(CHECKPOINTS.glob("*.json"))


def mean_objective(policy, size, count, steps, start="paper", **options):
    """Run the paper's protocol (its start, its units, one chain) with a shipped policy's temperatures."""
    data = json.loads((CHECKPOINTS / f"{policy}.json").read_text())
    problem = nsa.find_problem(data["problem"])
    instances = problem.paper_set(size, count)
    tasks = [nsa.Task(problem, instance, stream=k) for k, instance in enumerate(instances)]
    heat = {key: data["schedule"][key] for key in ("t_start", "t_end")}
    results = nsa.solve_many(
        tasks,
        steps=steps,
        seed=1,
        chains=1,
        init=start,
        unit=1.0,
        policy=policy,
        bound=False,
        **heat,
        **options,
    )
    return np.mean([r.objective for r in results])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_every_shipped_policy_says_how_it_came_about(path):
    """Name, problem, preset-sized training, a score; and it loads."""
    data = json.loads(path.read_text())
    assert data["name"] == path.stem
    assert path.stem.startswith(data["problem"] + "-" + data["training"]["method"])
    assert np.isfinite(data["validation"])
    neighbourhood = nsa.find_problem(data["problem"]).neighbourhood(data.get("neighbourhood", "paper"))
    policy = build(read(path, data["problem"]), neighbourhood.operations())
    assert policy.trained.size == data["training"]["size"]


def test_default_policies_are_shipped(problem):
    """What solve takes by default is there, at every size."""
    for size in (2, 10, 30, 300):
        (task,) = nsa.generate(problem.name, size, 1, 0)
        for neighbourhood in problem.neighbourhoods:
            name = neighbourhood.default_policy(task.instance)
            assert name == "uniform" or (CHECKPOINTS / f"{name}.json").is_file()


@pytest.mark.parametrize(("size", "mean"), [(50, 27.624), (100, 53.797)])
def test_greedy_bin_packing_gives_the_known_numbers_exactly(size, mean):
    """The paper prints 27.62 and 53.80: as the paper trains, greedy moves fill bins in one way."""
    assert mean_objective("bin-es-paper", size, 1000, "1N", greedy=True) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(
    ("policy", "size", "count", "steps", "better_than"),
    [
        ("knapsack-es-best", 50, 1000, "10N", 19.95),
        ("bin-es-best", 50, 1000, "10N", 27.101),
        ("bin-es-bins", 50, 1000, "10N", 27.24),
        ("bin-ppo-best", 50, 1000, "1N", 27.95),
        ("bin-ppo-best", 50, 1000, "10N", 27.32),
        ("bin-ppo-best", 100, 1000, "2N", 54.27),
    ],
)
def test_the_papers_cells_are_beaten(policy, size, count, steps, better_than):
    """On the whole test set: by ES the best cell, at K = 10 N; by PPO also those of shorter chains."""
    ours = mean_objective(policy, size, count, steps)
    assert ours > better_than if policy.startswith("knapsack") else ours < better_than


def test_the_papers_tsp20_is_beaten_at_a_tenth_of_its_steps(shared):
    """The paper's gap is 0.76 % at K = N^2 and 0.05 % at 10 N^2; ours is below 0.4 % at N^2."""
    reference = np.load(shared / "data" / "reference" / "tsp20_opt.npy")[:500].mean()
    assert mean_objective("tsp-ppo-best", 20, 500, "N2") / reference - 1 < 0.004


def valley_runs(policy, sigma=None):
    """4,096 random functions, a chain and a stream each: lowest values, early acceptance, sigma.

    Returns mean, median, share of the first 20 steps that are accepted, and mean sigma first and last.
    """
    problem = nsa.find_problem("rosenbrock")
    operations = copy(problem.neighbourhood("paper").operations())
    operations.sigma = sigma or operations.sigma
    rng = np.random.default_rng(11)
    instances = [problem.generate(2, rng) for _ in range(4096)]
    keys = torch.from_numpy(stream_keys(5, np.arange(len(instances))))
    batch = operations.pack(instances, unit=1.0)
    x = torch.from_numpy(np.stack([i.x0 for i in instances]))
    chains = TorchChains(operations, batch, policy, x, keys)
    temperatures = Schedule(100, 1.0, 0.01).temperatures(0, 100)
    first = chains.state.x.clone()
    chains.advance(temperatures[:20])
    early = chains.state.accepted.double().mean() / 20
    chains.advance(temperatures[20:])
    state = chains.state
    sigmas = [0.0, 0.0]
    if sigma is None:
        sigmas = [
            float(policy.sigma(operations, batch, x, torch.tensor(temperatures[0])).mean())
            for x in (first, state.x)
        ]
    return float(state.best_energy.mean()), float(state.best_energy.median()), float(early), sigmas


@pytest.mark.parametrize("name", ["rosenbrock-es-best", "rosenbrock-ppo-best"])
def test_an_adaptive_sigma_beats_every_constant_one(name):
    """The claims of the paper: lower mean and median than any, more accepted early, sigma falls."""
    operations = nsa.find_problem("rosenbrock").neighbourhood("paper").operations()
    learnt = build(read(CHECKPOINTS / f"{name}.json", "rosenbrock"), operations)
    constant = [valley_runs(ConstantGaussianPolicy(), sigma) for sigma in (0.1, 0.15, 0.2, 0.3, 0.5)]
    mean, median, early, (begin, end) = valley_runs(learnt)
    assert mean < min(c[0] for c in constant)
    assert median < min(c[1] for c in constant)
    assert early > min(constant)[2]  # of the one with the best mean
    assert end < begin / 2
