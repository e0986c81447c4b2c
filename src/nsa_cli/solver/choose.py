"""Which search runs an instance: device, method, neighbourhood, policy, backend."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from nsa_cli.core.errors import UsageError
from nsa_cli.core.extras import is_installed, need
from nsa_cli.core.machine import cores, launch
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.options import parse_device
from nsa_cli.core.problem import Problem
from nsa_cli.core.task import Task
from nsa_cli.policy.checkpoint import Stored, digest, find_stored, neighbourhood_for
from nsa_cli.solver.search import CompiledSearch, LargeStepSearch, Search
from nsa_cli.solver.settings import Settings


def choose_device(name: str, *, reference: bool = False) -> str:
    """Resolve the name of a device, and check that it is there.

    Of several processes that torchrun has started on this machine, each takes the CUDA device of its number.

    Parameters
    ----------
    name : str
        ``auto``, ``cpu``, ``cuda`` or ``cuda:1``. ``auto`` is the CPU, where compiled kernels and large steps
        run; for the reference implementation it is CUDA where there is a device.
    reference : bool
        Whether it is for the reference implementation.

    Raises
    ------
    UsageError
        If it is not there, or torch, which drives it, is not.
    """
    if parse_device("device", name) == "cpu":
        return "cpu"
    if name == "auto" and not (reference and _may_have_cuda() and is_installed("torch")):
        return "cpu"
    need("torch", name, option="device")
    from nsa_cli.solver.search_torch import cuda_device

    process = launch()
    return cuda_device(name, None if process is None else process.local_rank)


def device_for(problem: Problem[Any], asked: str, device: str) -> str:
    """Choose the device of a problem, of the one that was asked for and what `choose_device` made of it.

    Raises
    ------
    UsageError
        If an own problem, whose functions run on a CPU, is asked for elsewhere.
    """
    if problem.built_in or device == "cpu":
        return device
    if asked == "auto":
        return "cpu"
    raise UsageError(
        f"the functions of {problem.name}, a problem of your own, run on a CPU only, got {asked}",
        option="device",
        use={"device": "cpu"},
    )


def _may_have_cuda() -> bool:
    """Look for a driver, which takes no time, before torch is asked, which takes seconds to import."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists() or bool(shutil.which("nvidia-smi"))


def choose_policy(task: Task, settings: Settings) -> str:
    """Name of the given policy, or of the best one known for the instance."""
    if settings.policy is not None:
        return settings.policy
    return task.problem.neighbourhood(settings.neighbourhood).default_policy(task.instance)


def choose(task: Task, policy: str, settings: Settings, device: str, sharing: float) -> Search:
    """Choose the search for instances like this one.

    Parameters
    ----------
    task : Task
    policy : str
        As `choose_policy` names it; for annealing.
    settings : Settings
    device : str
        As `choose_device` gives it.
    sharing : float
        How many instances share the time limit, if all have as much.

    Raises
    ------
    UsageError, InputError
        If there is no such policy or backend, or options do not go together.
    """
    if (found := _large_steps(task, settings, device, sharing)) is not None:
        return found
    task.problem.check_annealing(task.instance, policy)
    device = device_for(task.problem, settings.device, device)
    return _annealing(task.problem, policy, task.instance.size, settings, device)


def _large_steps(task: Task, settings: Settings, device: str, sharing: float) -> Search | None:
    """Choose large steps if asked for, or by default if no given option excludes them.

    Raises
    ------
    UsageError
        If they are asked for and cannot be had.
    """
    problem, asked = task.problem, settings.method == "large-step"
    alone = settings.method == "auto" and not problem.anneals(task.instance)
    asked = asked or alone
    against = _against_large_steps(settings, device, asked=asked)
    if settings.method == "anneal" or (not asked and (against or not problem.prefers_large_steps)):
        return None
    if against:
        on_cpu = {"device": against.pop("device")} if "device" in against else {}
        why = "large-step has no policy, and runs by compiled kernels on a CPU"
        raise UsageError(why, option="method", use=on_cpu, drop=against)
    found = problem.large_step()
    if found is not None and found.fits(task.instance):
        timed = settings.time_limit is not None and settings.steps is None
        return LargeStepSearch(
            large_step=found,
            threads=settings.threads or cores(),
            seconds=settings.time_limit / sharing if timed and settings.time_limit else None,
        )
    if asked and not alone:
        why = problem.without_large_steps if found is None else "has too few elements to kick"
        raise UsageError(f"large-step: {problem.name} {why}", option="method", use={"method": "anneal"})
    return None


def _against_large_steps(settings: Settings, device: str, *, asked: bool) -> dict[str, Any]:
    """List the given options that large steps do not have; ``device`` with the one that they need."""
    options = ["policy", "neighbourhood", "unit"]
    if not asked:
        options += ["steps", "t_start", "t_end"]
    against: dict[str, Any] = {name: None for name in options if getattr(settings, name) is not None}
    against |= {"greedy": None} if settings.greedy else {}
    against |= {"device": "cpu"} if device != "cpu" else {}
    against |= {"backend": "torch"} if settings.backend == "torch" else {}
    return against


def _annealing(problem: Problem[Any], policy: str, size: int, settings: Settings, device: str) -> Search:
    """Choose annealing: by compiled kernels on a CPU if they know the policy, else by the torch reference.

    Raises
    ------
    UsageError, InputError
        If there is no such policy or backend, or the two do not go together.
    """
    stored = find_stored(policy, problem.name, greedy=settings.greedy)
    neighbourhood = neighbourhood_for(problem, stored, settings.neighbourhood)
    if settings.backend != "torch" and device == "cpu":
        found = _compiled(problem.name, neighbourhood, stored, policy, size, settings)
        if found is not None:
            return found
    if settings.backend == "numba":
        why = "runs on a CPU only" if device != "cpu" else "has no kernel for this problem and policy"
        raise UsageError(f"numba {why}", option="backend", use={"backend": "torch"})
    if settings.backend == "torch":
        need("torch", settings.backend, option="backend")
    need("torch", f"{problem.name} has no kernel for {policy} proposals, and the reference implementation")
    from nsa_cli.solver.search_torch import torch_search

    return torch_search(problem.name, neighbourhood, policy, settings, device)


def _compiled(
    problem: str,
    neighbourhood: Neighbourhood[Any],
    stored: Stored | None,
    policy: str,
    size: int,
    settings: Settings,
) -> Search | None:
    """Make a compiled search; None if there is no kernel, or none that knows the policy's features."""
    fused = neighbourhood.kernel()
    layout = None if fused is None else _layout(fused, stored, size, settings.greedy)
    if layout is None:
        return None
    return CompiledSearch(
        threads=settings.threads or cores(),
        policy="uniform" if stored is None else stored.name,
        digest=digest(policy, problem),
        neighbourhood=neighbourhood,
        trained=None if stored is None else stored.trained,
        unit=settings.unit,
        fused=fused,
        layout=layout,
        temperature_steps=1 if stored is None else stored.temperature_steps,
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
