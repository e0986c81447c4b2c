"""Batches of Rosenbrock functions as arrays, for operations and kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsa_cli.problems.rosenbrock.instance import RosenbrockInstance
from nsa_cli.problems.rosenbrock.kernels.batch import RosenbrockBatch


def pack(instances: Sequence[RosenbrockInstance], unit: float | None = None) -> RosenbrockBatch:
    """Make arrays of one row an instance; see `Operations.pack`."""
    return RosenbrockBatch(
        a=np.array([i.a for i in instances], dtype=np.float64),
        b=np.array([i.b for i in instances], dtype=np.float64),
        scale=np.full(len(instances), unit or 1.0),
    )
