"""Capacitated vehicle routing: vehicles bring goods to customers, and all drive as little as possible.

nsa generate examples/routes.py:CVRP --size 50 | nsa solve - --problem examples/routes.py:CVRP
"""

import numpy as np

from nsa_cli.user import UserProblem, relocate, route, routes, swap, two_opt


class CVRP(UserProblem):
    """Each vehicle drives from the depot and back; in `distance`, customer c is c + 1 and the depot 0."""

    name = "cvrp"
    summary = "capacitated vehicle routing: routes from a depot to all customers, as short as possible"
    keys = ("distance", "demand", "capacity", "vehicles")
    solution = routes("demand", "vehicles")
    moves = (relocate, swap, two_opt)

    def cost(data, x):
        total = 0
        for vehicle in range(data.vehicles):
            last = 0
            for customer in route(x, vehicle):
                total += data.distance[last, customer + 1]
                last = customer + 1
            total += data.distance[last, 0]
        return total

    def violation(data, x):
        """What is loaded beyond the capacity."""
        total = 0
        for vehicle in range(data.vehicles):
            load = 0
            for customer in route(x, vehicle):
                load += data.demand[customer]
            total += max(0, load - data.capacity)
        return total

    def generate(size, rng):
        """Customers in a square with the depot in its middle; some eight fill a vehicle."""
        spots = np.concatenate([[[500, 500]], rng.integers(0, 1001, (size, 2))])
        distance = np.hypot(*(spots[:, None] - spots).transpose(2, 0, 1))
        return {
            "distance": distance.round().astype(int),
            "demand": rng.integers(1, 10, size),
            "capacity": 45,
            "vehicles": 1 + size // 7,
        }
