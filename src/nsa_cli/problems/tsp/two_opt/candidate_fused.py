"""The fused kernel of 2-opt with candidate lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from nsa_cli.kernels.hooks import Fused
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.candidate_moves import stride_of
from nsa_cli.problems.tsp.kernels.candidates import CandidateArrays, NearestPolicy, workspace
from nsa_cli.problems.tsp.neighbour_lists import candidate_lists
from nsa_cli.problems.tsp.two_opt.fused import arrays


def candidate_arrays(
    count: int, instances: Sequence[TspInstance], unit: float | None = None
) -> CandidateArrays:
    """Build a kernel's batch, with lists of `count` candidates."""
    tours = arrays(instances, unit)
    distinct, size = list({id(i): i for i in instances}.values()), instances[0].size
    near = np.stack([candidate_lists(i, count) for i in distinct])
    edges, root = np.zeros((*near.shape[:2], 2), np.float32), np.float32(math.sqrt(size))
    for k, instance in enumerate(distinct):
        unit_of = tours.scale[np.argmax(tours.data_row == k)] / math.sqrt(size)
        two = near[k, :, :2]
        edges[k, :, : two.shape[1]] = instance.edges(np.arange(size)[:, None], two) / unit_of
    return CandidateArrays(tours, near, stride_of(size), tours.points * root, edges, tours.scale)


def fused_of(count: int) -> Fused:
    """Give the kernel for lists of `count` candidates; it is compiled once for all numbers."""
    return Fused(
        arrays=partial(candidate_arrays, count),
        workspace=partial(workspace, count),
        draws=3,
        policies={"nearest": NearestPolicy},
        features={"nearest": (0, 5, 6)},
        order={"nearest": (None, None, (0, 1, 2, 3, 5, 4))},
    )
