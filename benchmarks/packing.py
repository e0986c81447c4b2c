"""Bins by `nsa solve` without options, and knapsacks by large steps alone, without bounds.

    python benchmarks/packing.py bins DIR          DIR holds ``binpack1.txt`` to ``binpack4.txt``
    python benchmarks/packing.py knapsacks DIR     DIR holds ``knapsack{N}_opt.npy``, the optima

Runs are those of ``nsa benchmark``, on one thread, kept in ``NAME.jsonl`` here: the same command goes on.
Times are the processor's, set-up included.

Bins have 50 ms on the paper's sets and a second on others, bounds included, and are compared with first fit
decreasing, the best known, or the optimum of triplets that fill bins exactly: three items a bin, drawn as
Falkenauer does (1996, "A hybrid grouping genetic algorithm for bin packing"). ``at the bound`` are answers
that a bound without a limit proves.

Of the paper's knapsacks one chain has the steps of a millisecond times N / 50 or so, up to ten thousand. The
classes are those of Pisinger (2005, "Where are the hard knapsack problems?"), the capacity half of all
weight: four chains of half a million steps each. Gaps are to the optimum where the core programme finds it in
ten seconds, else to the best answer of this run.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from common import head, measure, row, suite_of

import nsa_cli as nsa
from nsa_cli.bench.solvers import HeuristicSolver, NsaSolver
from nsa_cli.bench.suites import suite_of_size
from nsa_cli.core.options import Steps
from nsa_cli.problems.bin.heuristics import first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance
from nsa_cli.problems.contribution import Heuristic
from nsa_cli.problems.knapsack.heuristics import greedy
from nsa_cli.problems.knapsack.instance import KnapsackInstance

BINS, KNAPSACKS = nsa.find_problem("bin"), nsa.find_problem("knapsack")

TRIPLETS, CAPACITY = (60, 120, 249, 501), 1_000

CLASSES = ("strongly", "inverse strongly", "multiple strongly", "subset sum", "spanner")


def triplet(size: int, seed: int) -> BinInstance:
    """Draw items that fill ``size / 3`` bins to the last unit."""
    rng = np.random.default_rng([seed, size])
    first = rng.integers(380, 491, size // 3)
    second = rng.integers(250, (CAPACITY - first) // 2 + 1)
    weights = rng.permutation(np.concatenate([first, second, CAPACITY - first - second]))
    return BinInstance(weights=weights, capacity=CAPACITY)


def bins(folder: Path, count: int) -> None:
    """Print a row of each set of bins."""
    suites = []
    for size in BINS.paper_sizes:
        instances = BINS.paper_set(size, count)
        decreasing = [float(i.objective(first_fit_decreasing(i, None))) for i in instances]
        suites.append((suite_of(f"Bin{size}", BINS, instances, decreasing), 0.05))
    for path in sorted(folder.glob("binpack[1-4].txt")):
        instances = [task.instance for task in nsa.read(path)[:count]]
        label = f"u{instances[0].size}"
        suites.append((suite_of(label, BINS, instances, [i.best_known for i in instances]), 1.0))
    for size in TRIPLETS:
        instances = [triplet(size, seed) for seed in range(min(count, 20))]
        suites.append((suite_of(f"t{size}", BINS, instances, [size // 3] * len(instances)), 1.0))
    head(
        "set", "instances", "mean", "mean reference", "below", "above", "bins above", "at the bound", "CPU ms"
    )
    for suite, seconds in suites:
        solver = NsaSolver(name="nsa-solve", settings={"threads": 1, "device": "cpu"}, budget=seconds)
        (runs,) = measure("bins", suite, [solver]).values()
        used, reference = np.array([(run.objective, run.reference) for run in runs]).T
        bounds = np.array([BINS.bound(task.instance).value for task in suite.tasks])
        apart = (used < reference).sum(), (used > reference).sum(), f"{(used - reference).sum():g}"
        spent = f"{1e3 * np.mean([run.cpu_seconds for run in runs]):.1f}"
        means = f"{used.mean():.3f}", f"{reference.mean():.3f}"
        row(suite.label, len(runs), *means, *apart, (used <= bounds).sum(), spent)


def of_class(kind: str, size: int, largest: int, seed: int) -> KnapsackInstance:
    """Draw an instance of a class; spanners are of two strongly correlated items, multiplied by 1 to 10."""
    rng = np.random.default_rng([seed, size, largest])
    weights = rng.integers(1, largest + 1, size)
    values, tenth = weights.copy(), largest // 10
    if kind == "strongly":
        values = weights + tenth
    elif kind == "inverse strongly":
        weights = values + tenth
    elif kind == "multiple strongly":
        values = weights + np.where(weights % 6 == 0, 3, 2) * tenth
    elif kind == "spanner":
        base = -(-2 * rng.integers(1, largest + 1, 2) // 10)
        which, times = rng.integers(0, 2, size), rng.integers(1, 11, size)
        values, weights = times * (base + 2 * tenth // 10)[which], times * base[which]
    return KnapsackInstance(values=values, weights=weights, capacity=int(weights.sum()) // 2)


def swapped(instance: KnapsackInstance, _: object) -> np.ndarray:
    """Improve the greedy selection by swaps, one in for one out, each the best for its item."""
    values, weights = instance.values, instance.weights
    chosen = greedy(instance, lambda n: np.zeros(n))
    improved = True
    while improved:
        improved = False
        for out in np.flatnonzero(chosen).tolist():
            room = instance.capacity - int(weights[chosen].sum()) + int(weights[out])
            gains = np.where(~chosen & (weights <= room), values - values[out], 0)
            into = int(gains.argmax())
            if gains[into] > 0:
                chosen[out], chosen[into], improved = False, True, True
    return chosen


def exact(instance: KnapsackInstance, _: object) -> np.ndarray:
    """Give the core programme's selection."""
    return KNAPSACKS.bound(instance, seconds=10.0).solution


def knapsacks(folder: Path, count: int) -> None:
    """Print the gaps on the paper's sets, then those on the classes."""
    settings = {"method": "large-step", "bound": False, "threads": 1, "chains": 1}
    head("N", "gap %", "ms")
    for size in KNAPSACKS.paper_sizes:
        suite = suite_of_size(KNAPSACKS, size, count, folder)
        steps = Steps(min(120 * size, 10_000))
        solver = NsaSolver(name="large-steps", settings=settings, budget=steps)
        (runs,) = measure("knapsacks", suite, [solver], timed=False).values()
        gap, seconds = np.mean([(run.gap, run.cpu_seconds) for run in runs], axis=0)
        row(size, f"{100 * gap:.5f}", f"{1e3 * seconds:.2f}")
    print()
    head("class", "n", "largest", "gap", "worst", "greedy with swaps", "s")
    solvers = [
        NsaSolver(name="large-steps", settings=settings | {"chains": 4}, budget=Steps(500_000)),
        HeuristicSolver(name="swaps", heuristic=Heuristic(swapped)),
        HeuristicSolver(name="exact", heuristic=Heuristic(exact)),
    ]
    for kind, size, largest in product(CLASSES, (100, 1_000, 10_000), (1_000, 10_000_000)):
        made = [of_class(kind, size, largest, seed) for seed in range(min(count, 3))]
        suite = suite_of(f"{kind} {size} {largest}", KNAPSACKS, made)
        found, swaps, _ = measure("knapsacks", suite, solvers, timed=False).values()
        gaps = [run.gap for run in found]
        cells = np.mean(gaps), max(gaps), np.mean([run.gap for run in swaps])
        seconds = np.mean([run.cpu_seconds for run in found])
        row(kind, size, largest, *(f"{100 * gap:.6f}" for gap in cells), f"{seconds:.2f}")


def main() -> None:
    """Print the tables of a problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("problem", choices=("bins", "knapsacks"))
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=1_000, help="instances of each set, at most")
    options = parser.parse_args()
    {"bins": bins, "knapsacks": knapsacks}[options.problem](options.folder, options.count)


if __name__ == "__main__":
    main()
