"""Searches: how chains of one problem are advanced, and which way suits an instance and the given options.

Compiled kernels and the torch reference mean the same (`tests/anneal/test_fused.py`). Kernels need no torch,
whose import alone takes longer than most solves, so the reference has a module of its own (`search_torch`).
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import is_installed, need
from nsa_cli.core.machine import cores, launch
from nsa_cli.core.neighbourhood import Budget, Neighbourhood
from nsa_cli.core.options import parse_device
from nsa_cli.core.problem import LargeStep, Problem, Task
from nsa_cli.policy.checkpoint import Stored, digest, find_stored, neighbourhood_for
from nsa_cli.solver.settings import Settings

#: A kick takes about so many seconds.
_KICK_SECONDS = 1e-4

#: With fewer seconds for each element of all solutions set-ups are fast ones.
_SETUP_SECONDS = 3e-5


class Beginning(NamedTuple):
    """What chains are to begin with.

    Attributes
    ----------
    instances : sequence of Instance
        The instances, one a chain, with equal `Problem.group`.
    x : [B, …]
        The first solutions.
    keys : int64[B]
        The random streams.
    rows : int
        The number of chains of an instance, one after the other.
    steps : int or None
        The steps of the run, as far as it is known how it will be used up; None where time ends it.
    seconds : float
        The time left.
    """

    instances: Sequence[Any]
    x: NDArray[Any]
    keys: NDArray[np.int64]
    rows: int = 1
    steps: int | None = 0
    seconds: float = math.inf


@dataclass(frozen=True, eq=False, kw_only=True)
class Search:
    """A way to advance chains of one problem.

    Attributes
    ----------
    method : {'anneal', 'large-step'}
    backend : {'torch', 'numba', 'python'}
    device : str
    threads : int
    policy : str
        The policy's name.
    digest : str or None
        The hash of the policy's file.
    moves : Neighbourhood or None
        Of annealing.
    start : callable
        Puts chains at their first solutions.
    budget : callable
        Chooses steps, temperatures and chains where the user says nothing, for an instance and the seconds
        that it has, None where steps end its run.
    """

    method: str
    backend: str = "numba"
    device: str = "cpu"
    threads: int
    policy: str = "none"
    digest: str | None = None
    moves: Neighbourhood[Any] | None = None
    start: Callable[[Beginning], Chains]
    budget: Callable[[Any, float | None], Budget]


def choose_search(task: Task, policy: str, settings: Settings) -> Search:
    """Choose the search for instances like this one.

    Parameters
    ----------
    task : Task
    policy : str
        As `choose_policy` names it; for annealing.
    settings : Settings

    Raises
    ------
    UsageError, InputError
        If there is no such device, policy or backend, or options do not go together.
    """
    device = choose_device(settings.device, task.problem, reference=settings.backend == "torch")
    if (found := _large_steps(task, settings, device)) is not None:
        return large_steps(found, settings.threads or cores())
    task.problem.check_annealing(task.instance, policy)
    return _annealing(task.problem, policy, task.instance.size, settings, device)


def choose_device(name: str, problem: Problem[Any] | None = None, *, reference: bool = False) -> str:
    """Resolve the name of a device, and check that it is there.

    Of several processes that torchrun has started on this machine, each takes the CUDA device of its number.

    Parameters
    ----------
    name : str
        ``auto``, ``cpu``, ``cuda`` or ``cuda:1``. ``auto`` is the CPU, where compiled kernels and large steps
        run; for the reference implementation it is CUDA where there is a device.
    problem : Problem, optional
    reference : bool
        Whether it is for the reference implementation.

    Raises
    ------
    UsageError
        If it is not there, or torch, which drives it, is not; or if an own problem, whose functions run on a
        CPU, is asked for elsewhere.
    """
    if parse_device("device", name) == "cpu":
        return "cpu"
    own = problem is not None and not problem.built_in
    if name == "auto" and (own or not (reference and _may_have_cuda() and is_installed("torch"))):
        return "cpu"
    if problem is not None and own:
        why = f"the functions of {problem.name}, a problem of your own, run on a CPU only, got {name}"
        raise UsageError(why, option="device", use={"device": "cpu"})
    need("torch", name, option="device")
    from nsa_cli.solver.search_torch import cuda_device

    process = launch()
    return cuda_device(name, None if process is None else process.local_rank)


def _may_have_cuda() -> bool:
    """Look for a driver, which takes no time, before torch is asked, which takes seconds to import."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists() or bool(shutil.which("nvidia-smi"))


def choose_policy(task: Task, settings: Settings) -> str:
    """Name of the given policy, or of the best one known for the instance."""
    if settings.policy is not None:
        return settings.policy
    return task.problem.neighbourhood(settings.neighbourhood).default_policy(task.instance)


def _large_steps(task: Task, settings: Settings, device: str) -> LargeStep | None:
    """Choose large steps if asked for, or by default if no given option excludes them.

    Raises
    ------
    UsageError
        If they are asked for and cannot be had.
    """
    problem, asked = task.problem, settings.method == "large-step"
    alone = settings.method == "auto" and not problem.anneals(task.instance)
    asked = asked or alone
    against = settings.without_large_steps(device, asked=asked)
    if settings.method == "anneal" or (not asked and (against or not problem.built_in)):
        return None
    if against:
        on_cpu = {"device": against.pop("device")} if "device" in against else {}
        why = "large-step has no policy, and runs by compiled kernels on a CPU"
        raise UsageError(why, option="method", use=on_cpu, drop=against)
    found = problem.large_step()
    if found is not None and found.fits(task.instance):
        return found
    if asked and not alone:
        why = "has no large-step chains" if found is None else "has too few elements to kick"
        raise UsageError(f"large-step: {problem.name} {why}", option="method", use={"method": "anneal"})
    return None


def large_steps(large_step: LargeStep, threads: int) -> Search:
    """Make iterated local search by annealing: each step is a kick and local search, no policy."""

    def budget(instance: Any, seconds: float | None) -> Budget:
        found = large_step.budget(instance)
        choose = getattr(large_step, "chains", None)
        if choose is None or seconds is None:
            return found
        return replace(found, chains=choose(instance, seconds, threads))

    def start(begin: Beginning) -> Chains:
        from nsa_cli.anneal.large_step import LargeStepChains

        kicks, fast_setup = float((begin.steps or 0) * begin.rows), False
        if begin.steps is None:
            kicks = begin.seconds * threads / _KICK_SECONDS * begin.rows / len(begin.x)
            fast_setup = begin.seconds < _SETUP_SECONDS * begin.x.size
        runs = large_step.runs(begin.instances, begin.x, kicks, fast_setup)
        if threads == 1 and begin.steps is None:
            # Partitions are for threads. Without a time limit the answer is the same on any number of them.
            runs = [one._replace(partition=None) for one in runs]
        return LargeStepChains(runs, begin.keys, threads=threads, rows=begin.rows, steps=begin.steps)

    return Search(method="large-step", threads=threads, start=start, budget=budget)


def _annealing(problem: Problem[Any], policy: str, size: int, settings: Settings, device: str) -> Search:
    """Choose annealing: by compiled kernels on a CPU if they know the policy, else by the torch reference.

    Raises
    ------
    UsageError, InputError
        If there is no such policy or backend, or the two do not go together.
    """
    stored = find_stored(policy, problem.name, greedy=settings.greedy)
    moves = problem.neighbourhood(settings.neighbourhood)
    if settings.backend == "python" or (settings.backend == "auto" and moves.why_uncompiled() is not None):
        return _interpreted(problem.name, moves, stored, settings)
    moves, hashed = neighbourhood_for(problem, stored, settings.neighbourhood), digest(policy, problem.name)
    if settings.backend != "torch" and device == "cpu":
        found = _compiled(moves, stored, size, settings, hashed)
        if found is not None:
            return found
    if not problem.built_in:
        raise _uncompiled(problem.name, policy, settings)
    if settings.backend == "numba":
        why = "runs on a CPU only" if device != "cpu" else "has no kernel for this problem and policy"
        raise UsageError(f"numba {why}", option="backend", use={"backend": "torch"})
    if settings.backend == "torch":
        need("torch", settings.backend, option="backend")
    need("torch", f"{problem.name} has no kernel for {policy} proposals, and the reference implementation")
    from nsa_cli.solver.search_torch import torch_search

    fields = torch_search(problem.name, moves, policy, settings, device)
    return Search(method="anneal", backend="torch", device=device, digest=hashed, moves=moves, **fields)


def _interpreted(
    problem: str, moves: Neighbourhood[Any], stored: Stored | None, settings: Settings
) -> Search:
    """Make annealing in Python.

    Raises
    ------
    UsageError
        If the problem has none, or a policy is to propose.
    """
    if (found := moves.interpreted()) is None:
        why = f"python is for problems of one's own, {problem} has compiled kernels"
        raise UsageError(why, option="backend", use={"backend": "auto"})
    if stored is not None:
        why = (
            f"the functions of {problem} run in Python, where moves are proposed uniformly; got {stored.name}"
        )
        raise UsageError(why, option="policy", use={"policy": "uniform"})
    auto = settings.t_start in (None, "auto") and settings.t_end in (None, "auto")
    # The unit takes moves to measure, and temperatures that are measured need none.
    unit = 1.0 if auto and settings.unit is None else settings.unit
    return Search(
        method="anneal",
        backend="python",
        threads=1,
        policy="uniform",
        moves=moves,
        start=lambda begin: found.start(begin.instances, begin.x, begin.keys, unit),
        budget=found.budget,
    )


def _uncompiled(problem: str, policy: str, settings: Settings) -> UsageError:
    """Make the error of an own problem that is to run as it cannot."""
    if settings.backend == "torch":
        why = f"the functions of {problem}, a problem of your own, run as compiled code only, got torch"
        return UsageError(why, option="backend", use={"backend": "numba"})
    why = f"{policy} does not fit {problem}, a problem of your own: other features, or too wide a network"
    return UsageError(why, option="policy")


def _compiled(
    moves: Neighbourhood[Any], stored: Stored | None, size: int, settings: Settings, digest: str | None
) -> Search | None:
    """Make annealing by compiled kernels; None if there is no kernel, or none that knows the policy."""
    threads = settings.threads or cores()
    if (fused := moves.kernel()) is None or (layout := _layout(fused, stored, size, settings.greedy)) is None:
        return None
    trained = None if stored is None else stored.trained

    def start(begin: Beginning) -> Chains:
        from nsa_cli.anneal.fused import FusedChains

        arrays = fused.arrays(begin.instances, settings.unit)
        held = 1 if stored is None else stored.temperature_steps
        return FusedChains(
            fused, arrays, layout, begin.x, begin.keys, threads=threads, temperature_steps=held
        )

    return Search(
        method="anneal",
        threads=threads,
        policy="uniform" if stored is None else stored.name,
        digest=digest,
        moves=moves,
        start=start,
        budget=lambda instance, _: moves.budget(instance, trained),
    )


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
        raise UsageError(f"{stored.name} is for {axes} dimensions, the instance has {size}", option="policy")
    return learnt(fused, stored.feature_set, arrays, greedy=greedy)
