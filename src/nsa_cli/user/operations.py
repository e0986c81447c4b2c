"""Operations of a user's problem in torch, which trainings need: batches of rows through compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nsa_cli.core.errors import UsageError
from nsa_cli.core.operations import Action, DiscreteOperations, FeatureSet, Slot
from nsa_cli.kernels import slots
from nsa_cli.user.fused import arrays_of, costs_of
from nsa_cli.user.instance import UserInstance
from nsa_cli.user.kernels.annealing import UserArrays, look_at_all, move_all
from nsa_cli.user.kernels.rules import CHOICE_BITS, CHOICE_MASK
from nsa_cli.user.model import Model


class UserBatch(NamedTuple):
    """Instances of one shape, one a row.

    Attributes
    ----------
    arrays : nsa_cli.user.kernels.annealing.UserArrays
    scale : float64[B]
    """

    arrays: UserArrays
    scale: Tensor

    def select(self, rows: Tensor) -> UserBatch:
        """Make a batch of some rows; see `nsa_cli.core.operations.select`."""
        which, scale = self.arrays.which[rows.numpy()], self.scale[rows]
        return UserBatch(self.arrays._replace(which=which, scale=scale.numpy()), scale)


class UserOperations(DiscreteOperations[UserInstance, UserBatch]):
    """Operations by a user's functions on a CPU; choices are those of all types of moves in a row.

    Of several types the first choice is that of the type; the choices of other types have one candidate, 0.

    Parameters
    ----------
    model : Model

    Raises
    ------
    UsageError
        If the problem has no features.
    """

    def __init__(self, model: Model) -> None:
        if not model.learns:
            raise UsageError(f"{model.spec}: has no features, which a policy sees")
        self.model, self.chooses_type = model, model.several
        width = len(model.cls.feature_names)
        choices = [Slot(f"{m.move.name} {name}", width) for m in model.moves for name in m.move.choices]
        first = [Slot("move", 0)] if model.several else []
        self.feature_sets = {"paper": FeatureSet((*first, *choices), self._features)}

    def pack(
        self, instances: Sequence[UserInstance], device: torch.device | str = "cpu", unit: float | None = None
    ) -> UserBatch:
        arrays = arrays_of(self.model, instances, unit)
        return UserBatch(arrays, torch.from_numpy(arrays.scale.copy()))

    def cost(self, batch: UserBatch, x: Tensor) -> Tensor:
        return torch.from_numpy(costs_of(self.model, batch.arrays, x.numpy()))

    def apply(self, batch: UserBatch, x: Tensor, action: Action) -> Tensor:
        moved = x.numpy().copy()
        move_all(batch.arrays, np.zeros(batch.arrays.room), moved, *self._packed(action, len(x)))
        return torch.from_numpy(moved)

    def from_kernel(self, pairs: Tensor) -> Action:
        codes, kinds = pairs.clamp(min=0).unbind(1)
        choices = (
            torch.where(kinds == number, codes >> k * CHOICE_BITS & CHOICE_MASK, 0)
            for number, m in enumerate(self.model.moves)
            for k in range(len(m.choices))
        )
        return (*((kinds,) if self.model.several else ()), *choices)

    def allowed(self, batch: UserBatch, x: Tensor, chosen: Action) -> Tensor:
        return self._looked(batch, x, chosen, torch.zeros((), dtype=torch.float64))[0]

    def _features(self, batch: UserBatch, x: Tensor, chosen: Action, temperature: Tensor) -> Tensor:
        return self._looked(batch, x, chosen, temperature)[1]

    def _looked(
        self, batch: UserBatch, x: Tensor, chosen: Action, temperature: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Look at all candidates of the next choice: which are allowed, bool[B, C]; features [B, C, F]."""
        place, arrays, rows = len(chosen), batch.arrays, len(x)
        seen = np.zeros((rows, len(self.model.cls.feature_names), arrays.counts[:, place].max()), np.float32)
        needs = np.full((rows, seen.shape[2]), slots.NEVER)
        if self.model.several and not chosen:
            needs[:] = slots.ALWAYS
        else:
            kinds, codes = self._packed(chosen, rows)
            kind = max(number for number, m in enumerate(self.model.moves) if m.first <= place)
            codes[kinds != kind] = -1
            needs[kinds != kind, 0] = slots.ALWAYS
            heats = temperature.double().expand(rows).numpy().copy()
            s = place - self.model.moves[kind].first
            look_at_all(arrays, np.zeros(arrays.room), x.numpy(), heats, kind, s, codes, seen, needs)
        return torch.from_numpy(needs == slots.ALWAYS), torch.from_numpy(seen.swapaxes(1, 2).copy())

    def _packed(self, chosen: Action, rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pack choices as kernels have them: types and codes, int64[B] each."""
        codes = np.zeros(rows, np.int64)
        for m in self.model.moves:
            for k, index in enumerate(chosen[m.first : m.first + len(m.choices)]):
                codes |= index.numpy() << k * CHOICE_BITS  # 0 of the other types of moves
        kinds = chosen[0].numpy() if self.model.several and chosen else np.zeros(rows, np.int64)
        return kinds, codes
