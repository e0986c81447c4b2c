"""The fused kernels of 2-opt: over all pairs of cities, and over candidate lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import candidates, two_opt
from nsa_cli.problems.tsp.neighbour_lists import candidate_lists, kernel_metric
from nsa_cli.problems.tsp.two_opt.batch import pack


def arrays(instances: Sequence[TspInstance], unit: float | None = None) -> two_opt.TspArrays:
    """Build a kernel's batch; chains of one instance share its large arrays."""
    distinct = list({id(i): i for i in instances}.values())
    place = {id(instance): k for k, instance in enumerate(distinct)}
    rows = np.array([place[id(i)] for i in instances])
    batch = pack(distinct, unit)
    cities = np.arange(distinct[0].size)
    metrics = [kernel_metric(instance, cities) for instance in distinct]
    return two_opt.TspArrays(
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
    workspace=two_opt.workspace,
    draws=2,
    policies={"paper": two_opt.Paper, "relative": two_opt.Relative},
    features={"paper": (7, 13), "relative": (5, 6)},
    order={"relative": (None, (0, 1, 2, 5, 3, 4))},
)


def candidate_arrays(
    count: int, instances: Sequence[TspInstance], unit: float | None = None
) -> candidates.CandidateArrays:
    """Build a kernel's batch, with lists of `count` candidates."""
    tours = arrays(instances, unit)
    distinct, size = list({id(i): i for i in instances}.values()), instances[0].size
    near = np.stack([candidate_lists(i, count) for i in distinct])
    edges, root = np.zeros((*near.shape[:2], 2), np.float32), np.float32(math.sqrt(size))
    for k, instance in enumerate(distinct):
        unit_of = tours.scale[np.argmax(tours.data_row == k)] / math.sqrt(size)
        two = near[k, :, :2]
        edges[k, :, : two.shape[1]] = instance.edges(np.arange(size)[:, None], two) / unit_of
    return candidates.CandidateArrays(
        tours, near, candidates.stride_of(size), tours.points * root, edges, tours.scale
    )


def fused_of(count: int) -> Fused:
    """Give the kernel for lists of `count` candidates; it is compiled once for all numbers."""
    return Fused(
        arrays=partial(candidate_arrays, count),
        workspace=partial(candidates.workspace, count),
        draws=3,
        policies={"nearest": candidates.NearestPolicy},
        features={"nearest": (0, 5, 6)},
        order={"nearest": (None, None, (0, 1, 2, 3, 5, 4))},
    )
