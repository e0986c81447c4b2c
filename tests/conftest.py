"""What several tests need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.draws import START, stream_keys, uniforms
from nsa_cli.problems import builtin_names

#: Test data that is not part of the project; tests that need it skip without it.
SHARED = Path(__file__).resolve().parents[1] / ".." / "shared"


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Two busy processes with two threads each are slower than with one."""
    torch.set_num_threads(1)


@pytest.fixture(params=builtin_names())
def problem(request: pytest.FixtureRequest) -> Any:
    """Every problem in turn."""
    return nsa.find_problem(request.param)


@pytest.fixture
def shared() -> Path:
    """The folder of test data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("needs the data beside the checkout")
    return SHARED


def draws_of(stream: int, seed: int = 0):
    """Make the draws that a start takes."""
    key = stream_keys(seed, np.array([stream]))
    return lambda n: uniforms(key, START, n)[:, 0]


def starts_of(problem: Any, instances: list[Any], name: str | None = None, seed: int = 0) -> torch.Tensor:
    """Stack one start an instance."""
    make = problem.start(name)
    return torch.from_numpy(np.stack([make(i, draws_of(k, seed)) for k, i in enumerate(instances)]))


def random_instances(problem: Any, size: int, count: int, seed: int = 0) -> list[Any]:
    """Draw instances of the problem's own distribution."""
    return [task.instance for task in nsa.generate(problem.name, size, count, seed)]
