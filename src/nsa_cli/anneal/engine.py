"""The reference engine: simulated annealing of many chains at once, in torch, on any device.

A step is a pure function of state, temperature and random numbers. `Stepper` does it in place, so that a GPU
can replay it as a graph: a step is some hundred small kernels, and to launch them one by one takes longer
than they do. Everything else (stop rules, progress, interrupts) happens between chunks of steps, in
`nsa_cli.anneal.loop`; within a chunk the host never waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nsa_cli.anneal.schedule import TemperatureHold
from nsa_cli.core.draws import uniforms_torch
from nsa_cli.core.operations import Action, Operations
from nsa_cli.core.policy import Policy
from nsa_cli.kernels.annealing import COLD

#: Calls before the capture. They make what is made at first use: handles, workspaces, compiled kernels.
_WARM_UP = 3


class Replay:
    """A function without arguments, whose results are changes of tensors, done many times in a row.

    On a CUDA device the first calls are made one by one, and then one is captured. All run on a stream of
    their own, as a capture has to, which waits for the current one and which the current one waits for: the
    host waits for neither. On other devices it is called.

    Parameters
    ----------
    work : callable
        What it reads and writes is at the same addresses in each call, and it does the same operations; it
        makes no random numbers, and never waits for the device.
    device : torch.device
    captured : bool
        False to call it on CUDA devices, too.
    """

    def __init__(self, work: Callable[[], None], device: torch.device, *, captured: bool = True) -> None:
        self._work, self._cold = work, _WARM_UP
        self._stream: torch.cuda.Stream | None = None
        if captured and device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._replayed: Callable[[], None] | None = None

    @property
    def is_captured(self) -> bool:
        """Whether the next call is a replay."""
        return self._replayed is not None

    def run(self, times: int) -> None:
        """Do the work some times."""
        if self._stream is None:
            for _ in range(times):
                self._work()
            return
        before = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(before)
        with torch.cuda.stream(self._stream):
            for _ in range(times):
                self._next(self._stream)
        before.wait_stream(self._stream)

    def _next(self, stream: torch.cuda.Stream) -> None:
        """Do the work once: by itself while cold, then by a replay; to capture does not do it."""
        if self._cold:
            self._cold -= 1
            self._work()
            return
        if self._replayed is None:
            self._replayed = capture(self._work, stream)
        self._replayed()


def capture(work: Callable[[], None], stream: torch.cuda.Stream) -> Callable[[], None]:
    """Record the kernels of some work as a graph on a stream, without running them; give what replays it."""
    graph = torch.cuda.CUDAGraph()
    # Another thread may use the device meanwhile, as NCCL's does: that is no fault of this capture.
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        work()
    return graph.replay


#: Random numbers made at once, and the steps that they are for, at most.
_CHUNK_DRAWS, _CHUNK_STEPS = 2_000_000, 4096


class AnnealState(NamedTuple):
    """Chains between two steps.

    Attributes
    ----------
    x : [B, …]
        Current solutions.
    energy : float64[B]
        Of `x`, in file units.
    best, best_energy : [B, …], float64[B]
        Lowest seen; ``cost(best) == best_energy``.
    accepted : int64[B]
        Moves made.
    step : int
        Steps done.
    """

    x: Tensor
    energy: Tensor
    best: Tensor
    best_energy: Tensor
    accepted: Tensor
    step: int


def start(operations: Operations[Any, Any], batch: Any, x: Tensor) -> AnnealState:
    """Put chains at their first solutions."""
    energy = operations.cost(batch, x)
    accepted = torch.zeros(len(x), dtype=torch.int64, device=x.device)
    return AnnealState(x, energy, x, energy, accepted, 0)


class StepInfo(NamedTuple):
    """Proposals and decisions of one step, for training and diagnostics.

    Attributes
    ----------
    action : tuple of tensors [B, …]
    possible : bool[B]
        Whether there was a move at all.
    accepted : bool[B]
    delta : float64[B]
        Energy that the proposed move would add, in file units.
    """

    action: Action
    possible: Tensor
    accepted: Tensor
    delta: Tensor


def step(
    operations: Operations[Any, Any],
    batch: Any,
    policy: Policy,
    state: AnnealState,
    temperature: Tensor,
    u: Tensor,
    *,
    shown: Tensor | None = None,
) -> tuple[AnnealState, StepInfo]:
    """Take chains through one step: propose, weigh, decide (Algorithm 1 of the paper).

    Parameters
    ----------
    temperature : float64, [] or [B]
        In normalised units.
    u : float64[draws + 1, B]
        Uniform numbers: those of the proposal, and last that of the decision.
    shown : float64, [] or [B], optional
        The temperature as the policy sees it; by default the same.
    """
    x, seen = state.x, temperature if shown is None else shown
    action, possible = policy.propose(operations, batch, x, seen, u[:-1])
    delta = operations.delta(batch, x, action)
    moved = operations.apply(batch, x, action)
    accepted = possible & (u[-1].log() < -delta / (temperature * batch.scale).clamp(min=COLD))
    return _decide(state, moved, delta, accepted), StepInfo(action, possible, accepted, delta)


def _decide(state: AnnealState, moved: Tensor, delta: Tensor, accept: Tensor) -> AnnealState:
    """Move the chains that accept; keep the best after the move, not before it."""
    x = torch.where(_over(accept, moved), moved, state.x)
    energy = torch.where(accept, state.energy + delta, state.energy)
    better = energy < state.best_energy
    return AnnealState(
        x,
        energy,
        torch.where(_over(better, x), x, state.best),
        torch.where(better, energy, state.best_energy),
        state.accepted + accept,
        state.step + 1,
    )


def _over(flags: Tensor, like: Tensor) -> Tensor:
    """Give bool[B] the number of axes of `like`."""
    return flags.reshape(-1, *[1] * (like.dim() - 1))


class Stepper:
    """Chains in tensors that stay where they are, with the temperatures and random numbers of a chunk.

    Parameters
    ----------
    operations, batch, policy, x, keys
        As of `TorchChains`.
    """

    def __init__(
        self,
        operations: Operations[Any, Any],
        batch: Any,
        policy: Policy,
        x: Tensor,
        keys: Tensor,
    ) -> None:
        self._parts = operations, batch, policy
        self._keys = keys
        first = start(operations, batch, x.clone())
        self.state = first._replace(best=first.best.clone(), best_energy=first.best_energy.clone())
        #: Energy that the last proposals would have added, float64[B]; 0 where there was none.
        self.change = torch.zeros_like(first.energy)
        #: Choices that make a move, as far as random numbers tell.
        self.choices = policy.draws(operations, x)
        drawn = len(keys) * (self.choices + 1)
        #: Steps that a chunk may have.
        self.most = max(min(_CHUNK_DRAWS // drawn, _CHUNK_STEPS), 1)
        self._heat, self._shown = self.change.new_zeros((2, self.most))
        self._draws = self.change.new_zeros((self.most, self.choices + 1, len(keys)))
        self._next = torch.zeros(1, dtype=torch.int64, device=x.device)

    def load(self, temperatures: NDArray[np.float64], shown: NDArray[np.float64]) -> None:
        """Make ready for the next steps: their temperatures, float64[K], also as the policy sees them."""
        first, count = self.state.step, len(temperatures)
        self._heat[:count].copy_(torch.from_numpy(temperatures))
        self._shown[:count].copy_(torch.from_numpy(shown))
        self._draws[:count].copy_(uniforms_torch(self._keys, first, first + count, self.choices + 1))
        self._next.zero_()
        self.state = self.state._replace(step=first + count)

    def take(self) -> None:
        """Take the next of these steps, in place; nothing here waits for the device."""
        heat, shown, u = (
            part.index_select(0, self._next)[0] for part in (self._heat, self._shown, self._draws)
        )
        moved, info = step(*self._parts, self.state, heat, u, shown=shown)
        for mine, new in zip(self.state[:-1], moved[:-1], strict=True):
            mine.copy_(new)
        self.change.copy_(torch.where(info.possible, info.delta, 0.0))
        self._next += 1


class TorchChains:
    """Chains of the reference engine between two chunks; see `nsa_cli.anneal.chains.Chains`.

    Parameters
    ----------
    operations, batch, policy
        The problem, its instances and the proposals.
    x : [B, …]
        First solutions; they stay as they are.
    keys : int64[B]
        Random streams, see `nsa_cli.core.draws`.
    captured : bool
        Whether a CUDA device replays a step as a graph; it changes nothing else.
    """

    phase = doing = ""

    def __init__(
        self,
        operations: Operations[Any, Any],
        batch: Any,
        policy: Policy,
        x: Tensor,
        keys: Tensor,
        *,
        captured: bool = True,
    ) -> None:
        self._stepper = Stepper(operations, batch, policy, x, keys)
        # No part of it refers to these chains: their memory is free as soon as nobody does.
        self._replay = Replay(self._stepper.take, x.device, captured=captured)
        self.choices, self.most = self._stepper.choices, self._stepper.most
        self._scale, self._objectives = batch.scale, operations.objectives
        self._hold = TemperatureHold(policy.temperature_steps)

    @property
    def state(self) -> AnnealState:
        """The chains; tensors that the next steps change."""
        return self._stepper.state

    @property
    def step(self) -> int:
        return self.state.step

    @property
    def is_captured(self) -> bool:
        """Whether the next step is the replay of a graph."""
        return self._replay.is_captured

    @property
    def scale(self) -> NDArray[np.float64]:
        """Normalised unit of energy in file units, float64[B]."""
        return _numpy(self._scale)

    @torch.inference_mode()
    def changes(self, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Advance; energy changes of the proposals, float64[K, B], for `nsa_cli.anneal.auto`."""
        found = self._stepper.change.new_empty((len(temperatures), len(self._stepper.change)))
        rows = iter(found)
        for count in self._loaded(temperatures):
            for _ in range(count):
                self._replay.run(1)
                next(rows).copy_(self._stepper.change)
        return _numpy(found)

    @torch.inference_mode()
    def advance(self, temperatures: NDArray[np.float64], used: float = 0.0) -> None:
        for count in self._loaded(temperatures):
            self._replay.run(count)

    def _loaded(self, temperatures: NDArray[np.float64]) -> Iterator[int]:
        """Load chunks of these steps; to be taken before the next one is asked for."""
        for begin in range(0, len(temperatures), self.most):
            some = temperatures[begin : begin + self.most]
            self._stepper.load(some, self._hold.shown(self.step, some))
            yield len(some)

    @property
    def x(self) -> NDArray[Any]:
        return _numpy(self.state.x)

    @property
    def best(self) -> NDArray[Any]:
        return _numpy(self.state.best)

    @property
    def energy(self) -> NDArray[np.float64]:
        return self._objectives(_numpy(self.state.energy))

    @property
    def search_energy(self) -> NDArray[np.float64]:
        return _numpy(self.state.energy)

    @property
    def best_energy(self) -> NDArray[np.float64]:
        return self._objectives(_numpy(self.state.best_energy))

    @property
    def accepted(self) -> NDArray[np.int64]:
        return _numpy(self.state.accepted)


def _numpy(tensor: Tensor) -> NDArray[Any]:
    return tensor.cpu().numpy()
