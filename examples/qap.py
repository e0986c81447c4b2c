"""Quadratic assignment: give each facility a place, so that much flow goes short ways.

nsa generate examples/qap.py:QAP --size 30 | nsa solve - --problem examples/qap.py:QAP
"""

from nsa_cli.user import UserProblem, permutation, swap


def change(data, x, i, j):
    """What it adds to the cost when facilities i and j change places."""
    flow, distance, a, b = data.flow, data.distance, x[i], x[j]
    total = (flow[i, i] - flow[j, j]) * (distance[b, b] - distance[a, a])
    total += (flow[i, j] - flow[j, i]) * (distance[b, a] - distance[a, b])
    for k in range(len(x)):
        if k != i and k != j:
            c = x[k]
            total += (flow[i, k] - flow[j, k]) * (distance[b, c] - distance[a, c])
            total += (flow[k, i] - flow[k, j]) * (distance[c, b] - distance[c, a])
    return total


class QAP(UserProblem):
    """Facility i is at place x[i]; two facilities change places."""

    name = "qap"
    summary = "quadratic assignment: facilities to places, flow times distance as small as possible"
    keys = ("flow", "distance")
    solution = permutation("flow")
    moves = (swap,)
    feature_names = ("cost of the facility", "cost of the swap", "temperature")

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            for j in range(len(x)):
                total += data.flow[i, j] * data.distance[x[i], x[j]]
        return total

    def delta(data, x, move):
        return change(data, x, move[0], move[1])

    def features(data, x, chosen, candidate, temperature):
        """In units of the scale, so that a policy serves instances of any size and units."""
        own = 0.0
        for k in range(len(x)):
            own += data.flow[candidate, k] * data.distance[x[candidate], x[k]]
            own += data.flow[k, candidate] * data.distance[x[k], x[candidate]]
        swapped = change(data, x, chosen[0], candidate) if chosen[0] >= 0 else 0
        return own / data.scale, swapped / data.scale, temperature

    def generate(size, rng):
        """Flows of 0 to 18, places on a grid."""
        flow = rng.integers(0, 10, (size, size))
        spots = rng.integers(0, 10, (size, 2))
        return {"flow": flow + flow.T, "distance": abs(spots[:, None] - spots).sum(2)}
