"""The travelling salesperson problem (section 4.4 of the paper)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import UsageError
from nsa_cli.core.neighbourhood import Neighbourhood
from nsa_cli.core.problem import Column, Problem
from nsa_cli.core.words import listed
from nsa_cli.problems.tsp.closed import FEW, ClosedTour, searched
from nsa_cli.problems.tsp.distances import MEASURES
from nsa_cli.problems.tsp.forms import FORMATS, SOLUTION_FORMATS
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.neighbourhoods import Paper, nearest_cities, parse
from nsa_cli.problems.tsp.starts import STARTS, tightened

#: Headers of the columns of names and of ids.
_NAMES = listed(
    "name, names, city, cities, city name, city names, town, towns, place, places, location, "
    "locations, label, labels, node, nodes, stop, stops, station, title, points, point, "
    "location name, stop name, node name, node names"
)
_IDS = listed(
    "id, ids, city id, node id, city ids, node ids, stop id, location id, number, no, nr, index, "
    "indices, key, code, i, #, city number, city no, node number, row"
)


class Tsp(Problem[TspInstance]):
    """Shortest tour through all cities: closed or a path, with lengths that may depend on the direction."""

    name = "tsp"
    summary = "travelling salesperson: the shortest tour through all cities"
    record_keys = (("coords", "matrix", "x", "lat"),)
    columns = (
        Column("x", listed("x, x coord, x coordinate, coord x, x pos, pos x, x position, easting, xs")),
        Column("y", listed("y, y coord, y coordinate, coord y, y pos, pos y, y position, northing, ys")),
        Column("z", listed("z, z coord, z coordinate, coord z, z pos, pos z, z position, zs")),
        Column("lat", listed("lat, latitude, lats, latitudes, lat deg")),
        Column("lon", listed("lon, longitude, lons, longitudes, lng, long, lon deg")),
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
    arrays = {"coords": 2, "matrix": 2, "edge_weight_type": 0}
    formats = FORMATS
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
        return tightened(TspInstance.from_record(data))

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
