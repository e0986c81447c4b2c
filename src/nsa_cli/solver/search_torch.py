"""Annealing by the torch reference: any device, any problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nsa_cli.anneal.chains import Chains
from nsa_cli.anneal.engine import TorchChains
from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Budget, Neighbourhood
from nsa_cli.policy.build import find_policy
from nsa_cli.policy.checkpoint import digest
from nsa_cli.solver.search import AnnealingSearch
from nsa_cli.solver.settings import Settings

#: Steps that take some seconds, and steps times elements.
_MOST_STEPS, _ELEMENTS = 5_000, 20_000_000


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

    def start(
        self,
        instances: Sequence[Any],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        rows: int = 1,
        steps: int | None = 0,
        seconds: float | None = None,
    ) -> Chains:
        batch = self.operations.pack(instances, self.device, self.unit)
        first, streams = (torch.from_numpy(array).to(self.device) for array in (x, keys))
        return TorchChains(self.operations, batch, self.module, first, streams, acceptance=self.acceptance)


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
        acceptance=settings.acceptance,
        neighbourhood=neighbourhood,
        trained=found.trained,
        unit=settings.unit,
        operations=operations,
        module=found.to(device) if isinstance(found, torch.nn.Module) else found,
    )


def cuda_device(name: str) -> str:
    """Check that a CUDA device is there; ``auto`` is the CPU if there is none.

    Raises
    ------
    UsageError
        If it is not.
    """
    if not torch.cuda.is_available():
        if name == "auto":
            return "cpu"
        raise UsageError(
            f"this machine has no CUDA device, got {name}", option="device", use={"device": "cpu"}
        )
    try:
        device = torch.device("cuda" if name == "auto" else name)
        torch.empty(0, device=device)
    except RuntimeError:
        raise UsageError(f"there is no device {name!r}", option="device") from None
    return str(device)
