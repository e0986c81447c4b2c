"""Batches that fit into a device's memory, and what happens to those that do not."""

from __future__ import annotations

import gc
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nsa_cli as nsa
from nsa_cli.anneal.footprint import _Memory, footprint
from nsa_cli.core.errors import InputError, NoMemoryError
from nsa_cli.core.memory import is_out_of_memory
from nsa_cli.policy.build import find_policy
from nsa_cli.problems import builtin_names
from nsa_cli.solver import search_torch
from nsa_cli.solver.batch import batches
from nsa_cli.solver.choose import choose
from nsa_cli.solver.plan import plan
from nsa_cli.solver.settings import Settings
from nsa_cli.solver.solve import solve_each

from helpers import starts_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

OPTIONS: dict[str, Any] = {
    "backend": "torch",
    "device": "cpu",
    "seed": 3,
    "steps": 40,
    "chains": 2,
    "bound": False,
}

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
    monkeypatch.setattr("nsa_cli.solver.search._BATCH_ELEMENTS", 12 * 8)
    tasks = nsa.generate("knapsack", 12, 12, seed=1)
    results = nsa.solve_many(tasks, **OPTIONS)
    assert [result.instance.name for result in results] == [task.instance.name for task in tasks]
    assert device.tried == [8, 4, 4, 4, 4, 4, 4]


def test_an_instance_too_large_by_itself_is_named_and_does_not_stop_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As an error of ours, with its exit code."""
    device = Device(1, torch.cuda.OutOfMemoryError(CUDA_SAYS))
    monkeypatch.setattr(search_torch, "TorchChains", device.chains)
    tasks = [*nsa.generate("tsp", 12, 2, seed=1), *nsa.generate("bin", 9, 1, seed=1)]
    found = dict(solve_each(tasks, Settings(**OPTIONS)))
    assert [type(found[i]) for i in range(3)] == [NoMemoryError] * 3
    assert NoMemoryError.exit_code == 1
    device.rows = 2
    found = dict(solve_each(tasks, Settings(**OPTIONS)))
    assert not [i for i in range(3) if isinstance(found[i], Exception)]
    device.rows = 0
    with pytest.raises(NoMemoryError, match="out of memory; give fewer chains"):
        nsa.solve(tasks[0], **OPTIONS)


def test_the_command_says_it_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Wherever the error comes from."""
    from nsa_cli.cli.main import exit_code

    device = Device(0, torch.cuda.OutOfMemoryError(CUDA_SAYS))
    monkeypatch.setattr(search_torch, "TorchChains", device.chains)
    arguments = ["solve", str(EXAMPLES / "capitals.csv"), "--backend", "torch", "--device", "cpu"]
    assert exit_code([*arguments, "--steps", "5", "--no-bound"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "out of memory; give fewer chains" in told.err
    assert told.err.count("\n") == 1


def test_parts_of_a_batch_share_the_time_that_is_left() -> None:
    """The first half does not take it all."""
    tasks = nsa.generate("tsp", 12, 4, seed=1)
    settings = Settings(**{**OPTIONS, "steps": None}, time_limit=20.0, policy="uniform")
    (batch,) = batches(tasks, settings, settings.clock())
    first, second = parts = list(batch.split(2))
    assert [len(part.tasks) for part in parts] == [2, 2]
    assert first.plan.places + second.plan.places == batch.plan.places
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
    """By their type, and where torch has none for them by their text."""
    assert is_out_of_memory(error) is expected


def test_an_error_that_follows_from_one_of_memory_is_one() -> None:
    """A capture that was broken off fails once more at its end."""
    later = RuntimeError("CUDA error: operation failed due to a previous error during capture")
    assert not is_out_of_memory(later)
    later.__context__ = torch.cuda.OutOfMemoryError(CUDA_SAYS)
    assert is_out_of_memory(later)


# --- how many chains fit -------------------------------------------------------------------------------


def test_memory_of_tensors_is_added_up_while_they_live() -> None:
    """Views share theirs; what is gone counts at its peak only; other devices do not count."""
    with _Memory() as memory:
        a = torch.zeros(1000, dtype=torch.float64, device="meta")
        b = (a + 1).reshape(10, 100)[3:]
        torch.zeros(5000)
        assert memory.bytes == 16_000
        del a
        assert memory.bytes == 8_000
        b = b + b.new_zeros(())
        gc.collect()
        assert memory.bytes == 8 * 700
        b.add_(1)
    assert memory.most == 16_000


def of(name: str, size: int, policy: str) -> Any:
    (task,) = nsa.generate(name, size, 1, seed=1)
    operations = task.problem.neighbourhood("paper").operations()
    x = starts_of(task.problem, [task.instance], "paper")
    found = find_policy(policy, name, operations)
    return footprint(operations, found, task.instance, x, None)


def test_a_chain_takes_what_its_tensors_do(problem: Any) -> None:
    """More with a network, and in proportion to the size."""
    sizes = (2, 4) if problem.name == "rosenbrock" else (200, 400)
    small, large = (of(problem.name, size, "uniform") for size in sizes)
    assert large.device == pytest.approx(2 * small.device, rel=0.5 if problem.name == "rosenbrock" else 0.02)
    assert large.host > small.host > 0
    least = {"tsp": 5 * 8, "bin": 4 * 8, "knapsack": 3 + 3 * 8, "rosenbrock": 4 * 8}[problem.name]
    assert small.device > least * sizes[0]  # solutions and instance
    learnt = of(problem.name, sizes[0], f"{problem.name}-es-paper")
    assert learnt.device > small.device


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A device whose memory is as these numbers say."""
    numbers = {"free": 10**9, "reserved": 0, "allocated": 0}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (numbers["free"], 10**12))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: numbers["reserved"])
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: numbers["allocated"])
    return numbers


def on_cuda(task: Any, **options: Any) -> Any:
    """Choose the reference engine for a device that is not there."""
    settings = Settings(**{**OPTIONS, "policy": "uniform", **options})
    found = choose(task, settings.policy, settings, "cpu", 1)
    object.__setattr__(found, "device", "cuda:0")
    return found


def test_a_batch_on_a_device_is_as_large_as_its_free_memory(problem: Any, device: dict[str, int]) -> None:
    """Six tenths of what is free or kept by torch for later; twice as much holds twice as many chains."""
    size = 2 if problem.name == "rosenbrock" else 50
    (task,) = nsa.generate(problem, size, 1, seed=1)
    search = on_cuda(task)
    one = search.chains_at_once(task)
    assert one == pytest.approx(0.6e9 / of(problem.name, size, "uniform").device, rel=0.01)
    device["free"] = 2 * 10**9
    assert search.chains_at_once(task) == pytest.approx(2 * one, rel=0.01)
    device |= {"free": 10**9, "reserved": 3 * 10**9, "allocated": 2 * 10**9}
    assert search.chains_at_once(task) == pytest.approx(2 * one, rel=0.01)
    device |= {"free": 1, "reserved": 0, "allocated": 0}
    assert search.chains_at_once(task) == 1  # tried all the same


def test_the_machine_has_to_hold_what_a_batch_is_put_together_from(
    device: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device may have more memory than the machine."""
    (task,) = nsa.generate("tsp", 50, 1, seed=1)
    search = on_cuda(task)
    monkeypatch.setattr(search_torch, "memory", lambda: 10**7)
    assert search.chains_at_once(task) == pytest.approx(0.3e7 / of("tsp", 50, "uniform").host, rel=0.01)


def test_the_plan_takes_batches_of_that_size(device: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole instances, at least one; the place of each is kept."""
    tasks = nsa.generate("knapsack", 50, 7, seed=1)
    search = on_cuda(tasks[0])
    monkeypatch.setattr("nsa_cli.solver.plan.choose", lambda *_: search)
    device["free"] = int(3.5 * 2 * of("knapsack", 50, "uniform").device / 0.6)
    found = plan(tasks, Settings(**OPTIONS, policy="uniform"))
    assert [one.places for one in found] == [(0, 1, 2), (3, 4, 5), (6,)]
