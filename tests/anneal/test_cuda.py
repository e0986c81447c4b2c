"""The same engine on a GPU. Run with ``pytest -m cuda`` where there is one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.footprint import footprint
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
def test_a_graph_does_what_its_step_does(problem: Any, neighbourhood: Any, policy: Any) -> None:
    """Bit for bit, in any chunks."""
    temperatures = np.geomspace(0.5, 0.02, 300)
    replayed = chains_of(problem, neighbourhood, policy)
    called = chains_of(problem, neighbourhood, policy, captured=False)
    for part in np.split(temperatures, [1, 2, 30, 31, 200]):
        replayed.advance(part)
    called.advance(temperatures)
    assert (replayed.is_captured, called.is_captured) == (True, False)
    assert replayed.accepted.sum() > 0 or getattr(policy, "greedy", False)
    assert_same(replayed, called)


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Any wait for the device is an error."""
    before = torch.cuda.get_sync_debug_mode()
    yield
    torch.cuda.set_sync_debug_mode(before)


@pytest.mark.parametrize("captured", [True, False])
@pytest.mark.parametrize(("problem", "neighbourhood", "policy"), list(cases()))
def test_within_a_chunk_the_host_does_not_wait(
    problem: Any, neighbourhood: Any, policy: Any, captured: bool, no_waiting: None
) -> None:
    """A chunk's numbers are copied at its beginning; from there on nothing is."""
    chains = chains_of(problem, neighbourhood, policy, captured=captured)
    chains.advance(np.full(5, 0.3))  # warm, and captured
    chains._stepper.load(np.full(20, 0.3), np.full(20, 0.3))
    torch.cuda.set_sync_debug_mode("error")
    with torch.inference_mode():
        chains._replay.run(20)


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


@pytest.mark.parametrize(("problem", "neighbourhood", "policy"), list(cases()))
def test_the_dry_run_knows_the_memory_of_a_step(problem: Any, neighbourhood: Any, policy: Any) -> None:
    """Up to what libraries and the allocator's blocks take, and one chunk's random numbers."""
    rows, size = 4096, 2 if problem.name == "rosenbrock" else 100
    (instance,) = random_instances(problem, size, 1)
    operations = neighbourhood.operations()
    x = starts_of(problem, [instance], "paper")
    one = footprint(operations, policy, instance, x, None).device
    gc.collect()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    chains = chains_of(problem, neighbourhood, policy, rows=rows, size=size)
    chains.advance(np.full(6, 0.3))
    used = torch.cuda.max_memory_allocated() - before
    assert used < 1.4 * rows * one + 2**28
    del chains
    gc.collect()
    assert torch.cuda.memory_allocated() - before < 2**26


def test_a_training_runs_on_a_device(tmp_path: Any) -> None:
    """A population's networks, each with its share of the rows, in one graph."""
    problem = nsa.find_problem("knapsack")
    config = choose_config(type(problem).__module__, TrainOptions(preset="paper", size=20, epochs=2), None)
    run = Training(problem, config, 1, tmp_path / "p.json", CUDA)
    train_es(run)
    assert (tmp_path / "p.json").exists()
