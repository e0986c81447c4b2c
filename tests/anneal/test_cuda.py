"""The same engine on a GPU. Run with ``pytest -m cuda`` where there is one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.core.draws import stream_keys, uniforms_torch
from nsa_cli.train.config import TrainOptions, choose_config
from nsa_cli.train.es import train_es
from nsa_cli.train.loop import Training
from random_policies import assert_same, cases

from helpers import random_instances, starts_of

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

CUDA = torch.device("cuda")


def chains_of(
    problem: Any, neighbourhood: Any, policy: Any, *, rows: int = 8, size: int = 30, **options: Any
) -> TorchChains:
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else size, rows)
    operations = neighbourhood.operations()
    moved = deepcopy(policy).to(CUDA) if isinstance(policy, torch.nn.Module) else policy
    keys = torch.from_numpy(stream_keys(0, np.arange(rows))).to(CUDA)
    x = starts_of(problem, instances, "paper").to(CUDA)
    return TorchChains(operations, operations.pack(instances, CUDA), moved, x, keys, **options)


@pytest.mark.parametrize(("problem", "neighbourhood", "policy"), list(cases()))
def test_chunks_do_not_matter(problem: Any, neighbourhood: Any, policy: Any) -> None:
    """Bit for bit, in any chunks."""
    temperatures = np.geomspace(0.5, 0.02, 300)
    cut, whole = (chains_of(problem, neighbourhood, policy) for _ in range(2))
    for part in np.split(temperatures, [1, 2, 30, 31, 200]):
        cut.advance(part)
    whole.advance(temperatures)
    assert whole.accepted.sum() > 0 or getattr(policy, "greedy", False)
    assert_same(cut, whole)


def test_answers_from_a_gpu_are_exact_and_repeat(problem: Any) -> None:
    """The same seed gives the same answer on the device, and the exact objective is reported."""
    size = 2 if problem.name == "rosenbrock" else 30
    tasks = [nsa.Task(problem, i) for i in random_instances(problem, size, 4)]
    first, second = (nsa.solve_many(tasks, device="cuda", steps=500, seed=1, init="paper") for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a.instance.violation(a.raw) is None
        assert a.objective == a.instance.objective(a.raw) == b.objective
        assert a.device.startswith("cuda")
        assert a.backend == "torch"


def test_random_numbers_are_those_of_the_cpu() -> None:
    """Counters and shifts are integers: the same bits everywhere."""
    keys = torch.arange(100)
    assert torch.equal(uniforms_torch(keys, 0, 50, 3), uniforms_torch(keys.cuda(), 0, 50, 3).cpu())


def test_a_training_runs_on_a_device(tmp_path: Any) -> None:
    """A population's networks, each with its share of the rows, in one graph."""
    problem = nsa.find_problem("knapsack")
    config = choose_config(type(problem).__module__, TrainOptions(preset="paper", size=20, epochs=2), None)
    run = Training(problem, config, 1, tmp_path / "p.json", CUDA)
    train_es(run)
    assert (tmp_path / "p.json").exists()
