"""Certificates of tours: what a proof found, and its check in Python's whole numbers, without a solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import Exact
from nsa_cli.problems.tsp.closed import searched
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.metric import Ints
from nsa_cli.problems.tsp.proof.cuts import closed_tour
from nsa_cli.problems.tsp.proof.lengths import whole_edges
from nsa_cli.problems.tsp.proof.relaxation import Values

#: An edge by its key, and 1 or 0.
Fixing = tuple[int, int]

#: An edge, its cities in rising order.
Edge = tuple[int, int]

#: Sets of an inequality, and how often their borders are crossed at least.
Crossed = tuple[list[set[int]], int]


def certificate(
    numbers: Ints, tour: Ints, stages: Sequence[Values], leaves: Sequence[tuple[Sequence[Fixing], Values]]
) -> dict[str, Any]:
    """Give what shows that there is no better tour: inequalities, and dual values of stages and of cases.

    Parameters
    ----------
    numbers : int64[N]
        The cities of the instance by those of the proof.
    tour : int64[N]
    stages : sequence of Values
        Each drops edges.
    leaves : sequence of pairs
        Edges that are in or out, by their keys, and dual values.
    """
    used = {id(cut): cut for values in (*stages, *(leaf[1] for leaf in leaves)) for cut, _ in values.cuts}
    place = {known: k for k, known in enumerate(used)}
    inner = np.argsort(numbers)

    def written(values: Values) -> list[Any]:
        rows = [[place[id(cut)], value] for cut, value in values.cuts]
        return [values.cities[inner].tolist(), rows]

    return {
        "tour": tour.tolist(),
        "cuts": [[np.sort(numbers[one]).tolist() for one in cut.sets] for cut in used.values()],
        "stages": [written(values) for values in stages],
        "leaves": [
            [
                [[*numbers[[*divmod(key, len(numbers))]].tolist(), value] for key, value in fixings],
                *written(values),
            ]
            for fixings, values in leaves
        ],
    }


def check(instance: TspInstance, data: Mapping[str, Any]) -> Exact:
    """Check a certificate, and give the length that no tour is shorter than.

    Raises
    ------
    DataError
        If it shows nothing of the kind.
    """
    try:
        found = _checked(instance, data)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise DataError(f"certificate: it cannot be read ({error})", "certificate") from None
    if found is None:
        raise DataError("certificate: it leaves room for a shorter tour", "certificate")
    return found


def _checked(instance: TspInstance, data: Mapping[str, Any]) -> Exact | None:
    inner = searched(instance)
    edges, tour = whole_edges(inner), np.array(data["tour"], dtype=np.int64)
    if edges is None or inner.violation(tour) is not None:
        return None
    objective = inner.exact_objective(tour)
    goal, cuts = edges.goal(objective), [_valid(sets, edges.size) for sets in data["cuts"]]
    i, j = np.triu_indices(edges.size, 1)
    there = np.isfinite(edges.lengths(i, j))
    ends = zip(edges.numbers[i[there]].tolist(), edges.numbers[j[there]].tolist(), strict=True)
    left = dict(zip(map(_edge, ends), edges.of(i[there], j[there]).tolist(), strict=True))
    fixed = {_edge(edges.numbers[[*pair]].tolist()) for pair in zip(*edges.fixed, strict=True)}
    values = [one[-2:] for one in (*data["stages"], *data["leaves"])]
    if any(len(cities) != edges.size for cities, _ in values):
        return None
    for cities, rows in data["stages"]:
        bound, costs = _reduced(left, fixed, {}, cities, rows, cuts)
        left = {edge: left[edge] for edge, cost in costs.items() if edge in fixed or bound + cost < goal}
        if bound >= goal:
            return objective
    cases = [({_edge((a, b)): value for a, b, value in path}, *values) for path, *values in data["leaves"]]
    if not _covered([[*chosen.items()] for chosen, *_ in cases]):
        return None
    for chosen, cities, rows in cases:
        bound, costs = _reduced(left, fixed, chosen, cities, rows, cuts)
        must = fixed | {edge for edge, value in chosen.items() if value == 1}
        usable = [edge for edge, cost in costs.items() if edge in must or bound + cost < goal]
        degrees = Counter(city for edge in usable for city in edge)
        if bound < goal and min(degrees[city] for city in range(edges.size)) >= 2:
            other = closed_tour(edges.size, *np.array(usable).T)
            if other is None or inner.exact_objective(other) < objective:
                return None
    return objective


def _edge(ends: Sequence[int]) -> Edge:
    return min(ends), max(ends)


def _valid(sets: Sequence[Sequence[int]], size: int) -> Crossed:
    """Read an inequality: a set of some cities, or a handle and an odd number of disjoint teeth across it."""
    handle, *teeth = [set(map(int, one)) for one in sets]
    inside = all(0 <= city < size for one in (handle, *teeth) for city in one)
    apart = sum(map(len, teeth)) == len(set[int]().union(*teeth))
    across = all(tooth & handle and tooth - handle for tooth in teeth)
    odd = not teeth or (len(teeth) % 2 == 1 and len(teeth) > 1)
    if not (inside and apart and across and odd and 0 < len(handle) < size):
        raise ValueError("an inequality is none of tours")
    return [handle, *teeth], 3 * len(teeth) + 1 if teeth else 2


def _reduced(
    left: Mapping[Edge, int],
    fixed: set[Edge],
    chosen: Mapping[Edge, int],
    cities: Sequence[int],
    rows: Sequence[Sequence[int]],
    cuts: Sequence[Crossed],
) -> tuple[int, dict[Edge, int]]:
    """Give the bound of whole dual values, and the reduced costs of the edges that are left."""
    potentials, bound = [int(y) for y in cities], 2 * sum(map(int, cities))
    around: list[set[int]] = [set() for _ in cities]
    weights: list[int] = []
    for number, value in rows:
        sets, least = cuts[number]
        if not isinstance(value, int) or value < 0 or number < 0:
            raise ValueError("expected whole dual values")
        bound += least * value
        for one in sets:
            for city in one:
                around[city].add(len(weights))
                potentials[city] += value
            weights.append(value)
    costs = {}
    for (a, b), length in left.items():
        if chosen.get((a, b)) != 0:
            shared = sum(weights[one] for one in around[a] & around[b])
            cost = costs[a, b] = length - potentials[a] - potentials[b] + 2 * shared
            bound += cost if (a, b) in fixed or chosen.get((a, b)) == 1 else min(cost, 0)
    return bound, costs


def _covered(paths: Sequence[Sequence[tuple[Edge, int]]], depth: int = 0) -> bool:
    """Tell whether cases are all leaves of a tree that splits by edges: it is in the tour, or not."""
    if [len(path) for path in paths] == [depth]:
        return True
    parts = ([path for path in paths if path[depth][1] == value] for value in (0, 1))
    return len({path[depth][0] for path in paths}) == 1 and all(_covered(part, depth + 1) for part in parts)
