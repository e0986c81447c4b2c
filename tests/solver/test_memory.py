"""Batches that fit into a device's memory, and what happens to those that do not."""

from __future__ import annotations

import time
import weakref
from typing import Any

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.core.errors import InputError, NoMemoryError
from nsa_cli.core.machine import is_out_of_memory
from nsa_cli.problems import builtin_names
from nsa_cli.solver import search_torch
from nsa_cli.solver.batch import batches
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_each

OPTIONS = {"backend": "torch", "device": "cpu", "seed": 3, "steps": 40, "chains": 2, "bound": False}

CUDA_SAYS = "CUDA out of memory. Tried to allocate 2.00 GiB."


class Device:
    """Stands in for a device with room for so many chains: more are refused, made or in their first step."""

    def __init__(self, rows: int, error: BaseException, *, late: bool = False) -> None:
        self.rows, self.error, self.late = rows, error, late
        self.tried: list[int] = []
        self.held: list[weakref.ref[Any]] = []

    def chains(self, operations: Any, batch: Any, policy: Any, x: Any, keys: Any, **options: Any) -> Any:
        assert not [ref for ref in self.held if ref() is not None], "a failed batch is still in memory"
        self.tried.append(len(x))
        made = TorchChains(operations, batch, policy, x, keys, **options)
        if len(x) > self.rows:
            self.held.append(weakref.ref(made.state.x))
            if not self.late:
                self._fail()
            made.advance = self._fail  # type: ignore[method-assign]
        return made

    def _fail(self, *_: Any) -> None:
        raise type(self.error)(*self.error.args)  # one that is kept would keep what it met


TorchChains = search_torch.TorchChains


ERRORS = [
    torch.cuda.OutOfMemoryError(CUDA_SAYS),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 80 bytes"),
    MemoryError(),
]


@pytest.mark.parametrize(
    ("name", "error", "late"),
    [(name, ERRORS[0], name < "f") for name in builtin_names()] + [("bin", e, True) for e in ERRORS[1:]],
)
def test_a_batch_too_large_is_halved_and_its_answers_are_those_of_each_alone(
    name: str, monkeypatch: pytest.MonkeyPatch, error: BaseException, late: bool
) -> None:
    """Down to what there is room for; memory of what failed is free before the next try."""
    tasks = nsa.generate(name, 2 if name == "rosenbrock" else 12, 7, seed=1)
    alone = [nsa.solve(task, **OPTIONS) for task in tasks]
    device = Device(4, error, late=late)
    monkeypatch.setattr(search_torch, "TorchChains", device.chains)
    together = nsa.solve_many(tasks, **OPTIONS)
    assert device.tried == [14, 8, 4, 4, 6, 4, 2]
    for one, other in zip(alone, together, strict=True):
        assert one.objective == other.objective
        assert (np.asarray(one.raw) == np.asarray(other.raw)).all()


def test_what_did_not_fit_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that come later are halved before they fail."""
    device = Device(4, torch.cuda.OutOfMemoryError(CUDA_SAYS))
    monkeypatch.setattr(search_torch, "TorchChains", device.chains)
    monkeypatch.setattr("nsa_cli.solver.batch._BATCH_ELEMENTS", 12 * 8)
    tasks = nsa.generate("knapsack", 12, 12, seed=1)
    results = nsa.solve_many(tasks, **OPTIONS)
    assert [result.instance.name for result in results] == [task.instance.name for task in tasks]
    assert device.tried == [8, 4, 4, 4, 4, 4, 4]


def test_instances_too_large_by_themselves_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an error of ours, each by itself."""
    device = Device(1, torch.cuda.OutOfMemoryError(CUDA_SAYS))
    monkeypatch.setattr(search_torch, "TorchChains", device.chains)
    tasks = [*nsa.generate("tsp", 12, 2, seed=1), *nsa.generate("bin", 9, 1, seed=1)]
    found = dict(solve_each(tasks, Settings(**OPTIONS)))
    assert [type(found[i]) for i in range(3)] == [NoMemoryError] * 3
    with pytest.raises(NoMemoryError, match="out of memory; give fewer chains"):
        nsa.solve(tasks[0], **OPTIONS)


def test_parts_of_a_batch_share_the_time_that_is_left() -> None:
    """The first half does not take it all."""
    tasks = nsa.generate("tsp", 12, 4, seed=1)
    settings = Settings(**{**OPTIONS, "steps": None}, time_limit=20.0, policy="uniform")
    (batch,) = batches(tasks, settings, settings.clock())
    first, second = parts = list(batch.split(2))
    assert [len(part.tasks) for part in parts] == [2, 2]
    assert [*first.places, *second.places] == batch.places
    now, end = time.monotonic(), batch.clock.end
    assert first.clock.end == pytest.approx(now + (end - now) / 2, abs=0.5)
    assert second.clock.end == pytest.approx(end, abs=0.5)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.cuda.OutOfMemoryError(CUDA_SAYS), True),
        (NoMemoryError(), True),
        (MemoryError(), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (ValueError("out of memory"), False),
        (InputError("out of memory", "x"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_errors_of_memory_are_told_from_others(error: BaseException, expected: bool) -> None:
    """By their type, by their text where torch has none for them; or by the error that they follow from."""
    assert is_out_of_memory(error) is expected
    later = RuntimeError("CUDA error: operation failed due to a previous error during capture")
    later.__context__ = error
    assert is_out_of_memory(later) is expected
