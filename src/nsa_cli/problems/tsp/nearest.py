"""2-opt between near cities: which moves there are, and near cities as a batch has them.

An action is (window, place in the window, candidate). Any of N windows is chosen, all alike: some cities
from all over the file. One of them is the first city, a. The candidates are its k nearest cities c, twice:
the edges (a, c) and (before a, before c) come in, or (a, c) and (after a, after c); the two variants of 2-opt
that give a the neighbour c. Candidate m is near city ``m % k``, by the first variant for m < k. So a learnt
choice sees a number of cities that does not depend on N, and a step costs the same at any size (neighbour
lists: Bentley 1992; Johnson, McGeoch 1997).

Of the two parts between the removed edges the shorter one is turned round. No direction is seen by a policy:
turned round as a whole, a tour has the same candidates, in another order.

Lists are not symmetric, so a move may have no way back: an edge of a that goes must be in the list of a. With
Metropolis' acceptance, whatever the proposals, nothing is claimed of the distribution at one temperature.
With Hastings' it is Boltzmann's over those tours that can be reached: the way back is the same window and
city with the old neighbour, and a move without one is not accepted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nsa_cli.problems.tsp.heuristics import positions
from nsa_cli.problems.tsp.instance import TspInstance

#: Cities of a window, at most: what vectors of kernels hold.
WINDOW = 16


def stride_of(size: int) -> int:
    """Give the step from a city of a window to the next, in the file's order, round and round.

    Coprime to N, so that a window has no city twice; near the golden section of N, so that windows are spread
    over the file, whose neighbours are often neighbours in the plane.
    """
    stride = max(round(size * (math.sqrt(5.0) - 1.0) / 2.0), 1)
    while math.gcd(stride, size) > 1:
        stride += 1
    return stride % size if size > 1 else 0


def near_cities(instance: TspInstance, count: int) -> NDArray[np.int32]:
    """List the nearest other cities of each city, int32[N, min(count, N - 1)], nearest first.

    Memory is linear in N where cities have coordinates; a matrix is sorted partially, a row at a time.
    """
    from nsa_cli.problems.tsp.candidates import nearest, nearest_in_matrix

    size = instance.size
    count = min(count, size - 1)
    if count < 1:
        return np.zeros((size, 0), np.int32)
    if instance.matrix is not None:
        found = nearest_in_matrix(instance.matrix.astype(np.float64, copy=False), count)
    else:
        found = nearest(positions(instance), count, instance.edge_weight_type)
    lengths = instance.edges(np.repeat(np.arange(size), count), found.ravel()).reshape(found.shape)
    order = np.argsort(lengths, axis=1, kind="stable")
    return np.take_along_axis(found, order, 1).astype(np.int32)
