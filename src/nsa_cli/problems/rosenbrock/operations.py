"""Reference operations of Rosenbrock's function: Gaussian steps on a batch of points (section 4.1)."""

from __future__ import annotations

from torch import Tensor

from nsa_cli.core.operations import Action, ContinuousOperations
from nsa_cli.problems.rosenbrock import RosenbrockInstance
from nsa_cli.problems.rosenbrock.fused import pack
from nsa_cli.problems.rosenbrock.kernels.gaussian import LOG_SIGMA, SIGMA, RosenbrockBatch


class RosenbrockOperations(ContinuousOperations[RosenbrockInstance, RosenbrockBatch]):
    """The paper's Rosenbrock: x' = x + sigma(x) n, a 2-16-2 network for log sigma."""

    sigma = SIGMA
    log_sigma = LOG_SIGMA
    features = 2

    arrays = staticmethod(pack)

    def cost(self, batch: RosenbrockBatch, x: Tensor) -> Tensor:
        left, right = x[:, :-1], x[:, 1:]
        a, b = batch.a[:, None], batch.b[:, None]
        return ((a - left) ** 2 + b * (right - left**2) ** 2).sum(1)

    def apply(self, batch: RosenbrockBatch, x: Tensor, action: Action) -> Tensor:
        return x + action[0]

    def observe(self, batch: RosenbrockBatch, x: Tensor, temperature: Tensor) -> Tensor:
        """The point itself."""
        return x.float()


operations = RosenbrockOperations()
