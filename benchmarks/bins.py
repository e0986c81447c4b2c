"""`nsa solve` without options on bins: the paper's sets, OR-Library's, and triplets that fill bins exactly.

    python benchmarks/bins.py DIR                 DIR holds ``binpack1.txt`` to ``binpack4.txt``
    python benchmarks/bins.py DIR --count 100     so many instances of each set of the paper's, at most

One thread, bounds included, by `--time-limit`; the time that is told is the processor's. A run that a busy
machine has kept waiting is repeated, five times at most, and the one that waited least counts. Triplets,
three items a bin, are Falkenauer's (1996, "A hybrid grouping genetic algorithm for bin packing").
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import nsa_cli as nsa
from nsa_cli.problems.bin import problem
from nsa_cli.problems.bin.heuristics import first_fit_decreasing
from nsa_cli.problems.bin.instance import BinInstance

#: Seconds an instance: of the paper's sets, and of the others.
SHORT, LONG = 0.05, 1.0

#: Runs of an instance at most, and the share of a processor with which one has not been kept waiting.
TRIES, FREE = 5, 0.9

#: Mean numbers of bins that the paper's sets are to have at most.
TARGETS = {50: 27.08, 100: 52.87, 200: 104.18}

TRIPLETS, CAPACITY = (60, 120, 249, 501), 1_000


class Solved(NamedTuple):
    """An instance's number of bins, whether that is proved, and seconds of the processor."""

    bins: int
    proved: bool
    seconds: float


def solve(instance: BinInstance, stream: int, seconds: float) -> Solved:
    """Solve as the command line does, but for random numbers of each instance's own."""
    found: list[Solved] = []
    for _ in range(TRIES):
        task = nsa.Task(
            problem, dataclasses.replace(instance), stream=stream
        )  # nothing is left of earlier runs
        wall, began = time.monotonic(), time.process_time()
        result = nsa.solve(task, seed=1, time_limit=seconds, threads=1)
        used = time.process_time() - began
        found.append(Solved(int(result.objective), result.status == "optimal", used))
        if result.status == "optimal" or used > FREE * min(time.monotonic() - wall, seconds):
            return found[-1]
    return max(found, key=lambda solved: solved.seconds)


def warm() -> None:
    """Do what only the first runs of a process have to do."""
    for size in (50, 200):
        nsa.solve(nsa.generate(problem, size, seed=0)[0], seed=0, steps=100, method="large-step", threads=1)


def paper(size: int, count: int) -> None:
    """Print a row of the paper's set of a size."""
    instances = problem.paper_set(size, count)
    rows = [solve(instance, k, SHORT) for k, instance in enumerate(instances)]
    bins = np.array([row.bins for row in rows])
    decreasing = np.array([int(i.objective(first_fit_decreasing(i, None))) for i in instances])
    target = f"{TARGETS[size]:.2f}" if size in TARGETS and count >= 1_000 else ""  # of the whole set
    show(
        f"Bin{size}",
        len(rows),
        f"{bins.mean():.3f}",
        f"{decreasing.mean():.3f}",
        target,
        (bins < decreasing).sum(),
        (bins > decreasing).sum(),
        sum(row.proved for row in rows),
        milliseconds(rows),
    )


def library(path: Path) -> None:
    """Print a row of one of OR-Library's files: how many are at the best known, or better."""
    tasks = nsa.read(path)
    rows = [solve(task.instance, k, LONG) for k, task in enumerate(tasks)]
    reached = sum(row.bins <= task.instance.best_known for row, task in zip(rows, tasks, strict=True))
    excess = sum(row.bins - task.instance.best_known for row, task in zip(rows, tasks, strict=True))
    proved = sum(row.proved for row in rows)
    show(f"u{tasks[0].instance.size}", len(rows), reached, excess, proved, milliseconds(rows))


def triplet(size: int, seed: int) -> BinInstance:
    """Draw items that fill ``size / 3`` bins to the last unit."""
    rng = np.random.default_rng([seed, size])
    first = rng.integers(380, 491, size // 3)
    second = rng.integers(250, (CAPACITY - first) // 2 + 1)
    weights = rng.permutation(np.concatenate([first, second, CAPACITY - first - second]))
    return BinInstance(weights=weights, capacity=CAPACITY)


def triplets(size: int) -> None:
    """Print a row of triplets: how many have as few bins as there are."""
    rows = [solve(triplet(size, seed), seed, LONG) for seed in range(20)]
    reached = sum(row.bins == size // 3 for row in rows)
    excess = sum(row.bins - size // 3 for row in rows)
    proved = sum(row.proved for row in rows)
    show(f"t{size}", len(rows), reached, excess, proved, milliseconds(rows))


def milliseconds(rows: list[Solved]) -> str:
    """Mean time of the processor."""
    return f"{1e3 * np.mean([row.seconds for row in rows]):.1f}"


def show(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--count", type=int, default=1_000, help="instances of each of the paper's sets")
    arguments = parser.parse_args()
    warm()
    show("set", "instances", "mean", "FFD", "target", "below FFD", "above FFD", "proved", "CPU ms")
    show(*["---"] * 9)
    for size in problem.paper_sizes:
        paper(size, arguments.count)
    print()
    show("set", "instances", "at the best known", "bins above it", "proved", "CPU ms")
    show(*["---"] * 6)
    for path in sorted(arguments.folder.glob("binpack[1-4].txt")):
        library(path)
    for size in TRIPLETS:
        triplets(size)


if __name__ == "__main__":
    main()
