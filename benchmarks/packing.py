"""Bins and hard knapsacks by `nsa solve` without options.

    python benchmarks/packing.py bins DIR          DIR holds ``binpack1.txt`` to ``binpack4.txt``
    python benchmarks/packing.py knapsacks

Runs are those of ``nsa benchmark``, on one thread, kept in ``NAME.jsonl`` here: the same command goes on.
Times are the processor's, set-up included.

Bins have 50 ms on the paper's sets and a second on others, bounds included, and are compared with first fit
decreasing, the best known, or the optimum of triplets that fill bins exactly: three items a bin, drawn as
Falkenauer does (1996, "A hybrid grouping genetic algorithm for bin packing"). ``at the bound`` are answers
that a bound without a limit proves.

Classes of knapsacks are those of Pisinger (2005, "Where are the hard knapsack problems?"), the capacity half
of all weight: two seconds each, bounds included. ``proved`` are answers at the bound of ten seconds, to which
gaps are.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from common import head, measure, row, suite_of

import nsa_cli as nsa
from nsa_cli.bench.solvers import NsaSolver
from nsa_cli.core.clock import Clock
from nsa_cli.problems.bin.heuristics import first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance
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


def knapsacks(_: Path, count: int) -> None:
    """Print a row of each class, size and largest number."""
    head("class", "n", "largest", "proved", "of", "gap", "worst", "s")
    solver = NsaSolver(name="nsa-solve", settings={"threads": 1, "device": "cpu"}, budget=2.0)
    for kind, size, largest in product(CLASSES, (100, 1_000, 10_000), (1_000, 10_000_000)):
        made = [of_class(kind, size, largest, seed) for seed in range(min(count, 3))]
        bounds = [float(KNAPSACKS.bound(i, Clock.of(10.0)).value) for i in made]
        suite = suite_of(f"{kind} {size} {largest}", KNAPSACKS, made, bounds)
        (runs,) = measure("knapsacks", suite, [solver]).values()
        gaps = np.array([run.gap for run in runs])
        seconds = np.mean([run.cpu_seconds for run in runs])
        cells = (f"{100 * gap:.6f}" for gap in (gaps.mean(), gaps.max()))
        row(kind, size, largest, (gaps == 0).sum(), len(gaps), *cells, f"{seconds:.2f}")


def main() -> None:
    """Print the tables of a problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("problem", choices=("bins", "knapsacks"))
    parser.add_argument("folder", type=Path, metavar="DIR", nargs="?", default=Path())
    parser.add_argument("--count", type=int, default=1_000, help="instances of each set, at most")
    options = parser.parse_args()
    {"bins": bins, "knapsacks": knapsacks}[options.problem](options.folder, options.count)


if __name__ == "__main__":
    main()
