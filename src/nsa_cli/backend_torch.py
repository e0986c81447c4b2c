"""The torch reference as a backend: any device, any problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nsa_cli.anneal.engine import TorchChains
from nsa_cli.anneal.loop import Chains
from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Problem
from nsa_cli.policy.build import find_policy
from nsa_cli.policy.checkpoint import digest

#: Steps that take some seconds, and steps times elements.
_MOST_STEPS, _ELEMENTS = 5_000, 20_000_000


@dataclass(frozen=True, eq=False)
class TorchBackend:
    """The reference engine; see `nsa_cli.backends.Backend`."""

    neighbourhood: Neighbourhood[Any]
    operations: Any
    module: Any
    device: str
    policy: str
    trained: Trained | None
    digest: str | None
    method: str = "anneal"
    name: str = "torch"

    @classmethod
    def make(
        cls,
        problem: Problem[Any],
        neighbourhood: Neighbourhood[Any],
        spec: str,
        device: str,
        *,
        greedy: bool = False,
        threads: int | None = None,
    ) -> TorchBackend:
        """Find the policy and move it to the device; it is for the neighbourhood."""
        if threads is not None:
            torch.set_num_threads(threads)
        operations = neighbourhood.operations()
        found = find_policy(spec, problem.name, operations, greedy=greedy)
        module = found.to(device) if isinstance(found, torch.nn.Module) else found
        return cls(
            neighbourhood, operations, module, device, found.name, found.trained, digest(spec, problem.name)
        )

    @property
    def hopeful(self) -> bool:
        """See `Neighbourhood.uses_candidate_lists`."""
        return self.neighbourhood.uses_candidate_lists

    @property
    def threads(self) -> int:
        """What torch uses now."""
        return torch.get_num_threads()

    def budget(self, instance: Any) -> Budget:
        """What is some seconds' worth for a kernel is cut to what is for this."""
        budget = self.neighbourhood.budget(instance, self.trained)
        affordable = max(min(_ELEMENTS // (instance.size * budget.chains), _MOST_STEPS), 100)
        return replace(budget, steps=min(budget.steps, affordable))

    def start(
        self,
        instances: Sequence[Any],
        x: NDArray[Any],
        keys: NDArray[np.int64],
        unit: float | None,
        rule: str,
    ) -> Chains:
        batch = self.operations.pack(instances, self.device, unit)
        first, streams = (torch.from_numpy(array).to(self.device) for array in (x, keys))
        return TorchChains(self.operations, batch, self.module, first, streams, rule=rule)  # type: ignore[arg-type]


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
        raise UsageError(f"--device {name}: this machine has no CUDA device; use cpu or auto")
    try:
        device = torch.device("cuda" if name == "auto" else name)
        torch.empty(0, device=device)
    except RuntimeError:
        raise UsageError(f"--device: there is no device {name!r}") from None
    return str(device)
