"""What several tests need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import nsa_cli as nsa
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
