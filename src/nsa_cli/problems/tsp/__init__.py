"""The travelling salesperson problem (section 4.4 of the paper)."""

from __future__ import annotations

import functools
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nsa_cli.core.errors import UsageError, shown
from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.core.problem import Column, Problem
from nsa_cli.core.words import listed
from nsa_cli.problems.tsp.closed import FEW, ClosedTour, searched
from nsa_cli.problems.tsp.distances import MEASURES
from nsa_cli.problems.tsp.forms import FORMATS, JSON_FORMS, ROUTES, SOLUTION_FORMATS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.starts import STARTS

if TYPE_CHECKING:
    from nsa_cli.kernels.hooks import Fused
    from nsa_cli.problems.tsp.two_opt.operations import NearestOperations, TspOperations

#: Fewest and most candidates of a city.
_FEWEST, _MOST = 2, 100

#: Where there is one tour.
_NOTHING_TO_DO = Budget(0, 1.0, 1.0)


class Paper(Neighbourhood[TspInstance]):
    """2-opt over all pairs of cities (section 4.4)."""

    def operations(self) -> TspOperations:
        from nsa_cli.problems.tsp.two_opt.operations import TspOperations

        return TspOperations()

    def kernel(self) -> Fused:
        from nsa_cli.problems.tsp.two_opt.fused import fused

        return fused

    def default_policy(self, instance: TspInstance) -> str:
        return "uniform" if isinstance(instance, ClosedTour) else "tsp-es-best"

    def budget(self, instance: TspInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most, and temperatures in units of the spacing of N cities.

        Measured from greedy tours. Uniform proposals, N = 20 to 200: a short run wants a cool start, or it
        only undoes the start's work. A learnt policy, N = 20 to 1,000: the temperatures that it was trained
        with, as lengths between neighbours.
        """
        size = instance.size
        if size < 4:
            return _NOTHING_TO_DO
        if trained is not None:
            chains = _learnt_chains(size)
            # Features of all cities at each step: time grows with N.
            affordable = 1_000_000_000 // (size * chains)
            steps = max(min(max(10 * size**2, 2_000), affordable), 100)
            return Budget(steps, *_temperatures(trained, size), chains)
        steps = max(min(10 * size**2, 2_000_000), 2_000)
        spacing, chains = size**-0.5, max(min(4_000 // size, 16), 1)
        warm = 0.125 * (steps / size**2) ** 0.68
        return Budget(steps, min(max(warm, 0.02), 0.6) * spacing, 0.02 * spacing, chains)


class Nearest(Neighbourhood[TspInstance]):
    """2-opt that joins a city to one of its K nearest.

    Parameters
    ----------
    count : int
        K.
    """

    def __init__(self, count: int) -> None:
        self.count, self.name = count, f"nearest:{count}"

    def operations(self) -> NearestOperations:
        from nsa_cli.problems.tsp.two_opt.operations import NearestOperations

        return NearestOperations(self.count)

    def kernel(self) -> Fused:
        from nsa_cli.problems.tsp.two_opt.fused import fused_of

        return fused_of(self.count)

    def default_policy(self, instance: TspInstance) -> str:
        return "uniform" if isinstance(instance, ClosedTour) else "tsp-es-nearest"

    def budget(self, instance: TspInstance, trained: Trained | None = None) -> Budget:
        """As for all pairs of cities, but a step costs the same at any size."""
        size = instance.size
        if size < 4:
            return _NOTHING_TO_DO
        steps = min(10 * size**2, max(300 * size, 100_000))
        heat = (0.5 * size**-0.5, 0.03 * size**-0.5)
        if trained is not None:
            heat = _temperatures(trained, size)
        return Budget(steps, *heat, chains=_learnt_chains(size))


def _temperatures(trained: Trained, size: int) -> tuple[float, float]:
    """Scale the temperatures of a training to the spacing of N cities."""
    closer = (trained.size / size) ** 0.5
    return trained.t_start * closer, trained.t_end * closer


def _learnt_chains(size: int) -> int:
    return max(min(2_000 // size, 8), 1)


#: The neighbourhood of K candidates, the same object each time.
nearest_cities = functools.cache(Nearest)


def parse(name: str) -> Nearest:
    """Read ``nearest:K``.

    Raises
    ------
    UsageError
        If it is something else, or K is out of range.
    """
    found = re.fullmatch(r"nearest:([0-9]{1,4})", name)
    if found is None or not _FEWEST <= int(found[1]) <= _MOST:
        known = f"there are paper and nearest:K with K from {_FEWEST} to {_MOST}"
        raise UsageError(f"there is no {shown(name)}; {known}", option="neighbourhood")
    return nearest_cities(int(found[1]))


#: Headers of the columns of names and of ids.
_NAMES = listed(
    "name, names, city, cities, city name, city names, town, towns, place, places, location, "
    "locations, label, labels, node, nodes, stop, stops, station, title, points, point, "
    "location name, stop name, node name, node names"
)
_IDS = listed(
    "id, ids, city id, node id, city ids, node ids, stop id, location id, number, no, nr, index, "
    "indices, key, code, i, #, city number, city no, node number, row, stop no, stop number, customer id, "
    "customer no, customer number, client id, shop id, store id, site id, point id, order id, order no"
)


class Tsp(Problem[TspInstance]):
    """Shortest tour through all cities: closed or a path, with lengths that may depend on the direction."""

    name = "tsp"
    summary = "travelling salesperson: the shortest tour through all cities"
    record_keys = (("coords", "matrix", "x", "lat"),)
    columns = (
        Column(
            "x", listed("x, x coord, x coordinate, coord x, x pos, pos x, x position, easting, xs, utm east")
        ),
        Column(
            "y",
            listed("y, y coord, y coordinate, coord y, y pos, pos y, y position, northing, ys, utm north"),
        ),
        Column("z", listed("z, z coord, z coordinate, coord z, z pos, pos z, z position, zs")),
        Column("lat", listed("lat, latitude, lats, latitudes, lat deg, breitengrad, latitud, latitudine")),
        Column(
            "lon",
            listed("lon, longitude, lons, longitudes, lng, long, lon deg, längengrad, longitud, longitudine"),
        ),
        Column("names", _NAMES, text=True),
        Column("ids", _IDS, text=True),
    )
    column_sets = (("x", "y"), ("lat", "lon"), ("coords",))
    keys = ("comment", "display")
    words = {
        "coords": listed(
            "locs, locations, points, positions, nodes, cities, coordinates, xy, coord, stops, node coords, "
            "city coords, places, location, position, point, lat lon"
        ),
        "matrix": listed(
            "distance matrix, distances, distance, dist matrix, dist, dists, dm, durations, d, cost matrix, "
            "costs, edge weights, weight matrix, duration matrix, time matrix"
        ),
        "edge_weight_type": listed(
            "metric, distance type, norm, distance metric, measure, distance function, weight type, "
            "distance, distances"
        ),
        "open": listed("open tour, open path, hamiltonian path"),
        "closed": listed("round trip, return to start, return to depot"),
        "asymmetric": listed("directed"),
        "from": listed("from city, from node, origin"),
        "to": listed("to city, to node, end, end city, end node, end index, finish, destination"),
        "depot": listed("start, start city, start node, start index, home"),
        "fixed_edges": listed("fixed, required edges, mandatory edges, forced edges"),
    }
    neutral = {
        # in every row of a table, too
        **dict.fromkeys(listed("depot, start, start city, start node, start index, home"), (None,)),
        **dict.fromkeys(listed("num vehicles, vehicles, vehicle count, salesmen, num salesmen"), (1,)),
        **dict.fromkeys(listed("closed, symmetric, round trip, return to start, return to depot"), (True,)),
        **dict.fromkeys(listed("open, asymmetric, open tour, directed"), (False,)),
    }
    elsewhere = dict.fromkeys(
        listed("demand, demands, quantity, capacity, time window, time windows"), ROUTES
    )
    arrays = {"coords": 2, "matrix": 2, "edge_weight_type": 0}
    formats = FORMATS
    json_forms = JSON_FORMS
    solution_formats = SOLUTION_FORMATS
    starts = STARTS
    answer_columns = ("position", "id")
    settings = (
        *("edge_weight_type", "no_edge", "open", "closed", "from", "to", "depot", "symmetric", "asymmetric"),
        *("fixed_edges", *Problem.settings),
    )
    paper_sizes = (20, 50, 100, 200, 500)
    neighbourhoods = (Paper(), nearest_cities(10))
    default_neighbourhood = "nearest:10"

    def neighbourhood(self, name: str | None = None) -> Neighbourhood[TspInstance]:
        return super().neighbourhood(name) if name in (None, "paper") else parse(name)

    def searched(self, instance: TspInstance) -> TspInstance:
        return searched(instance)

    def anneals(self, instance: TspInstance) -> bool:
        """Not where edges have a direction, which 2-opt reverses; unless there is next to nothing to do."""
        return not (isinstance(instance, ClosedTour) and instance.outer.route.directed)

    def check_annealing(self, instance: TspInstance, policy: str) -> None:
        if not isinstance(instance, ClosedTour):
            return
        if not self.anneals(instance) and instance.outer.size > FEW:
            why = "edges have a direction here, and 2-opt moves reverse them"
            raise UsageError(why, option="method", use={"method": "large-step"})
        if policy != "uniform":
            why = "learnt policies are for closed tours without fixed edges"
            raise UsageError(why, option="policy", use={"policy": "uniform"})

    def from_record(self, data: Mapping[str, Any]) -> TspInstance:
        instance = TspInstance.from_record(data)
        if instance.absent is None or not instance.route.is_plain:
            return instance
        from nsa_cli.problems.tsp.large_step import tightened

        return tightened(instance)

    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> TspInstance:
        """Cities uniform in the unit square."""
        return TspInstance(name=name, coords=rng.random((size, 2)))

    def samples(self, rng: np.random.Generator) -> Sequence[TspInstance]:
        """Of points in the plane, with lengths exact and whole, of points in space, and of lengths."""
        half, space = np.triu(rng.integers(1, 100, (20, 20)), 1), rng.random((20, 3))
        whole = {"coords": rng.integers(0, 1000, (20, 2)).tolist(), "edge_weight_type": "EUC_2D"}
        matrix = {"matrix": (half + half.T).tolist()}
        others = [whole, {"coords": space.tolist(), "edge_weight_type": "EUC_3D"}, matrix]
        return [*super().samples(rng), *map(self.from_record, others)]

    def paper_set(self, size: int, count: int | None = None) -> Sequence[TspInstance]:
        """The public test sets of Kool et al. for 20, 50, 100; the same recipe for 200 and 500.

        ``np.random.seed(1234)``, then uniform coordinates of 10,000 instances (128 for the larger sizes,
        whose own instances the paper did not publish).
        """
        if size not in self.paper_sizes:
            return super().paper_set(size, count)
        total = 10_000 if size <= 100 else 128
        coords = np.random.RandomState(1234).uniform(size=(total, size, 2))
        return [TspInstance(name=f"tsp{size}-{i}", coords=c) for i, c in enumerate(coords[:count], start=1)]

    def columns_of(self, instance: TspInstance) -> Mapping[str, Sequence[Any]]:
        on_globe = instance.measure is not None and MEASURES[instance.measure].on_globe
        coords = instance.coords if instance.measure is None else instance.places
        if coords is None:
            raise UsageError("a table holds cities with coordinates only; write tsplib or json")
        axes = ("lat", "lon") if on_globe else ("x", "y", "z")
        columns: dict[str, Sequence[Any]] = dict(zip(axes, coords.T.tolist(), strict=False))
        labels = {"names": instance.names, "ids": instance.ids}
        return columns | {key: names for key, names in labels.items() if names is not None}

    def group(self, instance: TspInstance) -> Hashable:
        return instance.size, instance.edge_weight_type


problem = Tsp()
