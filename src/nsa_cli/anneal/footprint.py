"""Memory that chains of the reference engine take, by a dry run.

Tensors on torch's device ``meta`` have sizes and no data: operations on them take no memory and next to no
time, and make the same tensors as on a GPU.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from nsa_cli.anneal.engine import start, step
from nsa_cli.core.operations import Operations
from nsa_cli.core.policy import Policy

#: Bytes of a random number while it is made: as bits, mixed, and as a number.
_DRAW_BYTES = 32


class Footprint(NamedTuple):
    """Bytes that a chain takes.

    Attributes
    ----------
    device : int
        At the worst moment of a step.
    host : int
        While its instance and its solution are put together.
    """

    device: int
    host: int


def footprint(
    operations: Operations[Any, Any], policy: Policy, instance: Any, x: Tensor, unit: float | None
) -> Footprint:
    """Compute what one more chain of an instance takes.

    Parameters
    ----------
    x : [1, …]
        Any solution, for its shape and type.
    unit : float, optional
        As for `Operations.pack`.
    """
    if isinstance(policy, torch.nn.Module):
        policy = deepcopy(policy).to("meta")
    one, two = (_peak(operations, policy, [instance] * rows, x, unit) for rows in (1, 2))
    draws = _DRAW_BYTES * (policy.draws(operations, x) + 1)
    # What is there once, whatever the number of chains, is in both.
    return Footprint(two.device - one.device + draws, two.host - one.host)


@torch.no_grad()  # not as inference, in which operations made of others are not seen one by one
def _peak(
    operations: Operations[Any, Any],
    policy: Policy,
    instances: Sequence[Any],
    x: Tensor,
    unit: float | None,
) -> Footprint:
    """Bytes of so many chains, in all."""
    with _Memory() as memory:
        batch = operations.pack(instances, "meta", unit)
        first = x.expand(len(instances), *x.shape[1:]).to("meta").clone()
        state = start(operations, batch, first)
        packed = memory.bytes
        # As `Stepper` has them: the best solutions are tensors of their own.
        state = state._replace(best=first.clone(), best_energy=state.energy.clone())
        heat = torch.zeros((), dtype=torch.float64, device="meta")
        u = state.energy.new_zeros((policy.draws(operations, first) + 1, len(first)))
        step(operations, batch, policy, state, heat, u)
    # Instances are put together from arrays of each.
    return Footprint(memory.most, 2 * packed)


class _Memory(TorchDispatchMode):
    """Adds up the tensors that are made and alive while it is on.

    Attributes
    ----------
    bytes, most : int
        Now, and at most.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = self.most = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for part in made if isinstance(made, tuple | list) else (made,):
            if isinstance(part, Tensor) and part.is_meta:
                self._note(part.untyped_storage())
        return made

    def _note(self, storage: torch.UntypedStorage) -> None:
        """Count a storage once, until it is gone; views share one."""
        key, size = id(storage), storage.nbytes()
        if key in self._known:
            return
        self._known.add(key)
        self.bytes += size
        self.most = max(self.most, self.bytes)
        weakref.finalize(storage, self._forget, key, size)

    def _forget(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.bytes -= size
