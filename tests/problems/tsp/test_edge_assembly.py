"""Edge assembly crossover: what a child is made of, and that it is a tour."""

import numpy as np
import pytest

from nsa_cli.kernels.jit import uncached
from nsa_cli.problems.tsp import problem
from nsa_cli.problems.tsp.kernels.edge_assembly import assemble, new_assembly
from nsa_cli.problems.tsp.kernels.kicks import start_at
from nsa_cli.problems.tsp.kernels.local_search import restart
from nsa_cli.problems.tsp.kernels.metric import tour_length
from nsa_cli.problems.tsp.large_step import prepare
from nsa_cli.problems.tsp.starts import greedy_edge

crossover = uncached(assemble)
again = uncached(restart)


def points(size, seed):
    return np.random.default_rng(seed).random((size, 2)) * 1000


def lattice(size, seed):
    side = int(np.ceil(np.sqrt(size)))
    return np.array([[10 * (k % side), 10 * (k // side)] for k in range(size)], float)


def matrix(size, seed):
    """Lengths without places, some of them negative, that do not keep the triangle inequality."""
    rng = np.random.default_rng(seed)
    lengths = np.triu(rng.integers(-20, 1000, (size, size)), 1)
    return (lengths + lengths.T).tolist()


INSTANCES = {
    "points": lambda size, seed: {"coords": points(size, seed).tolist(), "edge_weight_type": "EXACT_2D"},
    "rounded": lambda size, seed: {"coords": points(size, seed).tolist(), "edge_weight_type": "EUC_2D"},
    "lattice": lambda size, seed: {"coords": lattice(size, seed).tolist(), "edge_weight_type": "EUC_2D"},
    "matrix": lambda size, seed: {"matrix": matrix(size, seed)},
}


def edges(order):
    return {frozenset(pair) for pair in zip(order.tolist(), np.roll(order, -1).tolist(), strict=True)}


def cross(instance, one, other, step=0):
    """Cross two tours; the child, what it gained, and the metric."""
    _, tours, _ = prepare(instance, greedy_edge(instance, None))
    state = start_at(tours, one, new_assembly(len(one)))
    again(state.chain, one.astype(np.uint32))
    gain = crossover(
        tours.cities, state.chain, state.assembly, other.astype(np.uint32), np.uint64(1234567 * step)
    )
    assert (state.chain.position[state.chain.order] == np.arange(len(one))).all()
    assert not state.assembly.left.any()  # scratch space is ready for the next crossover
    assert (state.assembly.seen == -1).all()
    return state.chain.order.astype(np.int64), gain, tours.cities.metric


@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("size", [13, 60])
def test_a_child_is_a_shorter_tour_and_the_gain_is_what_it_says(kind, size):
    instance = problem.from_record(INSTANCES[kind](size, 1))
    rng = np.random.default_rng(size)
    near = np.argsort(np.arange(size) + rng.normal(0, 3, size))  # two tours that have many edges in common
    for step in range(20):
        one, other = near, np.argsort(near + rng.normal(0, 3, size))
        child, gain, metric = cross(instance, one, other, step)
        assert sorted(child.tolist()) == list(range(size))
        before, after = (tour_length(metric, tour.astype(np.uint32)) for tour in (one, child))
        assert gain >= 0.0
        assert before - after == pytest.approx(gain, abs=1e-6)


def test_a_child_of_twins_is_the_same():
    instance = problem.from_record(INSTANCES["points"](200, 2))
    tour = np.random.default_rng(0).permutation(200)
    for twin in (tour, tour[::-1].copy(), np.roll(tour, 17)):
        child, gain, _ = cross(instance, tour, twin)
        assert gain == 0.0
        assert (child == tour).all()


def test_a_better_tour_that_differs_in_one_place_is_taken_over():
    """One AB-cycle, which leaves one tour: a double bridge, which local search has no move for."""
    instance = problem.from_record(INSTANCES["points"](300, 3))
    good = greedy_edge(instance, None)
    sites, _, _ = prepare(instance, good)
    other = sites.order(good)
    a, b, c, d = np.split(other, [60, 130, 220])
    one = np.concatenate([a, c, b, d])
    child, gain, _ = cross(instance, one, other)
    assert gain > 0.0
    assert edges(child) == edges(other)


def test_new_edges_come_only_from_joins_of_subtours():
    """For each subtour one exchange of two edges: fewer new ones than edges of the other parent."""
    instance = problem.from_record(INSTANCES["points"](400, 4))
    rng = np.random.default_rng(4)
    one = np.argsort(points(400, 4)[:, 0] + rng.normal(0, 20, 400))
    other = np.argsort(points(400, 4)[:, 0] + rng.normal(0, 20, 400))
    child, gain, _ = cross(instance, one, other)
    assert gain > 0.0
    inherited = edges(child) & (edges(other) - edges(one))
    assert inherited
    assert len(edges(child) - edges(one) - edges(other)) < len(inherited)
