"""Compiled edge lengths against the arrays' formulas."""

from __future__ import annotations

import numpy as np
import pytest

from nsa_cli.kernels.jit import uncached
from nsa_cli.problems.tsp.distances import METRICS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import metric as kernels
from nsa_cli.problems.tsp.kernels.metric import lengths, tour_length
from nsa_cli.problems.tsp.neighbour_lists import kernel_metric

length, is_shorter = uncached(kernels.length), uncached(kernels.is_shorter)


@pytest.mark.parametrize("kind", [*METRICS, "EXPLICIT"])
@pytest.mark.parametrize("spread", [1.0, 90.0, 1e6])
def test_kernels_measure_as_arrays_do(kind: str, spread: float) -> None:
    """Every metric gives the same bits; renumbered cities, too."""
    rng = np.random.default_rng(5)
    size = 60
    if kind == "EXPLICIT":
        matrix = np.triu(rng.integers(0, int(spread) + 5, (size, size)), 1)
        instance = TspInstance(edge_weight_type=kind, matrix=matrix + matrix.T)
    else:
        spread = min(spread, 90.0) if kind == "GEO" else spread
        coords = rng.uniform(-spread, spread, (size, METRICS[kind].axes))
        coords[1::7] = np.round(coords[1::7])  # halves and exact integers occur
        instance = TspInstance(edge_weight_type=kind, coords=coords)
    cities = rng.permutation(size)
    i, j = (index.ravel() for index in np.indices((size, size)))
    i, j = i[i != j], j[i != j]
    expected = instance.edges(cities[i], cities[j])
    metric = kernel_metric(instance, cities)
    assert np.array_equal(lengths(metric, i, j), expected)
    pairs = list(zip(i[:200].tolist(), j[:200].tolist(), strict=True))
    limit = float(np.median(expected)) + 0.25
    assert [length(metric, a, b) for a, b in pairs] == expected[:200].tolist()
    assert [is_shorter(metric, a, b, limit) for a, b in pairs] == (expected[:200] < limit).tolist()
    tour = rng.permutation(size)
    assert tour_length(metric, tour.astype(np.uint32)) == pytest.approx(instance.objective(cities[tour]))


def test_great_circles_without_a_matrix() -> None:
    """Large GEO instances are measured by formula, as the small ones by matrix."""
    instance = TspInstance(
        edge_weight_type="GEO", coords=np.random.default_rng(1).uniform(-80, 80, (2100, 2)).round(2)
    )
    metric = kernel_metric(instance, np.arange(2100))
    assert metric.data.size == 4200
    i, j = np.random.default_rng(2).integers(0, 2100, (2, 20_000))
    assert np.array_equal(lengths(metric, i, j), instance.edges(i, j))
