"""What tests of several rooms share."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import nsa_cli as nsa
from nsa_cli.core.draws import start_draws, start_solutions, stream_keys

#: Options of a run with little work.
QUICK = ("--steps", "50", "--chains", "2")

#: Keys of the result that scripts may rely on.
KEYS = {
    *("problem", "name", "n", "status", "stop_reason", "objective", "sense", "feasible", "solution"),
    *("bound", "gap", "best_known", "seed", "steps", "chains", "accepted", "policy", "schedule"),
    *("backend", "device", "threads", "seconds", "version"),
}


def draws_of(stream: int, seed: int = 0):
    """Make the draws that a start takes."""
    (key,) = stream_keys(seed, np.array([stream]))
    return partial(start_draws, key)


def starts_of(problem: Any, instances: list[Any], name: str | None = None, seed: int = 0) -> torch.Tensor:
    """Stack one start an instance."""
    keys = stream_keys(seed, np.arange(len(instances)))
    return torch.from_numpy(start_solutions(problem.start(name), instances, keys))


def random_instances(problem: Any, size: int, count: int, seed: int = 0) -> list[Any]:
    """Draw instances of the problem's own distribution."""
    return [task.instance for task in nsa.generate(problem, size, count, seed)]


def command(*words: object) -> list[str]:
    """Give the words that start the command in a process of its own."""
    return [sys.executable, "-m", "nsa_cli", *map(str, words)]


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> None:
    """Wait until something holds, and fail if it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def environment(**variables: Any) -> dict[str, str]:
    """Give the environment of a process that a launcher starts."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TORCHELASTIC", "LOCAL_"))}
    return clean | {"OMP_NUM_THREADS": "1"} | {k: str(v) for k, v in variables.items()}


def ended(processes: Sequence[subprocess.Popen[str]]) -> tuple[list[int], str]:
    """Wait for processes; their exit codes, and what they said on stderr, all as one text."""
    said = [process.communicate(timeout=120)[1] for process in processes]
    return [process.returncode for process in processes], "".join(said)


def child_of_rank(parent: int, rank: int) -> int:
    """Find the process that a launcher gave a rank, by its environment."""
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        if f"\0RANK={rank}\0" in Path(f"/proc/{child}/environ").read_text():
            return int(child)
    raise AssertionError(f"no rank {rank} among the children of {parent}")


def npz(save: Any = np.savez, /, **arrays: Any) -> bytes:
    """Write arrays as NumPy's archive."""
    out = io.BytesIO()
    save(out, **arrays)
    return out.getvalue()


def npy(array: Any) -> bytes:
    """Write an array as NumPy's file."""
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()
