"""The engine's side of a user's problem; see `nsa_cli.core.user`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nsa_cli.core.instance import Solution
from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.core.user import UserInstance, UserProblem

#: Random moves from which the size of an energy change is estimated.
_SAMPLED_MOVES = 256

#: Changes smaller than this share of the largest are rounding errors of none.
_ROUNDING = 1e-12


class UserBatch:
    """Instances of one shape: the user's keys as attributes, tensors ``[B, …]``, and `scale`."""

    def __init__(self, tensors: dict[str, Tensor], scale: Tensor) -> None:
        self.__dict__.update(tensors)
        self.scale = scale

    def select(self, rows: Tensor) -> UserBatch:
        """Make a batch of some rows; see `nsa_cli.core.operations.select`."""
        tensors = {key: value[rows] for key, value in vars(self).items() if key != "scale"}
        return UserBatch(tensors, self.scale[rows])


class UserOperations(DiscreteOperations[UserInstance, UserBatch]):
    """Hands the engine's questions to a user's problem.

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
        scale = torch.tensor([scales[id(i)] for i in instances], dtype=torch.float64)
        tensors = {key: value.to(device) for key, value in _stack(instances).items()}
        return UserBatch(tensors, scale.to(device))

    def cost(self, batch: UserBatch, x: Tensor) -> Tensor:
        return self.owner.cost(batch, x).double()

    def delta(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        return self.owner.delta(batch, x, action).double()

    def apply(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        return self.owner.apply(batch, x, action)

    def reverse(self, batch: UserBatch, x: Tensor, action: Action) -> Action:
        return self.owner.reverse(batch, x, action)

    def allowed(self, batch: UserBatch, x: Tensor, chosen: Action) -> Tensor:
        return self.owner.allowed(batch, x, chosen)

    def _features(self, batch: UserBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        return self.owner.features(batch, x, chosen, temperature.expand(len(x))[:, None])

    def exact_cost(self, instance: UserInstance, solution: Solution) -> float:
        """Evaluate one solution in float64."""
        batch = UserBatch(_stack([instance]), torch.ones(1, dtype=torch.float64))
        return float(self.cost(batch, torch.from_numpy(solution)[None])[0])

    def scale_of(self, instance: UserInstance, unit: float | None) -> float:
        """Energy in file units of a normalised unit; as the user has set it, or as moves suggest."""
        return unit or self._typical_change(instance)

    def candidates(self, instance: UserInstance, solution: Solution) -> int:
        """Count the candidates of the first choice."""
        batch = UserBatch(_stack([instance]), torch.ones(1, dtype=torch.float64))
        return self.allowed(batch, torch.from_numpy(solution)[None], ()).shape[1]

    def _typical_change(self, instance: UserInstance) -> float:
        """Mean size of what random moves from the start change, the unit of temperature."""
        generator = torch.Generator().manual_seed(0)

        def draws(count: int) -> Any:
            return torch.rand(count, generator=generator, dtype=torch.float64).numpy()

        rows = [torch.from_numpy(self.owner.initial(instance.data, draws)) for _ in range(_SAMPLED_MOVES)]
        batch = UserBatch(_stack([instance] * len(rows)), torch.ones(len(rows), dtype=torch.float64))
        x = torch.stack(rows)
        chosen: Action = ()
        for _ in range(self.slots):
            weights = self.allowed(batch, x, chosen).double()
            index = torch.multinomial(weights.clamp(min=1e-12), 1, generator=generator)[:, 0]
            chosen = (*chosen, index)
        changes = self.delta(batch, x, chosen).abs()
        changes = changes[changes.isfinite()]
        changes = changes[changes > _ROUNDING * changes.max()] if len(changes) else changes
        return float(changes.mean()) if len(changes) else 1.0


def _stack(instances: Sequence[UserInstance]) -> dict[str, Tensor]:
    keys = vars(instances[0].data)
    return {key: torch.stack([torch.from_numpy(getattr(i.data, key)) for i in instances]) for key in keys}
