"""Reference operations of a user's problem, in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.user.batch import UserBatch, batch_of
from nsa_cli.user.calls import call, mistake
from nsa_cli.user.checks import check_changes
from nsa_cli.user.instance import UserInstance, start_of
from nsa_cli.user.problem import UserProblem

#: Random moves from which the mean energy change is estimated.
_SAMPLED_MOVES = 256

#: Changes below this share of the largest are rounding errors.
_ROUNDING = 1e-12


class UserOperations(DiscreteOperations[UserInstance, UserBatch]):
    """Operations that call the methods of a user's problem, and check what they give.

    Parameters
    ----------
    owner : UserProblem
    """

    def __init__(self, owner: UserProblem) -> None:
        self.owner = owner
        slots = tuple(Slot(name, features) for name, features in owner.slots.items())
        self.feature_sets = {"paper": FeatureSet(slots, self._features)}

    def pack(
        self, instances: Sequence[UserInstance], device: torch.device | str = "cpu", unit: float | None = None
    ) -> UserBatch:
        scales = {id(i): self.scale_of(i, unit) for i in {id(i): i for i in instances}.values()}
        return batch_of([i.data for i in instances], [scales[id(i)] for i in instances], device)

    def cost(self, batch: UserBatch, x: Tensor) -> Tensor:
        return self._energies("cost", len(x), batch, x)

    def delta(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        if type(self.owner).delta is UserProblem.delta:  # by ours, so that an error names theirs
            return self.cost(batch, self.apply(batch, x, action)) - self.cost(batch, x)
        return self._energies("delta", len(x), batch, x, action)

    def _energies(self, name: str, rows: int, *arguments: Any) -> Tensor:
        found = call(self.owner, name, *arguments)
        if not isinstance(found, Tensor) or found.shape != (rows,) or found.is_complex():
            raise mistake(self.owner, name, f"a tensor of {rows} numbers, one a chain", found)
        return found.double()

    def apply(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        found = call(self.owner, "apply", batch, x, action)
        if not isinstance(found, Tensor) or (found.shape, found.dtype) != (x.shape, x.dtype):
            raise mistake(self.owner, "apply", f"a tensor like x, {x.dtype}{list(x.shape)}", found)
        return found

    def reverse(self, batch: UserBatch, x: Tensor, action: Action) -> Action:
        found = call(self.owner, "reverse", batch, x, action)
        if not isinstance(found, tuple) or len(found) != len(action):
            raise mistake(self.owner, "reverse", f"a tuple of {len(action)} tensors", found)
        return found

    def allowed(self, batch: UserBatch, x: Tensor, chosen: Action) -> Tensor:
        found = call(self.owner, "allowed", batch, x, chosen)
        good = isinstance(found, Tensor) and found.dtype == torch.bool and found.dim() == 2
        if not good or len(found) != len(x):
            raise mistake(self.owner, "allowed", f"a tensor of bool[{len(x)}, candidates]", found)
        return found

    def _features(self, batch: UserBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        found = call(self.owner, "features", batch, x, chosen, temperature.expand(len(x))[:, None])
        wanted = tuple(self.owner.slots.values())[len(chosen)]
        if not isinstance(found, Tensor) or found.dim() != 3 or found.shape[::2] != (len(x), wanted):
            expected = f"a tensor of float32[{len(x)}, candidates, {wanted}]"
            raise mistake(self.owner, "features", expected, found)
        return found

    def scale_of(self, instance: UserInstance, unit: float | None) -> float:
        """Energy of a normalised unit, in file units: as set, or the mean change of random moves."""
        return unit or self._typical_change(instance)

    def candidates(self, instance: UserInstance) -> int:
        """Count the candidates of the first choice."""
        return self.allowed(batch_of([instance.data]), torch.from_numpy(instance.typical)[None], ()).shape[1]

    def _typical_change(self, instance: UserInstance) -> float:
        """Mean absolute energy change of random moves from random starts, which are checked."""
        generator = torch.Generator().manual_seed(0)

        def draws(count: int) -> Any:
            return torch.rand(count, generator=generator, dtype=torch.float64).numpy()

        rows = [torch.from_numpy(start_of(self.owner, instance.data, draws)) for _ in range(_SAMPLED_MOVES)]
        batch, x = batch_of([instance.data] * len(rows)), torch.stack(rows)
        chosen: Action = ()
        for _ in range(self.slots):
            weights = self.allowed(batch, x, chosen).double()
            index = torch.multinomial(weights.clamp(min=1e-12), 1, generator=generator)[:, 0]
            chosen = (*chosen, index)
        changes = self.delta(batch, x, chosen)
        check_changes(self.owner, batch, x, chosen, changes)
        changes = changes.abs()
        changes = changes[changes.isfinite()]
        changes = changes[changes > _ROUNDING * changes.max()] if len(changes) else changes
        return float(changes.mean()) if len(changes) else 1.0
