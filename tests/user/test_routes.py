"""Routes: what moves do to them, how they are written, and rules that an answer may break."""

from __future__ import annotations

import json
from itertools import pairwise, permutations, product

import numpy as np
import pytest

import nsa_cli as nsa
from nsa_cli.problems import as_problem, find_problem
from nsa_cli.user import gap, relocate, routes, two_opt, vehicle_at
from nsa_cli.user.scalar import Scalars

from user_problems import ROUTES


def lists_of(kind, x):
    return [list(map(int, customers)) for customers in kind.written(x)]


def moved(lists, name, move):
    """What a move is to do, on lists."""
    gaps = [(v, k) for v, customers in enumerate(lists) for k in range(len(customers) + 1)]
    found = [list(customers) for customers in lists]
    if name == "swap":
        places = [(v, k) for v, customers in enumerate(lists) for k in range(len(customers))]
        (u, i), (v, j) = (places[place] for place in move)
        found[u][i], found[v][j] = lists[v][j], lists[u][i]
    elif name == "relocate":
        first, more, to = move
        places = [(v, k) for v, customers in enumerate(lists) for k in range(len(customers))]
        (u, i), (v, j) = places[first], gaps[to]
        taken = found[u][i : i + more + 1]
        assert len(taken) == more + 1
        del found[u][i : i + more + 1]
        if u == v and j > i:
            j -= more + 1
        found[v][j:j] = taken
    else:
        (u, i), (v, j) = sorted(gaps[number] for number in move)
        if u == v:
            found[u][i:j] = lists[u][i:j][::-1]
        else:
            found[u][i:], found[v][j:] = lists[v][j:], lists[u][i:]
    return found


def test_moves_do_to_the_array_what_they_are_to_do_to_lists():
    """All allowed ones, of routes with empty ones among them; none leaves the routes as they are."""
    problem = find_problem(ROUTES)
    instance = problem.generate(5, np.random.default_rng(0))
    instance.data.vehicles = 3
    kind, scalars, seen = instance.model.kind, Scalars(instance), set()
    for lists in ([[], [3, 0, 4, 1, 2], []], [[0, 1], [], [2, 3, 4]], [[4], [3, 2], [1, 0]]):
        x = kind.read(lists)
        assert lists_of(kind, x) == lists
        for number, m in enumerate(instance.model.moves):
            name = m.move.name
            counts = {"swap": (5, 5), "relocate": (5, 3, 8), "two_opt": (8, 8)}[name]
            for move in product(*map(range, counts)):
                if all(scalars.is_allowed(x, number, move[:k], move[k]) for k in range(len(move))):
                    after = x.copy()
                    m.move.apply(instance.data, after, move)
                    assert lists_of(kind, after) == moved(lists, name, move)
                    assert (after != x).any()
                    assert kind.why_not(instance.data, after) is None
                    seen.add(name)
    assert seen == {"swap", "relocate", "two_opt"}


def test_places_and_gaps_are_numbered_along_the_routes():
    """Each route has one gap more than it has customers."""
    x = routes(4, 3).read([[2, 0], [], [1, 3]])
    assert [vehicle_at(x, place) for place in range(4)] == [0, 0, 2, 2]
    assert [gap(x, number) for number in range(7)] == [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 3), (2, 4)]
    assert {relocate.kinds, two_opt.kinds} == {(type(routes(4, 3)),)}


@pytest.mark.parametrize(
    "wrong", [[[0, 1], [2]], [[0, 1], [2, 2], []], [[0], [2], []], [[0, 1.5], [2], []], [[], 1, 2]]
)
def test_other_lists_are_no_solution(wrong):
    """Too few routes, a customer twice, one that is missing, half a customer, and no lists at all."""
    instance = find_problem(ROUTES).generate(3, np.random.default_rng(0))
    instance.data.vehicles = 3
    with pytest.raises(nsa.DataError):
        instance.from_ids(wrong)


def small(capacity):
    """Six customers, two vehicles."""
    record = find_problem(ROUTES).generate(6, np.random.default_rng(3)).record()
    return {**record, "vehicles": 2, "capacity": capacity, "demand": [3, 1, 4, 1, 5, 2]}


def optimum(record):
    """Least excess load, and least distance with that, over all pairs of routes."""
    d, demand = np.array(record["distance"]), np.array(record["demand"])

    def value(one, other):
        excess = sum(max(0, demand[list(part)].sum() - record["capacity"]) for part in (one, other))
        ways = [(0, *(c + 1 for c in part), 0) for part in (one, other)]
        return excess, sum(d[a, b] for way in ways for a, b in pairwise(way))

    return min(value(order[:k], order[k:]) for order in permutations(range(6)) for k in range(7))


@pytest.mark.parametrize("backend", ["numba", "python"])
@pytest.mark.parametrize("capacity", [8, 9, 7])
def test_small_routes_are_solved(capacity, backend):
    """Against all pairs of routes; where no pair is feasible, with the least excess load."""
    record = small(capacity)
    problem = find_problem(ROUTES)
    instance = problem.from_record(record)
    found = nsa.solve(nsa.Task(problem, instance), backend=backend, steps=10_000, chains=2, seed=1)
    excess, distance = optimum(record)
    assert (instance.breach(found.raw), found.objective) == (excess, distance)
    assert found.status == ("infeasible" if excess else "feasible")


def test_violations_are_checked():
    """A number from 0 on."""
    problem = as_problem(type("Wrong", (find_problem(ROUTES).model.cls,), {"violation": lambda data, x: -1}))
    with pytest.raises(nsa.UsageError, match=r"violation: expected a number >= 0, got -1"):
        nsa.check_problem(problem)


def test_a_run_with_violations_is_the_same_whatever_the_threads():
    """Weights are those of a chain and its steps."""
    problem = find_problem(ROUTES)
    task = nsa.Task(problem, problem.generate(20, np.random.default_rng(2)))
    found = [nsa.solve(task, steps=2_000, chains=4, seed=1, threads=threads).to_dict() for threads in (1, 2)]
    assert json.dumps(found[0]["solution"]) == json.dumps(found[1]["solution"])
