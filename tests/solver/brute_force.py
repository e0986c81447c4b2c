"""Claims of optimality against brute force, for `test_exactness`.

Small instances whose numbers are hard on floats are solved, and all claims are compared with the optimum,
which is found by trying all solutions in fractions, without code of the program: that an answer is
``optimal``, that a bound holds and is ``exact``, that a target is met; and what `nsa check` says of the
optimum and of a worse one.
"""

from __future__ import annotations

import itertools
import json
import operator
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

import nsa_cli as nsa
from nsa_cli.problems.solutions import ClaimedSolution
from nsa_cli.problems.tsp import bound as held_karp
from nsa_cli.solver.check import evaluate

#: Families of numbers: each draws one, given a generator.
NUMBERS: dict[str, Callable[[random.Random], Any]] = {
    "whole": lambda r: r.randrange(0, 50),
    "few values": lambda r: r.choice([0, 1, 1, 2]),
    "near 2^53": lambda r: 2**53 + r.randrange(-3, 4),
    "near 2^59": lambda r: 2**59 + r.randrange(-3, 4),
    "whole, mixed": lambda r: r.choice([r.randrange(1, 9), 10**15 + r.randrange(9), 10**17 + r.randrange(9)]),
    "cents": lambda r: r.randrange(0, 10_000) / 100,
    "cents beside 10^12": lambda r: r.choice([r.randrange(0, 10_000) / 100, 1e12 + r.randrange(0, 4) / 4]),
    "near 10^12": lambda r: 1e12 + r.randrange(0, 16) / 4,
    "10^-7 beside 10^12": lambda r: r.choice([r.randrange(1, 100) / 1e7, 1e12, float(r.randrange(1, 9))]),
    "thirds": lambda r: r.randrange(0, 30) / 3,
    "reals": lambda r: r.random(),
    "reals, mixed": lambda r: r.random() * 10.0 ** r.randrange(-12, 13),
    "ends of floats": lambda r: r.choice([5e-324, 1e-300, 1e-150, 1.0, 1e100, 0.1]),
}

#: Solutions as ids, each with its value.
Solutions = Iterator[tuple[list[Any], Fraction]]


def fractions(numbers: list[Any]) -> list[Fraction]:
    """Read numbers as a file's: decimals if all print with at most 15 digits, else binary."""
    floats = [repr(abs(x)).partition("e")[0] for x in numbers if isinstance(x, float)]
    digits = max((len(text.replace(".", "").strip("0")) for text in floats), default=0)
    return [Fraction(repr(x)) if digits <= 15 else Fraction(x) for x in numbers]


def sack(r: random.Random, family: str) -> dict[str, Any]:
    """Draw up to nine items."""
    size, number = r.randrange(1, 10), NUMBERS[family]
    weights = [NUMBERS[r.choice([family, "whole", "cents"])](r) for _ in range(size)]
    capacity = r.choice([sum(r.sample(weights, r.randrange(size + 1))), weights[0], sum(weights) / 2])
    return {"values": [number(r) for _ in range(size)], "weights": weights, "capacity": capacity}


def selections(data: dict[str, Any]) -> Solutions:
    """Try all selections."""
    values = fractions(data["values"])
    *weights, capacity = fractions([*data["weights"], data["capacity"]])
    for chosen in itertools.product((False, True), repeat=len(values)):
        if sum(itertools.compress(weights, chosen)) <= capacity:
            ids = [i for i, taken in enumerate(chosen, start=1) if taken]
            yield ids, sum(itertools.compress(values, chosen), Fraction(0))


def pieces(r: random.Random, family: str) -> dict[str, Any]:
    """Draw up to seven items."""
    weights = [NUMBERS[family](r) for _ in range(r.randrange(1, 8))]
    capacity = r.choice([sum(r.sample(weights, min(2, len(weights)))), sum(weights) / 2])
    return {"weights": weights, "capacity": max(*weights, capacity)}


def packings(data: dict[str, Any]) -> Solutions:
    """Try all partitions, item by item."""
    *weights, capacity = fractions([*data["weights"], data["capacity"]])
    found: list[list[list[int]]] = [[]]
    for item, weight in enumerate(weights, start=1):
        longer = [[*bins, [item]] for bins in found]
        for bins in found:
            for k, members in enumerate(bins):
                if sum(weights[i - 1] for i in members) + weight <= capacity:
                    longer.append([*bins[:k], [*members, item], *bins[k + 1 :]])
        found = longer
    yield from ((bins, Fraction(len(bins))) for bins in found)


def tours(lengths: list[list[Fraction | None]]) -> Solutions:
    """Try all tours over edges that are there, in one direction each."""
    for order in itertools.permutations(range(1, len(lengths))):
        edges = [lengths[a][b] for a, b in itertools.pairwise((0, *order, 0))]
        if order[0] <= order[-1] and None not in edges:
            yield [i + 1 for i in (0, *order)], sum(edges, Fraction(0))


def matrix(r: random.Random, family: str) -> dict[str, Any]:
    """Draw four to seven cities, negative lengths and edges that are not there among them."""
    size, sign, gaps = r.randrange(4, 8), r.choice([1, 1, -1]), r.choice([0, 0, 0.2])
    rows: list[list[Any]] = [[0] * size for _ in range(size)]
    for i, j in itertools.combinations(range(size), 2):
        there = r.random() >= gaps or (j - i) % size in (1, size - 1)
        x = NUMBERS[family](r) * r.choice([1, sign]) if there else None
        rows[i][j] = rows[j][i] = x
    return {"matrix": rows, "no_edge": "none"}


def tours_of_matrix(data: dict[str, Any]) -> Solutions:
    """Try all tours by the matrix."""
    there = [x for row in data["matrix"] for x in row if x is not None]
    exact = dict(zip(there, fractions(there), strict=True))
    return tours([[exact.get(x) for x in row] for row in data["matrix"]])


def places(r: random.Random, family: str) -> dict[str, Any]:
    """Draw four to seven cities in the plane."""
    coords = [[NUMBERS[family](r), NUMBERS[family](r)] for _ in range(r.randrange(4, 8))]
    kind = r.choice(["EXACT_2D", "EXACT_2D", "EUC_2D", "CEIL_2D", "MAN_2D", "MAX_2D", "ATT"])
    return {"coords": coords, "edge_weight_type": kind}


def tours_of_places(data: dict[str, Any]) -> Solutions:
    """Try all tours by the formulas of TSPLIB."""
    points = np.array(data["coords"], dtype=np.float64)
    apart = np.abs(points[:, None] - points)
    square = apart[..., 0] * apart[..., 0] + apart[..., 1] * apart[..., 1]
    lengths = {
        "EXACT_2D": lambda: np.sqrt(square),
        "EUC_2D": lambda: np.floor(np.sqrt(square) + 0.5),
        "CEIL_2D": lambda: np.ceil(np.sqrt(square)),
        "MAN_2D": lambda: np.floor(apart.sum(-1) + 0.5),
        "MAX_2D": lambda: np.floor(apart + 0.5).max(-1),
        "ATT": lambda: np.ceil(np.sqrt(square / 10.0)),
    }[data["edge_weight_type"]]()
    return tours([[Fraction(x) for x in row] for row in lengths.tolist()])


KINDS: list[tuple[str, Callable[..., dict[str, Any]], Callable[..., Solutions]]] = [
    ("knapsack", sack, selections),
    ("knapsack", sack, selections),
    ("bin", pieces, packings),
    ("tsp", matrix, tours_of_matrix),
    ("tsp", places, tours_of_places),
]


def study(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Compare claims with optima.

    Parameters
    ----------
    count, seed : int
        Instances `seed`, `seed` + 1, … are drawn, each by itself.

    Returns
    -------
    tally : Counter
        Instances, and claims of each sort.
    faults : list of str
        False ones, each with its instance.
    """
    tally: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(seed, seed + count):
        r = random.Random(number)
        name, draw, solutions = KINDS[number % len(KINDS)]
        data = json.loads(json.dumps(draw(r, r.choice(list(NUMBERS)))))
        try:
            # Bounds of larger instances, too.
            with patch.object(held_karp, "_FEW", r.choice([3, held_karp._FEW])):
                one(name, data, list(solutions(data)), r, tally)
        except nsa.DataError:
            tally[f"{name}: refused"] += 1
        except (nsa.NsaError, AssertionError) as error:
            # The few steps may find no tour of the edges that are there; that there is none is a false claim.
            if "no feasible solution was found" not in str(error):
                faults.append(f"{number}: {error!r} {data}")
    return tally, faults


def one(name: str, data: dict[str, Any], solutions: list[Any], r: random.Random, tally: Counter[str]) -> None:
    """Solve and check one instance; an AssertionError says which claim is false."""
    problem = nsa.find_problem(name)
    task = nsa.Task(problem, problem.from_record(data))
    best = min(solutions, key=lambda pair: pair[1] if problem.sense == "min" else -pair[1])
    target = float(r.choice(solutions)[1])
    goals = [{}, {}, {"target": target}, {"gap": r.choice([0, 0.01])}, {"bound": False}]
    result = nsa.solve(task, seed=1, steps=30, chains=1, threads=1, **r.choice(goals))
    by_ids = {json.dumps(ids): value for ids, value in solutions}
    value = by_ids.get(json.dumps(result.to_dict()["solution"]), Fraction(result.unrounded))
    claims(result, value, best[1], problem, tally)
    if result.stop_reason == "target":
        no_worse = operator.le if problem.sense == "min" else operator.ge
        assert no_worse(Fraction(result.objective), target), f"target {target} with {result.objective}"
    for ids, worth in (best, r.choice(solutions)):
        checked = evaluate(task, ClaimedSolution(ids))
        assert checked.violation is None, checked.violation
        claims(checked, worth, best[1], problem, tally)


def claims(found: Any, value: Fraction, optimum: Fraction, problem: Any, tally: Counter[str]) -> None:
    """Insist that what an evaluation says is true."""

    def rounded(exact: Fraction, shown: Any) -> Any:
        return int(exact) if isinstance(shown, int) else float(exact)

    name, bound = problem.name, found.bound
    tally[name] += 1
    assert Fraction(found.unrounded) == value, f"objective {found.unrounded} is {value}"
    assert found.objective == rounded(value, found.objective), "rounding"
    if found.status == "optimal":
        tally[f"{name}: optimal"] += 1
        assert value == optimum, f"optimal {float(value)!r}, it is {float(optimum)!r}"
    if getattr(found, "stop_reason", "") == "optimal":
        assert found.status == "optimal", "stopped as optimal without proof"
    if bound is not None:
        holds = operator.le if problem.sense == "min" else operator.ge
        limit = Fraction(bound.unrounded)
        assert holds(limit, optimum), f"bound {limit} beyond {optimum}"
        if bound.exact:
            tally[f"{name}: exact"] += 1
            assert limit == optimum, f"exact bound {limit} is not {optimum}"
            assert bound.value == rounded(optimum, bound.value), "exact value"
