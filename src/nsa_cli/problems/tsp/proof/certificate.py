"""Certificates of tours: what a proof found, and its check in Python's whole numbers, without a solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nsa_cli.core.errors import DataError
from nsa_cli.core.exact import Exact
from nsa_cli.problems.tsp.closed import searched
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.kernels.metric import Ints
from nsa_cli.problems.tsp.proof.cuts import Cut, closed_tour
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
    known = dict[Cut | int, int]()
    cuts: list[list[list[int]]] = []

    def values_of(values: Values) -> list[Any]:
        rows = []
        for cut, value in values.cuts:
            if id(cut) not in known:
                known[id(cut)] = len(cuts)
                cuts.append([np.sort(numbers[one]).tolist() for one in cut.sets])
            rows.append([known[id(cut)], value])
        cities = np.empty_like(values.cities)
        cities[numbers] = values.cities
        return [cities.tolist(), rows]

    def fixing(key: int, value: int) -> list[int]:
        ends = (int(numbers[key // len(numbers)]), int(numbers[key % len(numbers)]))
        return [min(ends), max(ends), value]

    dropping = [values_of(values) for values in stages]
    cases = [[[fixing(*pair) for pair in fixings], *values_of(values)] for fixings, values in leaves]
    return {"tour": tour.tolist(), "cuts": cuts, "stages": dropping, "leaves": cases}


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
    ends = np.sort(np.stack([edges.numbers[i[there]], edges.numbers[j[there]]]), axis=0)
    left = dict(zip(zip(*ends.tolist(), strict=True), edges.of(i[there], j[there]).tolist(), strict=True))
    fixed = {_edge(*edges.numbers[list(pair)].tolist()) for pair in zip(*edges.fixed, strict=True)}
    for cities, rows in data["stages"]:
        bound, costs = _reduced(left, fixed, {}, cities, rows, cuts)
        left = {edge: left[edge] for edge, cost in costs.items() if edge in fixed or bound + cost < goal}
        fixed |= {edge for edge in left if bound - costs[edge] >= goal}
        if bound >= goal or _is_barren(left, edges.size):
            return objective
    if not _covered([[tuple(one) for one in fixings] for fixings, _, _ in data["leaves"]]):
        return None
    for fixings, cities, rows in data["leaves"]:
        chosen = {_edge(a, b): value for a, b, value in fixings}
        bound, costs = _reduced(left, fixed, chosen, cities, rows, cuts)
        if bound >= goal:
            continue
        must = fixed | {edge for edge, value in chosen.items() if value == 1}
        usable = [edge for edge, cost in costs.items() if edge in must or bound + cost < goal]
        if not _is_barren(usable, edges.size):
            other = closed_tour(edges.size, *np.array(usable).T)
            if other is None or inner.exact_objective(other) < objective:
                return None
    return objective


def _edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


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


def _is_barren(usable: Iterable[Edge], size: int) -> bool:
    """Tell whether some city has fewer than two edges."""
    degrees = Counter(city for edge in usable for city in edge)
    return min(degrees[city] for city in range(size)) < 2


def _covered(paths: Sequence[Sequence[Any]], depth: int = 0) -> bool:
    """Tell whether cases are all leaves of a tree that splits by edges: it is in the tour, or not."""
    if len(paths) == 1 and len(paths[0]) == depth:
        return True
    if (
        not paths
        or any(len(path) <= depth for path in paths)
        or len({path[depth][:2] for path in paths}) != 1
    ):
        return False
    return all(_covered([path for path in paths if path[depth][2] == value], depth + 1) for value in (0, 1))
