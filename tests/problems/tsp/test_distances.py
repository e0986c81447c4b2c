"""Edge lengths of TSPLIB, computed by hand; kernels have the same to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nsa_cli.kernels.jit import uncached
from nsa_cli.problems.tsp.distances import METRICS, prepare
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import metric as kernels
from nsa_cli.problems.tsp.kernels.metric import lengths, tour_length
from nsa_cli.problems.tsp.neighbour_lists import kernel_metric

#: kind, two cities, length; the arithmetic beside it.
CASES = [
    ("EUC_2D", (0, 0), (3, 4), 5),
    ("EUC_2D", (0, 0), (2.5, 0), 3),  # floor(2.5 + 0.5); half to even gives 2
    ("EUC_2D", (0, 0), (0.5, 0), 1),  # half to even gives 0
    ("EUC_2D", (0, 0), (1, 1), 1),  # 1.414
    ("EUC_2D", (-1, -1), (1, 2), 4),  # sqrt(4 + 9) = 3.61
    ("EUC_3D", (0, 0, 0), (2, 3, 6), 7),  # sqrt(4 + 9 + 36)
    ("CEIL_2D", (0, 0), (1, 1), 2),  # 1.414 up
    ("CEIL_2D", (0, 0), (3, 4), 5),
    ("FLOOR_2D", (0, 0), (3, 3), 4),  # 4.24 down
    ("EXACT_2D", (0, 0), (1, 1), math.sqrt(2)),
    ("EXACT_3D", (0, 0, 0), (1, 1, 1), math.sqrt(3)),
    ("MAN_2D", (0, 0), (1.25, 1.25), 3),  # nint(2.5); rounded each first: 2
    ("MAN_2D", (5, 1), (2, 5), 7),  # 3 + 4
    ("MAN_3D", (0, 0, 0), (1, -2, 3), 6),
    ("MAX_2D", (0, 0), (2.5, -1), 3),  # max(nint 2.5, nint 1)
    ("MAX_2D", (0, 0), (1, -7), 7),
    ("MAX_3D", (0, 0, 0), (1, 2, -4.4), 4),
    ("ATT", (0, 0), (10, 0), 4),  # sqrt(100 / 10) = 3.16, nint 3 is below it: 4
    ("ATT", (0, 0), (9, 3), 3),  # sqrt(90 / 10) = 3 exactly
    ("ATT", (0, 0), (12, 0), 4),  # sqrt(14.4) = 3.79, nint 4 is above it
    # 90 degrees along the equator: 6378.388 * 3.141592 / 2 = 10019.1, + 1, cut
    ("GEO", (0, 0), (0, 90), 10020),
    # 10 degrees 30 minutes to 12 degrees: 1.5 * 3.141592 / 180 * 6378.388 = 166.98, + 1, cut
    ("GEO", (10.30, 5), (12.0, 5), 167),
    # minus 30 minutes to plus 30 minutes: one degree, 111.32, + 1, cut
    ("GEO", (-0.30, 5), (0.30, 5), 112),
    ("GEO", (5, 7), (5, 7), 1),  # the formula's + 1
]


@pytest.mark.parametrize(("kind", "a", "b", "length"), CASES)
def test_lengths_by_hand(kind: str, a: tuple[float, ...], b: tuple[float, ...], length: float) -> None:
    """Every type measures and rounds as the documentation of TSPLIB says, both ways, tensors too."""
    x, y = prepare(kind, np.array([a, b], dtype=np.float64))[:, None]
    metric = METRICS[kind].lengths
    assert metric(x, y).item() == pytest.approx(length, abs=1e-15)
    assert metric(y, x) == metric(x, y)
    assert float(metric(*map(torch.from_numpy, (x[0], y[0])))) == pytest.approx(length, abs=1e-15)


@pytest.mark.parametrize("kind", METRICS)
def test_shapes_and_whole_numbers(kind: str) -> None:
    """Lengths have the shape of the pairs, and are whole where the type rounds."""
    metric = METRICS[kind]
    coords = prepare(kind, np.random.default_rng(0).uniform(-80, 80, (3, 4, metric.axes)))
    lengths = metric.lengths(coords[:, None], coords[None])
    assert lengths.shape == (3, 3, 4)
    assert (lengths >= 0).all()
    assert bool((lengths == np.floor(lengths)).all()) is metric.rounded


@pytest.mark.parametrize("kind", [k for k, m in METRICS.items() if m.per_unit is not None])
def test_a_unit_is_as_long_as_it_says(kind: str) -> None:
    """`per_unit` is the length of a long edge along an axis, per unit."""
    metric = METRICS[kind]
    a, b = np.zeros((1, metric.axes)), np.eye(metric.axes)[:1] * 1e6
    assert metric.lengths(a, b).item() == pytest.approx(1e6 * (metric.per_unit or 0), rel=1e-5)


def test_the_other_side_of_the_earth() -> None:
    """Rounding never takes the arc cosine out of its domain."""
    coords = prepare("GEO", np.array([[90.0, 0.0], [-90.0, 0.0], [0.0, 0.0], [0.0, 180.0]]))
    lengths = METRICS["GEO"].lengths(coords[:, None], coords[None])
    assert np.isfinite(lengths).all()
    assert lengths[0, 1] == 20039  # 6378.388 * 3.141592 = 20038.29, + 1, cut


# --- kernels -----------------------------------------------------------------------------------------

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
