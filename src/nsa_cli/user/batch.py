"""Batches of a user's instances: the keys of their data as torch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import torch
from torch import Tensor


class UserBatch:
    """Instances of one shape: the user's keys as attributes, tensors ``[B, …]``, and `scale`, float64[B]."""

    def __init__(self, tensors: dict[str, Tensor], scale: Tensor) -> None:
        self.__dict__.update(tensors)
        self.scale = scale

    def __getattr__(self, name: str) -> Tensor:
        raise AttributeError(f"the data have no {name!r}; they have {', '.join(vars(self))}")

    def select(self, rows: Tensor) -> UserBatch:
        """Make a batch of some rows; see `nsa_cli.core.operations.select`."""
        tensors = {key: value[rows] for key, value in vars(self).items() if key != "scale"}
        return UserBatch(tensors, self.scale[rows])


def batch_of(
    data: Sequence[SimpleNamespace],
    scale: Sequence[float] | None = None,
    device: torch.device | str = "cpu",
) -> UserBatch:
    """Stack the data of instances.

    Parameters
    ----------
    data : sequence of B SimpleNamespace
        int64 or float64 arrays of equal shapes.
    scale : sequence of B float, optional
        Energies of a normalised unit, in file units; 1 by default.
    device : torch.device or str
    """
    stacks = {key: [torch.from_numpy(getattr(row, key)) for row in data] for key in vars(data[0])}
    tensors = {key: torch.stack(stack).to(device) for key, stack in stacks.items()}
    scales = torch.tensor([1.0] * len(data) if scale is None else scale, dtype=torch.float64)
    return UserBatch(tensors, scales.to(device))
