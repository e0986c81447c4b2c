"""Neighbour lists against brute force, coincident cities, and the order along Hilbert's curve."""

from __future__ import annotations

import numpy as np
import pytest

from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.neighbour_lists import (
    hilbert,
    nearest_among,
    nearest_in_orthants,
    nearest_points,
    neighbour_lists,
    sites_of,
)


@pytest.mark.parametrize("size", [50, 200])
@pytest.mark.parametrize("explicit", [False, True])
def test_neighbours_are_the_nearest_sites(size: int, explicit: bool) -> None:
    """By comparing all pairs of few sites, by a k-d tree of many, and by rows of a matrix."""
    points = np.random.default_rng(1).random((size, 2))
    far = np.linalg.norm(points[:, None] - points, axis=-1)
    instance = (
        TspInstance(edge_weight_type="EXPLICIT", matrix=(far + far.T) / 2)
        if explicit
        else TspInstance(coords=points)
    )
    np.fill_diagonal(far, np.inf)
    expected = np.sort(far, axis=1)[:, :4]
    assert np.allclose(np.take_along_axis(far, nearest_points(points, 4), 1), expected)
    lists = neighbour_lists(instance)
    numbers = lists.sites.numbers
    assert np.allclose(lists.distances[np.argsort(numbers)], np.sort(far, axis=1)[:, :10])
    assert np.allclose(far[numbers[:, None], numbers[lists.neighbours]], lists.distances)
    assert neighbour_lists(instance) is neighbour_lists(instance)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("kind", ["random", "lattice", "line", "one place"])
@pytest.mark.parametrize("metric", ["EXACT", "MAN", "MAX"])
def test_of_points_equally_far_the_first_are_the_nearest(axes: int, kind: str, metric: str) -> None:
    """In each norm, whatever the points' places in the tree."""
    rng = np.random.default_rng(3)
    points = rng.random((203, axes)) if kind == "random" else rng.integers(0, 6, (203, axes)).astype(float)
    points *= {"line": np.arange(axes) == 1, "one place": 0.0}.get(kind, 1.0)
    apart = np.abs(points[:, None] - points)
    far = {"EXACT": (apart**2).sum(2), "MAN": apart.sum(2), "MAX": apart.max(2)}[metric]
    np.fill_diagonal(far, np.inf)
    expected = np.argsort(far, axis=1, kind="stable")[:, :11]
    assert np.array_equal(nearest_points(points, 11, f"{metric}_{axes}D"), expected)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("lattice", [False, True])
def test_two_are_found_in_each_orthant(axes: int, lattice: bool) -> None:
    """On every side that has so many; of points equally far the first."""
    rng = np.random.default_rng(4)
    points = rng.integers(0, 9, (150, axes)).astype(float) if lattice else rng.random((150, axes))
    found = nearest_in_orthants(points)
    for i in range(len(points)):
        side = ((points < points[i]) << np.arange(axes)).sum(axis=1)
        side[i] = -1
        far = ((points - points[i]) ** 2).sum(axis=1)
        expected = []
        for orthant in range(2**axes):
            there = np.flatnonzero(side == orthant)
            two = there[np.argsort(far[there], kind="stable")][:2].tolist()
            expected += [*two, -1, -1][:2]
        assert found[i].tolist() == expected


def test_neighbours_among_some_cities_are_places_among_these() -> None:
    """As many as there are, where that is fewer."""
    instance = TspInstance(coords=np.array([[0.0, 0.0], [9.0, 0.0], [1.0, 0.0], [3.0, 0.0]]))
    some = np.array([3, 0, 2])
    assert nearest_among(instance, some, 9).tolist() == [[2, 1], [2, 0], [1, 0]]


def test_coincident_cities_are_one_site_if_merged() -> None:
    """A tour of sites visits all cities of each; unmerged, each city is a site."""
    coords = np.repeat(np.random.default_rng(2).random((20, 2)), 3, axis=0)
    instance = TspInstance(coords=coords)
    sites = sites_of(instance)
    assert len(sites.numbers) == 20
    tour = sites.tour(np.arange(20))
    assert instance.violation(tour) is None
    assert sites.order(tour).tolist() == list(range(20))
    assert (np.diff(sites.site[tour]) >= 0).all()
    assert sorted(sites_of(instance, merge=False).numbers) == list(range(60))


def test_hilbert_goes_from_neighbour_to_neighbour() -> None:
    """Sorted along the curve, a full grid is walked in unit steps."""
    grid = np.stack(np.meshgrid(np.arange(16), np.arange(16)), -1).reshape(-1, 2).astype(float)
    walk = grid[np.argsort(hilbert(grid))]
    assert (np.abs(np.diff(walk, axis=0)).sum(axis=1) == 1).all()
