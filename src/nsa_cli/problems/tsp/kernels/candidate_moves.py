"""2-opt with neighbour lists (Bentley 1992; Johnson, McGeoch 1997): the moves.

An action is (window, offset, candidate). A window is a sample of cities from all over the file; one of N is
drawn uniformly, and the policy chooses one of its cities as the first city, a. The candidates are the k
nearest cities c of a, twice: 2-opt adds the edges (a, c) and (before a, before c), or (a, c) and (after a,
after c). Candidate m is city ``m % k`` of the list, by the first variant for m < k. So a policy sees a number
of cities that does not depend on N, and a step costs the same at any size.

Of the two segments between the removed edges the shorter one is reversed. Policies see no direction: a
reversed tour has the same candidates, in another order.

Lists are not symmetric, so a move may have no reverse: an edge of a that is removed must be in the list of a.
Nothing is claimed of the distribution at one temperature.
"""

from __future__ import annotations

import math

#: Cities of a window, at most: the lanes of a kernel's vectors.
WINDOW = 16


def stride_of(size: int) -> int:
    """Give the step from a city of a window to the next, cyclically in the file's order.

    Coprime to N, so that a window has no city twice; near the golden section of N, so that windows are spread
    over the file, whose neighbours are often neighbours in the plane.
    """
    stride = max(round(size * (math.sqrt(5.0) - 1.0) / 2.0), 1)
    while math.gcd(stride, size) > 1:
        stride += 1
    return stride % size if size > 1 else 0
