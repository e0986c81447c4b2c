"""Annealing by the torch reference: any device, any problem."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Budget, Neighbourhood
from nsa_cli.policy.build import find_policy
from nsa_cli.solver.settings import Settings

#: Steps that take some seconds, and steps times elements.
_MOST_STEPS, _ELEMENTS = 5_000, 20_000_000


def torch_search(
    problem: str, moves: Neighbourhood[Any], policy: str, settings: Settings, device: str
) -> dict[str, Any]:
    """Find the policy of a problem, move it to the device, and give the fields of a search with it.

    Parameters
    ----------
    problem : str
        Name.
    moves : Neighbourhood
        The one that the policy is for.
    policy : str
        As ``Settings.policy``.
    settings : Settings
    device : str
        As `nsa_cli.solver.search.choose_device` gives it.
    """
    if settings.threads is not None:
        torch.set_num_threads(settings.threads)
    operations = moves.operations()
    found = find_policy(policy, problem, operations, greedy=settings.greedy)
    module = found.to(device) if isinstance(found, torch.nn.Module) else found

    def budget(instance: Any, _: float | None) -> Budget:
        """Budget of the neighbourhood, with fewer steps, since they are slower than a kernel's."""
        chosen = moves.budget(instance, found.trained)
        affordable = max(min(_ELEMENTS // (instance.size * chosen.chains), _MOST_STEPS), 100)
        return replace(chosen, steps=min(chosen.steps, affordable))

    def start(begin: Any) -> Chains:
        batch = operations.pack(begin.instances, device, settings.unit)
        first, streams = (torch.from_numpy(array).to(device) for array in (begin.x, begin.keys))
        return TorchChains(operations, batch, module, first, streams)

    return {"threads": torch.get_num_threads(), "policy": found.name, "start": start, "budget": budget}


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
