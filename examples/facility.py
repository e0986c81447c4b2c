"""Facility location: open sites, so that these and the ways of all customers to the nearest cost little.

nsa generate examples/facility.py:Facility --size 30 | nsa solve - --problem examples/facility.py:Facility
"""

import numpy as np

from nsa_cli.user import UserProblem, flip, subset


class Facility(UserProblem):
    """One site at a time opens or closes."""

    name = "facility"
    summary = "facility location: sites to open, near all customers"
    keys = (
        "opening",
        "distances",
    )  # a cost for each site; from each site, those to all customers: whole numbers
    solution = subset("opening")
    moves = (flip,)
    feature_names = ("opening", "mean distance", "whether it is open", "temperature")

    def cost(data, x):
        """What opens, and the way of each customer; of none that is open, as much as all together."""
        total, nowhere = 0, data.opening.sum() + data.distances.sum()
        for site in range(len(x)):
            total += data.opening[site] * x[site]
        for customer in range(data.distances.shape[1]):
            nearest = nowhere
            for site in range(len(x)):
                if x[site] and data.distances[site, customer] < nearest:
                    nearest = data.distances[site, customer]
            total += nearest
        return total

    def features(data, x, chosen, candidate, temperature):
        customers, way = data.distances.shape[1], 0.0
        for customer in range(customers):
            way += data.distances[candidate, customer]
        return data.opening[candidate] / data.scale, way / customers / data.scale, x[candidate], temperature

    def bound(data):
        """Let customers go to shares of sites, a linear programme, whose dual gives each customer a price.

        Whatever the prices are, a solution costs no less than their sum, less what each site that is worth
        its while brings beyond its opening. The prices are rounded to whole numbers, so that nothing depends
        on the rounding errors of the solver.
        """
        from nsa_cli.core.programme import Lines, Programme  # HiGHS

        sites, customers = data.distances.shape
        share = sites + np.arange(sites * customers).reshape(sites, customers)
        pairs = [(site, column) for site in range(sites) for column in share[site]]
        programme = Programme()
        programme.add_columns(np.concatenate([data.opening, data.distances.ravel()]))
        programme.add_rows(1, 1, Lines.of(share.T))
        programme.add_rows(
            0, np.inf, Lines.of(pairs, [(1, -1)] * len(pairs))
        )  # no more of a site than is open
        prices = np.rint(programme.solve().duals[:customers]).astype(np.int64)
        worth = np.maximum(prices - data.distances, 0).sum(axis=1) - data.opening
        return prices.sum() - np.maximum(worth, 0).sum()

    def generate(size, rng):
        """Twice as many customers as sites in a square; a site costs as much as some ways."""
        sites, customers = rng.integers(0, 1000, (size, 1, 2)), rng.integers(0, 1000, (1, 2 * size, 2))
        distances = np.hypot(*np.moveaxis(sites - customers, 2, 0)).round().astype(int)
        return {"opening": rng.integers(500, 1500, size), "distances": distances}
