"""Gaussian steps on a batch of points (section 4.1 of the paper)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nsa_cli.core.operations import Action, ContinuousOperations
from nsa_cli.problems.rosenbrock.instance import RosenbrockInstance


class RosenbrockBatch(NamedTuple):
    """Functions of one number of dimensions.

    Attributes
    ----------
    a, b : float64[B]
    scale : float64[B]
        Always 1 unless a unit is given: the function's own values are what the paper anneals.
    """

    a: Tensor
    b: Tensor
    scale: Tensor


class RosenbrockOperations(ContinuousOperations[RosenbrockInstance, RosenbrockBatch]):
    """The paper's Rosenbrock: x' = x + sigma(x) n, a 2-16-2 network for log sigma."""

    #: About the best constant for a ~ U(0, 1), b ~ U(0, 100) over 100 steps, by the mean of the best value.
    sigma = 0.3
    features = 2

    def group(self, instance: RosenbrockInstance) -> Hashable:
        return instance.dim

    def pack(
        self,
        instances: Sequence[RosenbrockInstance],
        device: torch.device | str = "cpu",
        unit: float | None = None,
    ) -> RosenbrockBatch:
        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=torch.float64, device=device)

        return RosenbrockBatch(
            a=column([i.a for i in instances]),
            b=column([i.b for i in instances]),
            scale=column([unit or 1.0] * len(instances)),
        )

    def cost(self, batch: RosenbrockBatch, x: Tensor) -> Tensor:
        left, right = x[:, :-1], x[:, 1:]
        a, b = batch.a[:, None], batch.b[:, None]
        return ((a - left) ** 2 + b * (right - left**2) ** 2).sum(1)

    def apply(self, batch: RosenbrockBatch, x: Tensor, action: Action) -> Tensor:
        return x + action[0]

    def reverse(self, batch: RosenbrockBatch, x: Tensor, action: Action) -> Action:
        return (-action[0],)

    def observe(self, batch: RosenbrockBatch, x: Tensor, temperature: Tensor) -> Tensor:
        """The point itself."""
        return x.float()
