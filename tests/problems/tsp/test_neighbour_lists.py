"""Neighbour lists against brute force, coincident cities, and the order along Hilbert's curve."""

from __future__ import annotations

import numpy as np
import pytest

from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.neighbour_lists import (
    hilbert,
    lists_of,
    nearest_among,
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
    lists = lists_of(instance, sites_of(instance), 4)
    numbers = lists.sites.numbers
    assert np.allclose(lists.distances[np.argsort(numbers)], expected)
    assert np.allclose(far[numbers[:, None], numbers[lists.neighbours]], lists.distances)
    assert neighbour_lists(instance) is neighbour_lists(instance)


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
