"""Annealing by the torch reference: any device, any problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.footprint import footprint
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.core.errors import UsageError
from nsa_cli.core.machine import memory
from nsa_cli.core.neighbourhood import Budget, Neighbourhood
from nsa_cli.core.task import Task
from nsa_cli.policy.build import find_policy
from nsa_cli.policy.checkpoint import digest
from nsa_cli.solver.search import AnnealingSearch, Beginning
from nsa_cli.solver.settings import Settings

#: Steps that take some seconds, and steps times elements.
_MOST_STEPS, _ELEMENTS = 5_000, 20_000_000

#: Share of a device's free memory for the chains of a batch: what is left is for random numbers and for what
#: its libraries take. And share of the machine's memory for what they are put together from.
_DEVICE_SHARE, _HOST_SHARE = 0.6, 0.3


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSearch(AnnealingSearch):
    """Annealing by the torch reference.

    Attributes
    ----------
    operations : Operations
    module : Policy
        On the device.
    """

    operations: Any
    module: Any
    backend: str = "torch"

    def budget(self, instance: Any) -> Budget:
        """Budget of the neighbourhood, with fewer steps, since they are slower than a kernel's."""
        budget = super().budget(instance)
        affordable = max(min(_ELEMENTS // (instance.size * budget.chains), _MOST_STEPS), 100)
        return replace(budget, steps=min(budget.steps, affordable))

    def chains_at_once(self, task: Task) -> int:
        device = torch.device(self.device)
        if device.type != "cuda":
            return super().chains_at_once(task)
        start = task.problem.start("paper" if "paper" in task.problem.starts else None)
        x = torch.from_numpy(start_solutions(start, [task.instance], stream_keys(0, np.arange(1))))
        needed = footprint(self.operations, self.module, task.instance, x, self.unit)
        fitting = _DEVICE_SHARE * free_memory(device) / needed.device, _HOST_SHARE * memory() / needed.host
        return max(int(min(fitting)), 1)

    def start(self, begin: Beginning) -> Chains:
        batch = self.operations.pack(begin.instances, self.device, self.unit)
        first, streams = (torch.from_numpy(array).to(self.device) for array in (begin.x, begin.keys))
        return TorchChains(self.operations, batch, self.module, first, streams)


def torch_search(
    problem: str, neighbourhood: Neighbourhood[Any], policy: str, settings: Settings, device: str
) -> TorchSearch:
    """Find the policy of a problem and move it to the device.

    Parameters
    ----------
    problem : str
        Name.
    neighbourhood : Neighbourhood
        The one that the policy is for.
    policy : str
        As ``Settings.policy``.
    settings : Settings
    device : str
        As `nsa_cli.solver.choose.choose_device` gives it.
    """
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    operations = neighbourhood.operations()
    found = find_policy(policy, problem, operations, greedy=settings.greedy)
    return TorchSearch(
        device=device,
        threads=torch.get_num_threads(),
        policy=found.name,
        digest=digest(policy, problem),
        neighbourhood=neighbourhood,
        trained=found.trained,
        unit=settings.unit,
        operations=operations,
        module=found.to(device) if isinstance(found, torch.nn.Module) else found,
    )


def free_memory(device: torch.device) -> int:
    """Bytes of a CUDA device that can be had: what is free, and what torch keeps for later."""
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def cuda_device(name: str, rank: int | None = None) -> str:
    """Check that a CUDA device is there.

    Parameters
    ----------
    name : str
        ``cuda`` or ``cuda:1``; or ``auto``, which is the CPU if there is none.
    rank : int, optional
        Number of this process on its machine; several take a device each.

    Raises
    ------
    UsageError
        If it is not there.
    """
    if not torch.cuda.is_available():
        if name == "auto":
            return "cpu"
        built = torch.version.cuda is not None
        why = "none on this machine" if built else f"PyTorch {torch.__version__} is built without CUDA"
        raise _no_device(f"no CUDA device: {why}, got {name}")
    count = torch.cuda.device_count()
    if name in ("auto", "cuda"):
        name = f"cuda:{torch.cuda.current_device() if rank is None else rank}"
    device = torch.device(name)
    if device.index >= count:
        asked = f"got {name}" if rank is None else f"process {rank} of this machine asks for {name}"
        raise _no_device(f"no such CUDA device: there are {count}, counted from 0; {asked}")
    try:
        torch.empty(0, device=device)
    except RuntimeError as error:  # in use by others, say
        raise _no_device(f"{name} cannot be used: {str(error).splitlines()[0]}") from None
    return str(device)


def _no_device(why: str) -> UsageError:
    return UsageError(why, option="device", use={"device": "cpu"})
