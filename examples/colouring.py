"""Graph colouring: give neighbours different colours, of which there are k; the cost counts conflicts.

nsa generate examples/colouring.py:Colouring --size 50 | nsa solve - --problem examples/colouring.py:Colouring
"""

import numpy as np

from nsa_cli.user import UserProblem, assignment, reassign


def coloured(data, x, vertex, colour):
    """Count the neighbours of a vertex that have a colour."""
    total = 0
    for other in range(len(x)):
        if data.adjacent[vertex, other] and x[other] == colour:
            total += 1
    return total


class Colouring(UserProblem):
    """One vertex at a time gets another colour."""

    name = "colouring"
    summary = "graph colouring: k colours for the vertices, as few neighbours of one colour as possible"
    keys = ("adjacent", "colours")  # a matrix of 0 and 1, symmetric, zero diagonal; a number
    solution = assignment("adjacent", "colours")
    moves = (reassign,)
    feature_names = ("conflicts", "conflicts after the move", "temperature")

    def cost(data, x):
        """Edges between vertices of one colour."""
        total = 0
        for i in range(len(x)):
            for j in range(i):
                if data.adjacent[i, j] and x[i] == x[j]:
                    total += 1
        return total

    def delta(data, x, move):
        vertex, colour = move
        return coloured(data, x, vertex, colour) - coloured(data, x, vertex, x[vertex])

    def features(data, x, chosen, candidate, temperature):
        """Conflicts of a vertex first, then those of a colour for it."""
        if chosen[0] < 0:
            return coloured(data, x, candidate, x[candidate]), 0.0, temperature
        return 0.0, coloured(data, x, chosen[0], candidate), temperature

    def bound(data):
        return 0

    def generate(size, rng):
        """Every second edge between vertices of different colours in a colouring that is then forgotten."""
        colours = 2 + size // 12
        hidden = rng.integers(0, colours, size)
        edges = np.triu((hidden[:, None] != hidden) & (rng.random((size, size)) < 0.5), 1)
        return {"adjacent": (edges | edges.T).astype(int), "colours": colours}
