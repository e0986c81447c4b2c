"""Which backend takes chains through their steps: fused kernels on a CPU, or the torch reference.

Both mean the same (`tests/anneal/test_fused.py`). Kernels need no torch, whose import alone takes longer than
most solves; so this module does without it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.loop import Chains
from nsa_cli.core.draws import start_draws, stream_keys
from nsa_cli.core.errors import UsageError
from nsa_cli.core.instance import Solution
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Draws, Problem
from nsa_cli.policy.checkpoint import Stored, check_greedy, digest, find_stored, neighbourhood_for

BACKENDS = ("auto", "torch", "numba")
METHODS = ("auto", "anneal", "large-step")

#: Chains that sample an instance's moves, and their steps at most in the reference engine.
_SAMPLING_CHAINS, _SLOW_STEPS = 8, 1_000


def check_choices(backend: str, method: str, threads: int | None) -> None:
    """Refuse what there is not, whichever of the choices will count.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if backend not in BACKENDS:
        raise UsageError(f"--backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    if method not in METHODS:
        raise UsageError(f"--method: expected one of {', '.join(METHODS)}, got {method!r}")
    if threads is not None and threads < 1:
        raise UsageError(f"--threads: expected at least 1, got {threads}")


class Backend(Protocol):
    """A problem with a policy on a device.

    Attributes
    ----------
    method : {'anneal', 'large-step'}
    name : {'torch', 'numba'}
    device : str
    threads : int
    policy : str
        The policy's name.
    trained : Trained or None
        Where the policy is at home.
    digest : str or None
        Hash of the policy's file.
    hopeful : bool
        `Neighbourhood.uses_candidate_lists`.
    """

    @property
    def method(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def trained(self) -> Trained | None: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def hopeful(self) -> bool: ...

    def budget(self, instance: Any) -> Budget:
        """Steps, temperatures and chains where the user says nothing."""

    def start(
        self,
        instances: Sequence[Any],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None,
        rule: str,
    ) -> Chains:
        """Put chains at their first solutions.

        Parameters
        ----------
        instances : sequence of Instance
            One a chain, with equal `Problem.group`.
        x : [B, …]
        keys : int64[B]
            Random streams.
        unit : float, optional
            As for `nsa_cli.core.operations.Operations.pack`.
        rule : {'metropolis', 'hastings'}
        """


@dataclass(frozen=True, eq=False)
class KernelBackend:
    """Fused kernels; see `Backend`."""

    neighbourhood: Neighbourhood[Any]
    fused: Any
    layout: Any
    threads: int
    policy: str
    trained: Trained | None
    digest: str | None
    temperature_steps: int = 1
    method: str = "anneal"
    name: str = "numba"
    device: str = "cpu"

    @property
    def hopeful(self) -> bool:
        return self.neighbourhood.uses_candidate_lists

    def budget(self, instance: Any) -> Budget:
        return self.neighbourhood.budget(instance, self.trained)

    def start(
        self,
        instances: Sequence[Any],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None,
        rule: str,
    ) -> Chains:
        from nsa_cli.anneal.fused import FusedChains

        batch = self.fused.arrays(instances, unit)
        return FusedChains(
            self.fused,
            batch,
            self.layout,
            x,
            keys,
            hastings=rule == "hastings",
            threads=self.threads,
            temperature_steps=self.temperature_steps,
        )


@dataclass(frozen=True, eq=False)
class LargeStepBackend:
    """A problem's large-step chains; see `Backend`. There is no policy in them."""

    chains: Any
    threads: int
    seconds: float | None = None
    method: str = "large-step"
    policy: str = "none"
    trained: Trained | None = None
    digest: str | None = None
    name: str = "numba"
    device: str = "cpu"
    hopeful: bool = False

    def budget(self, instance: Any) -> Budget:
        budget: Budget = self.chains.budget(instance)
        choose = getattr(self.chains, "chains", None)
        if choose is None or self.seconds is None:
            return budget
        return replace(budget, chains=choose(instance, self.seconds, self.threads))

    def start(
        self,
        instances: Sequence[Any],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None,
        rule: str,
    ) -> Chains:
        from nsa_cli.anneal.large_step import LargeStepChains

        runs = self.chains.runs(instances, x)
        if self.threads == 1 and self.seconds is not None:
            # Parts are for threads. Without a time limit the answer is the same on any number of them.
            runs = [run._replace(parts=None) for run in runs]
        return LargeStepChains(runs, keys, threads=self.threads)


def large_step_backend(
    problem: Problem[Any],
    instance: Any,
    method: str,
    *,
    plain: bool,
    threads: int | None = None,
    seconds: float | None = None,
) -> LargeStepBackend | None:
    """Take the problem's large-step chains where they are asked for, or where nothing speaks against them.

    Parameters
    ----------
    problem : Problem
    instance : Instance
    method : {'auto', 'anneal', 'large-step'}
    plain : bool
        Whether nothing is asked for that only annealing move by move has, such as a policy.
    threads : int, optional
    seconds : float, optional
        The time limit, where it alone ends the run.

    Raises
    ------
    UsageError
        If they are asked for and cannot be had.
    """
    if method == "anneal" or (method == "auto" and not (plain and problem.prefers_large_steps)):
        return None
    if not plain:
        raise UsageError(
            "--method large-step: has no policy, neighbourhood, acceptance rule, unit or GPU; "
            "leave those options out"
        )
    chains = problem.large_step()
    if chains is not None and chains.fits(instance):
        from nsa_cli.anneal.fused import cores

        return LargeStepBackend(chains, threads or cores(), seconds)
    if method == "large-step":
        why = problem.without_large_steps if chains is None else "too few elements to kick"
        raise UsageError(f"--method large-step: {problem.name}: {why}; use --method anneal")
    return None


def choose_backend(
    problem: Problem[Any],
    spec: str,
    size: int,
    *,
    backend: str = "auto",
    device: str = "cpu",
    greedy: bool = False,
    threads: int | None = None,
    neighbourhood: str | None = None,
    rule: str = "metropolis",
) -> Backend:
    """Find the policy, and what runs it: kernels on a CPU wherever the problem has some for this policy.

    Parameters
    ----------
    problem : Problem
    spec : str
        As ``--policy``.
    size : int
        N of the instances.
    backend : {'auto', 'torch', 'numba'}
    device : str
        As `choose_device` gives it.
    greedy : bool
        Always take the policy's likeliest action.
    threads : int, optional
        CPU threads; all cores by default.
    neighbourhood : str, optional
        Name of one of the problem's; by default the policy's.
    rule : {'metropolis', 'hastings'}

    Raises
    ------
    UsageError, InputError
        If there is no such policy or backend, or the two do not go together.
    """
    stored = find_stored(spec, problem.name)
    check_greedy(stored, greedy)
    chosen = neighbourhood_for(problem, stored, neighbourhood)
    if rule == "hastings" and not chosen.reversible:
        raise UsageError(
            f"moves of the neighbourhood {chosen.name} cannot all be undone",
            option="acceptance",
            use={"neighbourhood": "paper"},
        )
    if backend != "torch" and device == "cpu" and (fused := chosen.kernel()) is not None:
        from nsa_cli.anneal.fused import cores

        layout = _layout(fused, stored, size, greedy)
        if layout is not None:
            name, trained, held = "uniform", None, 1
            if stored is not None:
                name, trained, held = stored.name, stored.trained, stored.temperature_steps
            hashed = digest(spec, problem.name)
            return KernelBackend(chosen, fused, layout, threads or cores(), name, trained, hashed, held)
    if backend == "numba":
        why = "runs on a CPU only" if device != "cpu" else "has no kernel for this problem and policy"
        raise UsageError(f"--backend numba: {why}; use --backend torch")
    from nsa_cli.backend_torch import TorchBackend

    return TorchBackend.make(problem, chosen, spec, device, greedy=greedy, threads=threads)


def _layout(fused: Any, stored: Stored | None, size: int, greedy: bool) -> Any | None:
    """Lay out a policy for a kernel; None if the kernel does not know its features, or it is too wide."""
    from nsa_cli.policy.fused import learnt, uniform

    if stored is None:
        return uniform()
    if stored.feature_set not in fused.policies:
        return None
    arrays = stored.arrays(fused.features[stored.feature_set])
    if stored.feature_set == "gaussian" and arrays["second.bias"].shape != (size,):
        axes = len(arrays["second.bias"])
        raise UsageError(f"policy {stored.name} is for {axes} dimensions, the instance has {size}")
    return learnt(fused, stored.feature_set, arrays, greedy=greedy)


def temperatures_of(
    backend: Backend, instance: Any, start: Callable[[Draws], Solution], unit: float | None = None
) -> tuple[float, float] | None:
    """Sample the first and last temperature for an instance, see `nsa_cli.anneal.auto`; the same each time.

    Parameters
    ----------
    backend : Backend
        That moves chains step by step.
    instance : Instance
    start : callable
        Makes a first solution from a chain's draws.
    unit : float, optional
        As for `Backend.start`.
    """
    from nsa_cli.anneal.auto import sampled_temperatures

    keys = stream_keys(0, np.arange(_SAMPLING_CHAINS))
    x = np.stack([start(partial(start_draws, key)) for key in keys])
    chains = backend.start([instance] * len(keys), x, keys, unit, "metropolis")
    few = {"most": _SLOW_STEPS} if backend.name == "torch" else {}
    return sampled_temperatures(chains, instance.size, hopeful=backend.hopeful, **few)


def choose_device(name: str) -> str:
    """Turn ``auto`` into ``cuda`` or ``cpu``, and check what is asked for.

    Raises
    ------
    UsageError
        If it is not there.
    """
    if name != "auto" and name != "cpu" and not name.startswith("cuda"):
        raise UsageError(f"--device: expected auto, cpu or cuda, got {name!r}")
    if name == "cpu" or (name == "auto" and not _may_have_cuda()):
        return "cpu"
    from nsa_cli.backend_torch import cuda_device

    return cuda_device(name)


def _may_have_cuda() -> bool:
    """Look for a driver, which takes no time, before torch is asked, which takes seconds to import."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists() or bool(shutil.which("nvidia-smi"))
