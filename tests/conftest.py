"""What several tests need."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import nsa_cli as nsa
from nsa_cli.problems import builtin_names

from helpers import command, environment

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


@pytest.fixture
def start() -> Iterator[Callable[..., list[subprocess.Popen[str]]]]:
    """Start processes of one run as torchrun does, which has the store; none of them outlives the test."""
    from torch.distributed import TCPStore

    started: list[subprocess.Popen[str]] = []
    stores: list[Any] = []

    def run(count: int, *words: object) -> list[subprocess.Popen[str]]:
        stores.append(TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False))
        shared = {
            "WORLD_SIZE": count,
            "LOCAL_WORLD_SIZE": count,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": stores[-1].port,
            "TORCHELASTIC_USE_AGENT_STORE": True,
        }
        mine = [
            subprocess.Popen(
                command(*words),
                env=environment(RANK=rank, LOCAL_RANK=rank, **shared),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ]
        started.extend(mine)
        return mine

    yield run
    for process in started:
        process.kill()
        process.communicate()
