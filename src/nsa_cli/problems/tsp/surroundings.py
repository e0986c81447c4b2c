"""What every search wants to know of an instance first: its cities along a curve, and who is near whom."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.candidates import along_curve, by_length, nearest, nearest_in_matrix, nearest_of_few
from nsa_cli.problems.tsp.greedy import greedy_tour
from nsa_cli.problems.tsp.heuristics import positions
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.measure import Measure, measure_of

#: Nearest neighbours of each site.
_NEIGHBOURS = 10

#: Up to this many sites, looking at all pairs is quicker than a tree.
_FEW = 150

#: Between coordinates below this, lengths are finite in any metric.
_NEAR = 1e150

#: A start and the chains that set out from it share the work.
_known: WeakKeyDictionary[TspInstance, Surroundings] = WeakKeyDictionary()


class Sites(NamedTuple):
    """An instance's cities renumbered along a space-filling curve, those on the same place made one.

    Attributes
    ----------
    numbers : int64[M]
        A city of the file at each site.
    site : int64[N]
        The site of each city of the file.
    """

    numbers: NDArray[np.int64]
    site: NDArray[np.int64]

    def tour(self, order: NDArray[np.generic]) -> Solution:
        """Visit sites int[M] in this order, and all cities of each; int64[N]."""
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return np.argsort(rank[self.site], kind="stable")

    def order(self, tour: Solution) -> NDArray[np.int64]:
        """Give the sites in the order in which a tour first visits them; int64[M]."""
        _, first = np.unique(self.site[tour], return_index=True)
        return self.site[tour][np.sort(first)]


class Surroundings(NamedTuple):
    """Sites with their nearest neighbours.

    Attributes
    ----------
    sites : Sites
    measure : Measure
        Of the sites.
    neighbours, distances : int64[M, k], float64[M, k]
        Nearest first.
    """

    sites: Sites
    measure: Measure
    neighbours: NDArray[np.int64]
    distances: NDArray[np.float64]


def surroundings_of(instance: TspInstance) -> Surroundings:
    """Find an instance's surroundings, once for all who ask; lengths must be finite (`is_measurable`)."""
    if (found := _known.get(instance)) is None:
        found = _known[instance] = _find(instance)
    return found


def _find(instance: TspInstance) -> Surroundings:
    sites = sites_of(instance)
    measure = measure_of(instance, sites.numbers)
    return Surroundings(sites, measure, *nearest_sites(instance, sites, measure, _NEIGHBOURS))


def nearest_sites(
    instance: TspInstance, sites: Sites, measure: Measure, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest other sites of each site and how far they are, int64[M, k] and float64[M, k].

    k is `count`, or M - 1 where that is less; nearest first.
    """
    size = len(sites.numbers)
    if size <= _FEW:
        return nearest_of_few(measure, size, min(count, size - 1))
    return by_length(measure, near(instance, sites.numbers, np.arange(size), count))


def is_measurable(instance: TspInstance) -> bool:
    """Tell whether lengths are numbers: coordinates of 1e200 have infinite distances."""
    if instance.matrix is not None or instance.metric is None:
        return True
    if np.abs(instance.measured).max() < _NEAR:
        return True
    with np.errstate(over="ignore"):
        low, high = instance.measured.min(axis=0), instance.measured.max(axis=0)
        return bool(np.isfinite(instance.metric.lengths(low, high)))


def greedy(instance: TspInstance) -> Solution:
    """Join the shortest edges to a tour; see `greedy_tour`."""
    if not is_measurable(instance) or instance.size < 3:
        return np.arange(instance.size)
    sites, measure, neighbours, distances = surroundings_of(instance)
    if len(sites.numbers) < 3:
        return sites.tour(np.arange(len(sites.numbers)))
    return sites.tour(greedy_tour(measure, neighbours, distances, partial(near, instance, sites.numbers)))


def sites_of(instance: TspInstance) -> Sites:
    """Renumber an instance's cities; a matrix's stay as they are."""
    if instance.matrix is not None:
        return Sites(np.arange(instance.size), np.arange(instance.size))
    place = hilbert(instance.measured[:, :2])
    numbers = np.argsort(place, kind="stable")
    if not (np.diff(place[numbers]) == 0).any():  # none on the same place
        site = np.empty_like(numbers)
        site[numbers] = np.arange(len(numbers))
        return Sites(numbers, site)
    _, first, site = np.unique(instance.measured[numbers], axis=0, return_index=True, return_inverse=True)
    along = np.argsort(first)  # sites in the order of the curve again
    rank, site_of_city = np.argsort(along), np.empty(len(numbers), dtype=np.int64)
    site_of_city[numbers] = rank[site.ravel()]
    return Sites(numbers[first[along]], site_of_city)


def hilbert(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Place along Hilbert's curve of order 16 (Hilbert 1891), int64[N], of points float64[N, 2]."""
    low = points.min(axis=0)
    side = max(float((points.max(axis=0) - low).max()), 1e-300)
    x, y = ((points - low) / side * 65535.0).astype(np.int64).T
    return along_curve(np.ascontiguousarray(x), np.ascontiguousarray(y), 16)


def near(
    instance: TspInstance, numbers: NDArray[np.int64], some: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Find near cities among some sites, as places among these; fewer than `count` where there are fewer."""
    cities = numbers[some]
    count = min(count, len(cities) - 1)
    if instance.matrix is not None:
        return nearest_in_matrix(instance.matrix[np.ix_(cities, cities)].astype(np.float64), count)
    return nearest(positions(instance)[cities], count, instance.edge_weight_type)
