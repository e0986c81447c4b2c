"""Alpha-nearness of the edges of a small graph, and candidate lists chosen by it."""

from __future__ import annotations

import numpy as np

from nsa_cli.problems.tsp.kernels.spanning_tree import Graph, alpha_nearness, choose


def test_alpha_is_what_a_tree_grows_by() -> None:
    """Alpha of tree edges is 0, of others what the spanning tree would gain; lists keep the lowest."""
    # A square with sides 1, 2, 3, 4: the tree leaves out 4, whose path has 3 as its longest edge.
    graph = Graph(
        np.array([0, 2, 4, 6, 8]),
        np.array([1, 3, 0, 2, 1, 3, 2, 0]),
        np.array([1.0, 4.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]),
    )
    alpha = alpha_nearness(graph, 1, 0.0, 0.0)
    assert alpha.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    neighbours, distances, kept = choose(graph, alpha, 2)
    assert neighbours.tolist() == [1, 3, 0, 2, 1, 3, 2, 0]
    assert distances.tolist() == [1.0, 4.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]
    assert kept.tolist() == alpha.tolist()
    neighbours, distances, kept = choose(graph, alpha, 1)
    assert neighbours.tolist() == [1, 0, 1, 2]
    assert distances.tolist() == [1.0, 1.0, 2.0, 3.0]
    assert kept.tolist() == [0.0] * 4
