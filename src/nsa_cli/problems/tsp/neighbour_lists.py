"""K-nearest neighbours and Hilbert order, shared by starts, 2-opt, local search and bound."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.instance import Solution
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels import neighbours as trees
from nsa_cli.problems.tsp.kernels.metric import CODES, Floats, Ints, KernelMetric, lengths
from nsa_cli.problems.tsp.kernels.neighbours import PointTree

#: Nearest neighbours of each site.
_NEIGHBOURS = 10

#: Up to this many sites, all pairs are compared: by lengths, as they are rounded.
_FEW = 150

#: Up to this many cities, lengths that take trigonometry are kept in a matrix (32 MiB).
DEAR_UP_TO = 2000

#: Nearest points in each orthant.
_EACH_SIDE = 2

#: Norms of the metrics that are not Euclidean, by the beginnings of their names.
_NORMS = {"MAN": trees.MANHATTAN, "MAX": trees.CHEBYSHEV}

#: Places of cities along Hilbert's curve, and the cities in their order, by instance.
_curves: WeakKeyDictionary[TspInstance, tuple[Ints, Ints]] = WeakKeyDictionary()

#: Lists by instance: the start, chains and bound of one instance share them.
_known: WeakKeyDictionary[TspInstance, NeighbourLists] = WeakKeyDictionary()


class Sites(NamedTuple):
    """Cities renumbered along Hilbert's curve, coincident ones merged into one site.

    Attributes
    ----------
    numbers : int64[M]
        Site to city of the file.
    site : int64[N]
        City of the file to site.
    """

    numbers: Ints
    site: Ints

    def tour(self, order: NDArray[np.generic]) -> Solution:
        """Expand a tour of sites, int[M], to one of all cities, int64[N]."""
        if len(order) == len(self.site):
            return self.numbers[order]
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return np.argsort(rank[self.site], kind="stable")

    def order(self, tour: Solution) -> Ints:
        """Give the sites, int64[M], in the order in which a tour first visits them."""
        visited = self.site[tour]
        if len(self.numbers) == len(visited):
            return visited
        _, first = np.unique(visited, return_index=True)
        return visited[np.sort(first)]


class NeighbourLists(NamedTuple):
    """Sites with their nearest neighbours.

    Attributes
    ----------
    sites : Sites
    metric : KernelMetric
        Of the sites.
    neighbours, distances : int64[M, k], float64[M, k]
        Nearest first.
    """

    sites: Sites
    metric: KernelMetric
    neighbours: Ints
    distances: Floats


def kernel_metric(instance: TspInstance, cities: Ints) -> KernelMetric:
    """Build an instance's metric for kernels, with its cities renumbered.

    Parameters
    ----------
    instance : TspInstance
    cities : int64[M]
        Positions in the file of the cities 0, …, M - 1. A matrix, M x M, is made for ``EXPLICIT`` only, and
        for GEO up to 2,000 cities; all else is linear in M.
    """
    if instance.matrix is not None or (instance.edge_weight_type == "GEO" and len(cities) <= DEAR_UP_TO):
        rows = np.ascontiguousarray(instance.edges(cities[:, None], cities), dtype=np.float64)
        return KernelMetric(rows.ravel(), len(cities), *CODES["EXPLICIT"])
    coords = instance.measured[cities]
    return KernelMetric(coords.ravel(), coords.shape[1], *CODES[instance.edge_weight_type])


def neighbour_lists(instance: TspInstance, *, merge: bool = True) -> NeighbourLists:
    """Give an instance's neighbour lists, computed once; `TspInstance.has_finite_lengths` must hold.

    Parameters
    ----------
    instance : TspInstance
    merge : bool
        Whether coincident cities are one site.
    """
    if (found := _known.get(instance)) is None:
        found = _known[instance] = _lists_of(instance, sites_of(instance))
    if merge or len(found.sites.numbers) == instance.size:
        return found
    return _lists_of(instance, sites_of(instance, merge=False))


def _lists_of(instance: TspInstance, sites: Sites) -> NeighbourLists:
    """Find the nearest sites of each site, or all M - 1 where that is less."""
    metric, few = kernel_metric(instance, sites.numbers), len(sites.numbers) <= _FEW
    found = _lists(instance, sites.numbers, metric, _NEIGHBOURS, all_pairs=few)
    return NeighbourLists(sites, metric, *found)


def candidate_lists(instance: TspInstance, count: int) -> NDArray[np.int32]:
    """Find the nearest other cities of each city, int32[N, min(count, N - 1)], nearest first.

    Memory is linear in N where cities have coordinates.
    """
    cities = np.arange(instance.size)
    found, _ = _lists(instance, cities, kernel_metric(instance, cities), count)
    return found.astype(np.int32)


def _lists(
    instance: TspInstance, cities: Ints, metric: KernelMetric, count: int, *, all_pairs: bool = False
) -> tuple[Ints, Floats]:
    """Find the nearest others of some cities int64[M], whose metric is given, and how far they are."""
    size = len(cities)
    count = max(min(count, size - 1), 0)
    if all_pairs or instance.matrix is not None:
        shape = (size, count)
        neighbours, distances = np.empty(shape, dtype=np.int64), np.full(shape, np.inf)
        if count:
            trees.find_nearest(metric, neighbours, distances)
        return neighbours, distances
    neighbours = nearest_among(instance, cities, count)
    ends = np.repeat(np.arange(size), count), neighbours.ravel()
    distances = lengths(metric, *ends).reshape(neighbours.shape)
    if (distances[:, 1:] >= distances[:, :-1]).all():
        return neighbours, distances
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(neighbours, order, 1), np.take_along_axis(distances, order, 1)


def nearest_among(instance: TspInstance, cities: Ints, count: int) -> Ints:
    """Find the nearest others of some cities int64[M]: places among these, int64[M, min(count, M - 1)].

    In the order of the points' distances, unrounded, or of the lengths in a matrix.
    """
    count = min(count, len(cities) - 1)
    if instance.matrix is not None:
        return _lists(instance, cities, kernel_metric(instance, cities), count)[0]
    return nearest_points(instance.points[cities], count, instance.edge_weight_type)


def nearest_points(points: Floats, count: int, edge_weight_type: str = "EXACT_2D") -> Ints:
    """Find the `count` < N nearest other points of each of float64[N, axes]; int64[N, count], nearest first.

    The type chooses the norm: Euclidean, Manhattan or Chebyshev. Of points that are equally far, the first.
    """
    norm = _NORMS.get(edge_weight_type[:3], trees.EUCLIDEAN)
    return _looked_up(trees.tree_of(points), norm, trees.EVERYWHERE, count)


def nearest_in_orthants(points: Floats) -> Ints:
    """Find the two nearest points in each orthant around each point (Miller and Pekny 1995: quadrants).

    Parameters
    ----------
    points : float64[N, axes]

    Returns
    -------
    int64[N, 2 ** axes * 2]
        -1 where there is none.
    """
    tree = trees.tree_of(points)
    sides = [_looked_up(tree, trees.EUCLIDEAN, side, _EACH_SIDE) for side in range(2 ** points.shape[1])]
    found = np.concatenate(sides, axis=1)
    return np.where(found < len(points), found, -1)


def with_quadrants(points: Floats, neighbours: Ints) -> Ints:
    """Add the nearest in each quadrant of points float64[N, 2] to neighbours, int64[N, k].

    Returns
    -------
    int64[N, k + 8]
        -1 where there is none, or it is among the neighbours already.
    """
    found = nearest_in_orthants(points)
    for k in range(neighbours.shape[1]):
        found[found == neighbours[:, k, None]] = -1
    return np.concatenate([neighbours, found], axis=1)


def _looked_up(tree: PointTree, norm: int, orthant: int, count: int) -> Ints:
    """Find the nearest others of each point in an orthant, int64[N, count]; N where there are no more."""
    size = len(tree.points)
    found, far = np.empty((size, count), dtype=np.int64), np.empty(count)
    if count:
        trees.find_in_tree(tree, norm, orthant, found, far)
    return found


def sites_of(instance: TspInstance, *, merge: bool = True) -> Sites:
    """Renumber an instance's cities along Hilbert's curve; a matrix's stay as they are.

    Parameters
    ----------
    instance : TspInstance
    merge : bool
        Whether coincident cities become one site.
    """
    if instance.matrix is not None:
        return Sites(np.arange(instance.size), np.arange(instance.size))
    place, numbers = along_curve(instance)
    first = np.arange(len(numbers))
    alike = np.diff(place[numbers]) == 0  # only those at one place of the curve may coincide
    if merge and alike.any():
        some = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
        first[some] = some[_first_alike(instance.measured[numbers[some]])]
    is_site, site = first == np.arange(len(numbers)), np.empty_like(numbers)
    site[numbers] = (np.cumsum(is_site) - 1)[first]
    return Sites(numbers[is_site], site)


def _first_alike(points: Floats) -> Ints:
    """Find the first point equal to each of float64[M, axes]; int64[M]."""
    order = np.lexsort(points.T)
    differs = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    begins = np.flatnonzero(np.append(True, differs)[: len(order)])
    first = np.empty_like(order)
    first[order] = np.repeat(order[begins], np.diff(begins, append=len(order)))
    return first


def along_curve(instance: TspInstance) -> tuple[Ints, Ints]:
    """Give the cities' places along Hilbert's curve, and the cities in their order, int64[N], once."""
    if (found := _curves.get(instance)) is None:
        place = hilbert(instance.measured[:, :2])
        found = _curves[instance] = place, np.argsort(place, kind="stable")
    return found


def hilbert(points: Floats) -> Ints:
    """Give the places along Hilbert's curve of order 16 (Hilbert 1891), int64[N], of points float64[N, 2]."""
    low = points.min(axis=0)
    side = max(float((points.max(axis=0) - low).max()), 1e-300)
    x, y = ((points - low) / side * 65535.0).astype(np.int32).T
    place, swapped, mirrored = np.zeros(len(x), np.int64), np.int32(0), np.int32(0)
    for level in range(15, -1, -1):
        one, other = (((axis >> level) & 1) ^ mirrored for axis in (x, y))
        right, up = np.where(swapped, other, one), np.where(swapped, one, other)
        place = 4 * place + ((3 * right) ^ up)
        # The lower quarters are the curve turned: axes swapped, and on the right mirrored.
        swapped, mirrored = swapped ^ 1 ^ up, mirrored ^ (right & (1 ^ up))
    return place
