"""Metrics of instances for kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.metric import CODES, KernelMetric

#: Up to this many cities, lengths that take trigonometry are kept in a matrix (32 MiB).
_DEAR_UP_TO = 2000


def kernel_metric(instance: TspInstance, cities: NDArray[np.int64]) -> KernelMetric:
    """Build an instance's metric, with its cities renumbered.

    Parameters
    ----------
    instance : TspInstance
    cities : int64[M]
        Positions in the file of the cities 0, …, M - 1. A matrix, M x M, is made for ``EXPLICIT`` only, and
        for GEO up to 2,000 cities; all else is linear in M.
    """
    if instance.matrix is not None:
        rows = instance.matrix[np.ix_(cities, cities)].astype(np.float64)
        return KernelMetric(rows.ravel(), len(cities), *CODES["EXPLICIT"])
    if instance.edge_weight_type == "GEO" and len(cities) <= _DEAR_UP_TO:
        rows = instance.edges(cities[:, None], cities[None, :])
        return KernelMetric(
            np.ascontiguousarray(rows, dtype=np.float64).ravel(), len(cities), *CODES["EXPLICIT"]
        )
    coords = instance.measured[cities]
    return KernelMetric(coords.ravel(), coords.shape[1], *CODES[instance.edge_weight_type])
