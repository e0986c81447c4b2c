"""The same engine on a GPU. Run with ``pytest -m cuda`` where there is one."""

import pytest
import torch

import nsa_cli as nsa

from helpers import random_instances

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_answers_from_a_gpu_are_exact_and_repeat(problem):
    """The same seed gives the same answer on the device, and the exact objective is reported."""
    size = 2 if problem.name == "rosenbrock" else 30
    tasks = [nsa.Task(problem, i) for i in random_instances(problem, size, 4)]
    first, second = (nsa.solve_many(tasks, device="cuda", steps=500, seed=1, init="paper") for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert a.instance.violation(a.raw) is None
        assert a.objective == a.instance.objective(a.raw) == b.objective
        assert a.device.startswith("cuda")


def test_random_numbers_are_those_of_the_cpu():
    """Counters and shifts are integers: the same bits everywhere."""
    from nsa_cli.core.draws import uniforms_torch

    keys = torch.arange(100)
    assert torch.equal(uniforms_torch(keys, 0, 50, 3), uniforms_torch(keys.cuda(), 0, 50, 3).cpu())
