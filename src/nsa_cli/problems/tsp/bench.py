"""Benchmark data of tours: temperatures, heuristics and peers."""

from __future__ import annotations

import numpy as np

from nsa_cli.core.instance import Solution
from nsa_cli.problems.contribution import BenchContribution, Heuristic, Peer, References
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.starts import integer_matrix, quick

#: Largest edge that fast-tsp takes.
_SHORT = 65_535


def tuned(size: int) -> tuple[float, float]:
    """Best temperatures with K = 10 N^2, measured on 20, 50 and 100 cities; beyond, by the spacing."""
    spacing = size**-0.5
    return (min(0.1, spacing), max(0.25 / size, 0.025 * spacing))


def tuned_nearest(size: int) -> tuple[float, float]:
    """Best temperatures between near cities, measured on 100 and 500 cities.

    With 300 N to 4,000 N steps from greedy tours, and 10 N^2 from random ones.
    """
    spacing = size**-0.5
    return (0.4 * spacing, 0.08 * spacing)


def fast_tsp(instance: TspInstance, seconds: float) -> Solution:
    """Local search with Or-opt moves; takes all of its time."""
    import fast_tsp as package

    matrix = integer_matrix(instance, _SHORT).astype(np.uint16)
    return np.array(package.find_tour(matrix, duration_seconds=seconds))


def ortools_routing(instance: TspInstance, seconds: float) -> Solution:
    """Guided local search from the cheapest arcs; takes all of its time."""
    from ortools.constraint_solver import pywrapcp, routing_enums_pb2

    manager = pywrapcp.RoutingIndexManager(instance.size, 1, 0)
    routing = pywrapcp.RoutingModel(manager)
    costs = routing.RegisterTransitMatrix(integer_matrix(instance).tolist())
    routing.SetArcCostEvaluatorOfAllVehicles(costs)
    parameters = pywrapcp.DefaultRoutingSearchParameters()
    parameters.first_solution_strategy = routing_enums_pb2.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    parameters.local_search_metaheuristic = routing_enums_pb2.LocalSearchMetaheuristic.GUIDED_LOCAL_SEARCH
    parameters.time_limit.FromMilliseconds(max(int(1000 * seconds), 1))
    found = routing.SolveWithParameters(parameters)
    tour, here = [], routing.Start(0)
    while found is not None and not routing.IsEnd(here):
        tour.append(manager.IndexToNode(here))
        here = found.Value(routing.NextVar(here))
    return np.array(tour if found is not None else range(instance.size))


def pyvrp(instance: TspInstance, seconds: float) -> Solution:
    """Iterated local search for vehicle routing, with one vehicle; takes all of its time."""
    import pyvrp as package
    from pyvrp.stop import MaxRuntime

    matrix = integer_matrix(instance)
    data = package.ProblemData(
        locations=[package.Location(0, 0) for _ in range(instance.size)],
        clients=[package.Client(i) for i in range(1, instance.size)],
        depots=[package.Depot(0)],
        vehicle_types=[package.VehicleType()],
        distance_matrices=[matrix],
        duration_matrices=[np.zeros_like(matrix)],
    )
    found = package.solve(data, stop=MaxRuntime(seconds), display=False, collect_stats=False)
    (route,) = found.best.routes() or ([],)
    return np.array([0, *(activity.idx + 1 for activity in route if activity.is_client())])


contribution = BenchContribution(
    power=2,
    temperatures={"sa": (1.0, 0.01), "ppo": (1.0, 0.01), "es": (1.0, 1e-4)},
    tuned=tuned,
    neighbourhoods={"nearest:10": tuned_nearest},
    heuristics={"two-opt": Heuristic(quick)},
    peers={
        "fast-tsp": Peer(fast_tsp, "fast-tsp", "fast-tsp, local search"),
        "ortools-routing": Peer(ortools_routing, "ortools", "OR-Tools, guided local search", "OR-Tools"),
        "pyvrp": Peer(pyvrp, "pyvrp", "PyVRP, iterated local search"),
    },
    references=References("tsp{size}_opt.npy", "LKH-3"),
)
