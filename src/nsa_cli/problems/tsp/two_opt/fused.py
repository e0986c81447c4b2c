"""The fused kernel of 2-opt over all pairs of cities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.two_opt import Paper, Relative, TspArrays, workspace
from nsa_cli.problems.tsp.metric_kernel import kernel_metric
from nsa_cli.problems.tsp.two_opt.batch import pack


def arrays(instances: Sequence[TspInstance], unit: float | None = None) -> TspArrays:
    """Build a kernel's batch; chains of one instance share its large arrays."""
    distinct = list({id(i): i for i in instances}.values())
    place = {id(instance): k for k, instance in enumerate(distinct)}
    rows = np.array([place[id(i)] for i in instances])
    batch = pack(distinct, unit)
    cities = np.arange(distinct[0].size)
    metrics = [kernel_metric(instance, cities) for instance in distinct]
    return TspArrays(
        np.stack([m.data for m in metrics]),
        rows,
        *metrics[0][1:],
        batch.points,
        batch.nearest,
        batch.scale[rows],
        distinct[0].edge_weight_type == "EXACT_2D",
    )


fused = Fused(
    arrays=arrays,
    workspace=workspace,
    draws=2,
    policies={"paper": Paper, "relative": Relative},
    features={"paper": (7, 13), "relative": (5, 6)},
    order={"relative": (None, (0, 1, 2, 5, 3, 4))},
)
