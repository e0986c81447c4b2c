"""Quadratic assignment: give each facility a place, so that much flow goes short ways.

nsa generate examples/qap.py:QAP --size 30 | nsa solve - --problem examples/qap.py:QAP
"""

from nsa_cli.user import UserProblem, permutation, swap


class QAP(UserProblem):
    """Facility i is at place x[i]; two facilities change places."""

    name = "qap"
    summary = "quadratic assignment: facilities to places, flow times distance as small as possible"
    keys = ("flow", "distance")
    solution = permutation("flow")
    moves = (swap,)

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            for j in range(len(x)):
                total += data.flow[i, j] * data.distance[x[i], x[j]]
        return total

    def delta(data, x, move):
        i, j = move
        flow, distance, a, b = data.flow, data.distance, x[i], x[j]
        change = (flow[i, i] - flow[j, j]) * (distance[b, b] - distance[a, a])
        change += (flow[i, j] - flow[j, i]) * (distance[b, a] - distance[a, b])
        for k in range(len(x)):
            if k != i and k != j:
                c = x[k]
                change += (flow[i, k] - flow[j, k]) * (distance[b, c] - distance[a, c])
                change += (flow[k, i] - flow[k, j]) * (distance[c, b] - distance[c, a])
        return change

    def generate(size, rng):
        """Flows of 0 to 9, places on a grid."""
        flow = rng.integers(0, 10, (size, size))
        spots = rng.integers(0, 10, (size, 2))
        return {
            "flow": flow + flow.T,
            "distance": abs(spots[:, None] - spots[None]).sum(2),
        }
