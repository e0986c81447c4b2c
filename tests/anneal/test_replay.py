"""Steps that a GPU can replay: same operations, same addresses, and nothing that waits for the device.

There is no GPU here. Tensors without data (``meta``) refuse whatever needs a value, as a capture does, and
tell what would be copied from or to the host.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import nsa_cli as nsa
from nsa_cli.anneal import engine
from nsa_cli.anneal.engine import Replay, Stepper, TorchChains
from nsa_cli.core.draws import stream_keys
from nsa_cli.policy.slots import SlotPolicy
from nsa_cli.problems.tsp.distances import METRICS
from random_policies import assert_same, cases, policies

from helpers import random_instances, starts_of

ROWS, SIZE = 4, 20

#: What a capture refuses: values on the host, shapes that depend on data, a generator's state.
FORBIDDEN = ["item", "local_scalar", "nonzero", "masked_select", "unique", "equal", "rand", "bernoulli"]


class Watch(TorchDispatchMode):
    """Notes each operation, and every tensor of one that is not on the device."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.elsewhere: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.operations.append(str(func))
        tensors = [x for x in tree_leaves((args, kwargs, out)) if isinstance(x, torch.Tensor)]
        self.elsewhere += [str(func) for x in tensors if x.device.type != "meta"]
        return out


def metrics() -> list[Any]:
    """Tours by each way to measure an edge."""
    tsp, rng = nsa.find_problem("tsp"), np.random.default_rng(0)
    planar = rng.integers(0, 80, (SIZE, 2)).tolist()
    solid = rng.integers(0, 80, (SIZE, 3)).tolist()
    kinds = {kind: solid if kind.endswith("3D") else planar for kind in METRICS}
    found = [tsp.from_record({"coords": c, "edge_weight_type": kind}) for kind, c in kinds.items()]
    return [
        *found,
        tsp.from_record({"matrix": rng.integers(1, 9, (SIZE, SIZE)).tolist(), "symmetric": False}),
    ]


def stepper(operations: Any, policy: Any, instances: list[Any], x: torch.Tensor, device: str) -> Stepper:
    keys = torch.from_numpy(stream_keys(0, np.arange(len(x)))).to(device)
    batch = operations.pack(instances, device)
    moved = deepcopy(policy).to(device) if isinstance(policy, torch.nn.Module) else policy
    return Stepper(operations, batch, moved, x.to(device), keys)


def watched(stepped: Stepper) -> list[Watch]:
    """Take some steps: as composed of basic operations, and as they are taken."""
    found = []
    for mode in (torch.no_grad, torch.no_grad, torch.inference_mode):
        with mode(), Watch() as watch:
            stepped.take()
        found.append(watch)
    return found


def check(stepped: Stepper) -> None:
    stepped.load(np.full(4, 0.5), np.full(4, 0.5))
    tensors = [v for v in (*vars(stepped).values(), *stepped.state) if isinstance(v, torch.Tensor)]
    before = [id(v.untyped_storage()) for v in tensors]
    first, second, *_ = found = watched(stepped)
    for watch in found:
        assert watch.elsewhere == []
        assert not [name for name in watch.operations if any(word in name for word in FORBIDDEN)]
    assert first.operations == second.operations  # the same kernels in each step
    after = [v for v in (*vars(stepped).values(), *stepped.state) if isinstance(v, torch.Tensor)]
    assert [id(v.untyped_storage()) for v in after] == before


@pytest.mark.parametrize(("problem", "neighbourhood", "policy"), list(cases()))
def test_a_step_waits_for_nothing_and_changes_its_tensors_in_place(
    problem: Any, neighbourhood: Any, policy: Any
) -> None:
    """No value on the host, no shape that depends on data, nothing copied to or from the host."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else SIZE, ROWS)
    x = starts_of(problem, instances, "paper")
    check(stepper(neighbourhood.operations(), policy, instances, x, "meta"))


@pytest.mark.parametrize("instance", metrics(), ids=lambda i: i.edge_weight_type)
def test_so_does_one_by_any_metric(instance: Any) -> None:
    """Features with lengths, too."""
    problem = nsa.find_problem("tsp")
    inner = problem.searched(instance)
    for neighbourhood in (problem.neighbourhood("paper"), problem.neighbourhood("nearest:5")):
        operations = neighbourhood.operations()
        name = list(operations.feature_sets)[-1]
        policy = SlotPolicy(operations.feature_sets[name].slots, name)
        x = starts_of(problem, [inner] * 2, "random")
        check(stepper(operations, policy, [inner] * 2, x, "meta"))


def test_watching_sees_what_a_capture_refuses() -> None:
    """Or the tests above could not fail."""
    x = torch.ones(3, device="meta")
    for wrong in (lambda: x.sum().item(), lambda: x[x > 0], lambda: x.nonzero(), lambda: bool(x.any())):
        with pytest.raises((RuntimeError, NotImplementedError)), Watch():
            wrong()
    with Watch() as watch:
        x.copy_(torch.ones(3))
        torch.rand(3, device="meta")
    assert "aten.copy_.default" in watch.elsewhere
    assert any(word in name for name in watch.operations for word in FORBIDDEN)


# --- warm-up, capture and replays, with a stand-in for the device ------------------------------------------


class Recording(TorchDispatchMode):
    """Takes operations down with their tensors, as a capture does; what they changed is put back."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, Any, Any, Any]] = []
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for given, argument in zip(args, func._schema.arguments, strict=False):
            written = argument.alias_info is not None and argument.alias_info.is_write
            if written and given.untyped_storage().data_ptr() not in self._before:
                whole = given._base if given._is_view() else given
                self._before[given.untyped_storage().data_ptr()] = whole, whole.clone()
        out = func(*args, **(kwargs or {}))
        self.operations.append((func, args, kwargs or {}, out))
        return out

    def undo(self) -> None:
        for tensor, value in self._before.values():
            tensor.copy_(value)

    def replay(self) -> None:
        """Do the operations again, with the same tensors in and out, whatever their values are now."""
        for func, args, kwargs, out in self.operations:
            pairs = zip(tree_leaves(out), tree_leaves(func(*args, **kwargs)), strict=True)
            for mine, new in pairs:
                if isinstance(mine, torch.Tensor) and mine.data_ptr() != new.data_ptr():
                    mine.copy_(new)


class Device:
    """Stands in for CUDA: streams that are noted, and graphs that are recordings of operations on the CPU."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.streams = 0

    def stream_of(self, name: str) -> Any:
        wait = lambda other: self.events.append(("wait", name, other.name))  # noqa: E731
        return SimpleNamespace(name=name, device="cuda:0", wait_stream=wait)

    def new_stream(self, _: Any) -> Any:
        self.streams += 1
        return self.stream_of("side")

    @contextmanager
    def on(self, stream: Any) -> Iterator[None]:
        self.events.append(("on", stream.name))
        yield
        self.events.append("off")

    def new_graph(self) -> Any:
        recording = Recording()

        def again() -> None:
            self.events.append("replay")
            recording.replay()

        return SimpleNamespace(recording=recording, replay=again)

    @contextmanager
    def capture(self, graph: Any, *, stream: Any, capture_error_mode: str) -> Iterator[None]:
        self.events.append(("capture", stream.name, capture_error_mode))
        with graph.recording:
            yield
        graph.recording.undo()


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Device:
    """Chains of the reference engine are on the stand-in."""
    made = Device()
    current = made.stream_of("current")
    monkeypatch.setattr(torch.cuda, "Stream", made.new_stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: current)
    monkeypatch.setattr(torch.cuda, "stream", made.on)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", made.new_graph)
    monkeypatch.setattr(torch.cuda, "graph", made.capture)

    def there(work: Any, _: torch.device, **options: Any) -> Replay:
        return Replay(work, torch.device("cuda"), **options)

    monkeypatch.setattr(engine, "Replay", there)
    return made


def chains_of(problem: Any, rows: int = 3, **options: Any) -> TorchChains:
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 12, rows)
    operations = problem.neighbourhood("paper").operations()
    policy = dict(policies(operations))["gaussian" if problem.name == "rosenbrock" else "paper"]
    keys = torch.from_numpy(stream_keys(0, np.arange(rows)))
    x = starts_of(problem, instances, "paper")
    return TorchChains(operations, operations.pack(instances), policy, x, keys, **options)


@pytest.mark.parametrize(("problem", "neighbourhood", "policy"), list(cases()))
def test_a_recorded_step_replayed_is_the_step(
    problem: Any, neighbourhood: Any, policy: Any, cuda: Device
) -> None:
    """Bit for bit: nothing of it is decided, or remembered, outside of its tensors."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 12, ROWS)
    operations, x = neighbourhood.operations(), starts_of(problem, instances, "paper")
    keys, batch = torch.from_numpy(stream_keys(0, np.arange(ROWS))), operations.pack(instances)
    replayed, called = (
        TorchChains(operations, batch, policy, x, keys, captured=captured) for captured in (True, False)
    )
    temperatures = np.geomspace(0.5, 0.05, 30)
    for part in np.split(temperatures, [1, 7]):
        replayed.advance(part)
    called.advance(temperatures)
    assert (replayed.is_captured, called.is_captured, cuda.events.count("replay")) == (True, False, 27)
    assert_same(replayed, called)


def test_a_capture_comes_after_a_warm_up_on_its_stream_and_waits_for_no_host(cuda: Device) -> None:
    """Three steps, then one capture that counts as none; the streams wait for each other at each chunk."""
    chains = chains_of(nsa.find_problem("bin"))
    chains.advance(np.full(2, 0.5))
    enter, leave = [("wait", "side", "current"), ("on", "side")], ["off", ("wait", "current", "side")]
    assert cuda.events == [*enter, *leave]
    cuda.events.clear()
    chains.advance(np.full(4, 0.5))
    capture = ("capture", "side", "thread_local")
    assert cuda.events == [*enter, capture, *["replay"] * 3, *leave]
    cuda.events.clear()
    chains.advance(np.full(3, 0.5))
    assert cuda.events == [*enter, *["replay"] * 3, *leave]
    assert cuda.streams == 1


@pytest.mark.parametrize("captured", [False, True])
def test_changes_are_those_of_each_step(problem: Any, captured: bool, cuda: Device) -> None:
    """Sampling moves one by one is the same walk."""
    sampled, walked = chains_of(problem, captured=captured), chains_of(problem, captured=False)
    temperatures = np.full(40, 0.3)
    found = sampled.changes(temperatures)
    walked.advance(temperatures)
    assert found.shape == (40, 3)
    assert torch.equal(sampled.state.x, walked.state.x)
    assert len(np.unique(found)) > 1


def test_chunks_longer_than_the_room_for_their_numbers_are_cut(
    problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where that is changes nothing."""
    whole = chains_of(problem)
    monkeypatch.setattr("nsa_cli.anneal.engine._CHUNK_DRAWS", 100)
    cut = chains_of(problem)
    assert cut.most < 20 < whole.most
    temperatures = np.geomspace(0.5, 0.05, 100)
    whole.advance(temperatures)
    cut.advance(temperatures)
    assert cut.step == whole.step == 100
    assert torch.equal(cut.state.best_energy, whole.state.best_energy)
    assert torch.equal(cut.state.x, whole.state.x)


def test_what_the_caller_gave_stays_as_it_is(problem: Any) -> None:
    """First solutions belong to the caller, who may start other chains from them."""
    instances = random_instances(problem, 2 if problem.name == "rosenbrock" else 12, 3)
    x = starts_of(problem, instances, "paper")
    kept, operations = x.clone(), problem.neighbourhood("paper").operations()
    keys = torch.from_numpy(stream_keys(0, np.arange(3)))
    policy = dict(policies(operations))["uniform"]
    chains = TorchChains(operations, operations.pack(instances), policy, x, keys)
    chains.advance(np.full(50, 0.5))
    assert chains.accepted.sum() > 0
    assert torch.equal(x, kept)


def test_chains_leave_no_memory_behind(problem: Any) -> None:
    """Nothing refers to itself: a batch's tensors are gone when the batch is, before the next one is made."""
    chains = chains_of(problem)
    chains.advance(np.full(5, 0.5))
    energy = weakref.ref(chains.state.energy)
    gc.collect()
    gc.disable()
    try:
        del chains
        assert energy() is None
    finally:
        gc.enable()
