"""Claims of optimality against brute force, for `test_exactness`.

Small instances whose numbers are hard on floats are solved, and all claims are compared with the optimum,
which is found by trying all solutions in fractions, without code of the program: that an answer is
``optimal``, that a bound holds and is ``exact``, that a target is met; and what `nsa check` says of the
optimum and of a worse one.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

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


def fractions(numbers: list[Any]) -> list[Fraction]:
    """Read numbers as a file's: decimals if all print with at most 15 digits, else binary."""
    digits = [
        len(repr(abs(x)).partition("e")[0].replace(".", "").strip("0"))
        for x in numbers
        if isinstance(x, float)
    ]
    return [Fraction(repr(x)) if max(digits, default=0) <= 15 else Fraction(x) for x in numbers]


class Knapsack:
    """Up to nine items; all selections."""

    name = "knapsack"

    def draw(self, r: random.Random, family: str) -> dict[str, Any]:
        size, number = r.randrange(1, 10), NUMBERS[family]
        weights = [NUMBERS[r.choice([family, "whole", "cents"])](r) for _ in range(size)]
        capacity = r.choice([sum(r.sample(weights, r.randrange(size + 1))), weights[0], sum(weights) / 2])
        return {"values": [number(r) for _ in range(size)], "weights": weights, "capacity": capacity}

    def all(self, data: dict[str, Any]) -> Iterator[tuple[list[Any], Fraction]]:
        values, size = fractions(data["values"]), len(data["values"])
        *weights, capacity = fractions([*data["weights"], data["capacity"]])
        for chosen in itertools.product((0, 1), repeat=size):
            if sum(w for w, c in zip(weights, chosen, strict=True) if c) <= capacity:
                ids = [i + 1 for i in range(size) if chosen[i]]
                yield ids, sum((v for v, c in zip(values, chosen, strict=True) if c), Fraction(0))


class Bins:
    """Up to seven items; all partitions."""

    name = "bin"

    def draw(self, r: random.Random, family: str) -> dict[str, Any]:
        weights = [NUMBERS[family](r) for _ in range(r.randrange(1, 8))]
        capacity = max(
            max(weights), r.choice([sum(r.sample(weights, min(2, len(weights)))), sum(weights) / 2])
        )
        return {"weights": weights, "capacity": capacity}

    def all(self, data: dict[str, Any]) -> Iterator[tuple[list[Any], Fraction]]:
        *weights, capacity = fractions([*data["weights"], data["capacity"]])

        def packings(k: int, bins: list[list[int]]) -> Iterator[list[list[int]]]:
            if k == len(weights):
                yield [list(b) for b in bins]
                return
            for b in [*bins, None]:
                if b is None:
                    yield from packings(k + 1, [*bins, [k + 1]])
                elif sum(weights[i - 1] for i in b) + weights[k] <= capacity:
                    b.append(k + 1)
                    yield from packings(k + 1, bins)
                    b.pop()

        for bins in packings(0, []):
            yield bins, Fraction(len(bins))


def tours(lengths: list[list[Fraction | None]]) -> Iterator[tuple[list[Any], Fraction]]:
    """All tours over edges that are there, in one direction each."""
    for order in itertools.permutations(range(1, len(lengths))):
        edges = [lengths[a][b] for a, b in itertools.pairwise((0, *order, 0))]
        if order[0] <= order[-1] and None not in edges:
            yield [i + 1 for i in (0, *order)], sum(edges, Fraction(0))


class Matrices:
    """Four to seven cities with a matrix, negative lengths and edges that are not there among them."""

    name = "tsp"

    def draw(self, r: random.Random, family: str) -> dict[str, Any]:
        size, sign, gaps = r.randrange(4, 8), r.choice([1, 1, -1]), r.choice([0, 0, 0.2])
        rows: list[list[Any]] = [[0] * size for _ in range(size)]
        for i, j in itertools.combinations(range(size), 2):
            there = r.random() >= gaps or (j - i) % size in (1, size - 1)
            x = NUMBERS[family](r) * r.choice([1, sign]) if there else None
            rows[i][j] = rows[j][i] = x
        return {"matrix": rows, "no_edge": "none"}

    def all(self, data: dict[str, Any]) -> Iterator[tuple[list[Any], Fraction]]:
        there = [x for row in data["matrix"] for x in row if x is not None]
        exact = dict(zip(there, fractions(there), strict=True))
        return tours([[exact.get(x) for x in row] for row in data["matrix"]])


class Places:
    """Four to seven cities in the plane."""

    name = "tsp"

    def draw(self, r: random.Random, family: str) -> dict[str, Any]:
        coords = [[NUMBERS[family](r), NUMBERS[family](r)] for _ in range(r.randrange(4, 8))]
        kind = r.choice(["EXACT_2D", "EXACT_2D", "EUC_2D", "CEIL_2D", "MAN_2D", "MAX_2D", "ATT"])
        return {"coords": coords, "edge_weight_type": kind}

    def all(self, data: dict[str, Any]) -> Iterator[tuple[list[Any], Fraction]]:
        points, kind = np.array(data["coords"], dtype=np.float64), data["edge_weight_type"]
        apart = np.abs(points[:, None] - points)
        square = apart[..., 0] * apart[..., 0] + apart[..., 1] * apart[..., 1]
        lengths = {
            "EXACT_2D": lambda: np.sqrt(square),
            "EUC_2D": lambda: np.floor(np.sqrt(square) + 0.5),
            "CEIL_2D": lambda: np.ceil(np.sqrt(square)),
            "MAN_2D": lambda: np.floor(apart.sum(-1) + 0.5),
            "MAX_2D": lambda: np.floor(apart + 0.5).max(-1),
            "ATT": lambda: np.ceil(np.sqrt(square / 10.0)),
        }[kind]()
        return tours([[Fraction(x) for x in row] for row in lengths.tolist()])


class Cities:
    """Thirteen cities, so that there are large steps and Held and Karp's bound; all tours by subsets."""

    name = "tsp"

    def draw(self, r: random.Random, family: str) -> dict[str, Any]:
        rows: list[list[Any]] = [[0] * 13 for _ in range(13)]
        around = r.random() < 0.5  # a short tour that 1-trees find
        for i, j in itertools.combinations(range(13), 2):
            near = around and (j - i) in (1, 12)
            rows[i][j] = rows[j][i] = 0 if near else NUMBERS[family](r)
        return {"matrix": rows, "no_edge": "none"}

    def all(self, data: dict[str, Any]) -> Iterator[tuple[list[Any], Fraction]]:
        rows = data["matrix"]
        flat = fractions([x for row in rows for x in row])
        unit = math.lcm(*(x.denominator for x in flat))
        lengths = [[int(x * unit) for x in flat[13 * i : 13 * i + 13]] for i in range(13)]
        ends = {(1 << i, i): (lengths[12][i], (i,)) for i in range(12)}
        for size in range(2, 13):
            longer: dict[tuple[int, int], tuple[int, tuple[int, ...]]] = {}
            for (visited, last), (total, path) in ends.items():
                for i in range(12):
                    if not visited >> i & 1:
                        key, cost = (visited | 1 << i, i), total + lengths[last][i]
                        if key not in longer or cost < longer[key][0]:
                            longer[key] = cost, (*path, i)
            assert all(key[0].bit_count() == size for key in longer)
            ends = longer
        total, path = min((total + lengths[last][12], path) for (_, last), (total, path) in ends.items())
        yield [13, *(i + 1 for i in path)], Fraction(total, unit)
        plain = sum(lengths[i - 1][i] for i in range(13))
        yield list(range(1, 14)), Fraction(plain, unit)


KINDS: tuple[Any, ...] = (Knapsack(), Knapsack(), Bins(), Matrices(), Places())

#: One of so many instances has thirteen cities.
_RARE = 250


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
        kind = Cities() if number % _RARE == 0 else KINDS[number % len(KINDS)]
        family = r.choice(list(NUMBERS))
        data = json.loads(json.dumps(kind.draw(r, family)))
        try:
            one(kind, data, r, tally)
        except nsa.DataError:
            tally[f"{kind.name}: refused"] += 1
        except nsa.NsaError as error:
            # The few steps may find no tour of the edges that are there; that there is none is a false claim.
            tally[f"{kind.name}: none found"] += 1
            if "no feasible solution was found" not in str(error):
                faults.append(f"{number} {family}: {error!r} {data}")
        except AssertionError as error:
            faults.append(f"{number} {family}: {error} {data}")
    return tally, faults


def one(kind: Any, data: dict[str, Any], r: random.Random, tally: Counter[str]) -> None:
    """Solve and check one instance; an AssertionError says which claim is false."""
    problem = nsa.find_problem(kind.name)
    task = nsa.Task(problem, problem.from_record(data))
    solutions = list(kind.all(data))
    assert solutions, "no solution"
    sense, best = problem.sense, (min if problem.sense == "min" else max)
    optimum = best(value for _, value in solutions)
    tally[f"{kind.name}: instances"] += 1
    few = held_karp._FEW
    held_karp._FEW = few if r.random() < 0.5 else 3  # bounds of larger instances, too
    try:
        target = float(r.choice(solutions)[1])
        aims: dict[str, Any] = r.choice(
            [{}, {}, {"target": target}, {"gap": r.choice([0, 0.01])}, {"bound": False}]
        )
        result = nsa.solve(task, seed=1, steps=30, chains=1, threads=1, **aims)
        by_ids = {json.dumps(ids): value for ids, value in solutions}
        value = by_ids.get(json.dumps(result.to_dict()["solution"]), Fraction(result.unrounded))
        claims(result, value, optimum, sense, tally, kind.name)
        if result.stop_reason == "target":
            tally[f"{kind.name}: target"] += 1
            good = (
                Fraction(result.objective) <= target
                if sense == "min"
                else Fraction(result.objective) >= target
            )
            assert good, f"target {target} with {result.objective}"
        for ids, worth in (best(solutions, key=lambda pair: pair[1]), r.choice(solutions)):
            checked = evaluate(task, ClaimedSolution(ids))
            assert checked.violation is None, checked.violation
            claims(checked, worth, optimum, sense, tally, kind.name)
    finally:
        held_karp._FEW = few


def claims(
    found: Any, value: Fraction, optimum: Fraction, sense: str, tally: Counter[str], name: str
) -> None:
    """Insist that what an evaluation says is true."""
    assert Fraction(found.unrounded) == value, f"objective {found.unrounded} is {value}"
    assert found.objective == (int(value) if isinstance(found.objective, int) else float(value)), "rounding"
    if found.status == "optimal":
        tally[f"{name}: optimal"] += 1
        assert value == optimum, f"optimal {float(value)!r}, it is {float(optimum)!r}"
    if getattr(found, "stop_reason", "") == "optimal":
        assert found.status == "optimal", "stopped as optimal without proof"
    if (bound := found.bound) is None:
        return
    limit = Fraction(bound.unrounded)
    assert limit <= optimum if sense == "min" else limit >= optimum, f"bound {limit} beyond {optimum}"
    if bound.exact:
        tally[f"{name}: exact"] += 1
        assert limit == optimum, f"exact bound {limit} is not {optimum}"
        assert bound.value == (int(optimum) if isinstance(bound.value, int) else float(optimum)), (
            "exact value"
        )
