"""`nsa solve` without options on the paper's and larger random tours, beside fast-tsp, to the millisecond.

    python benchmarks/tours_paper.py --references DIR             DIR holds ``tsp100_opt.npy`` …
    python benchmarks/tours_paper.py --references DIR --count 60  so many of the paper's instances, at most

One thread, both solvers in turn at each instance, limits by the clock, bounds and set-up included; fast-tsp's
matrix is not charged. Kernels are compiled and loaded first.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import nsa_cli as nsa

#: Cities, instances, and limits in seconds. Where there are no references, tours are compared to each other.
SETS = ((100, 1369, (0.005, 0.02)), (500, 128, (0.05, 0.2, 0.5)), (5000, 4, (1.0, 2.0, 5.0)))

#: Gaps in per cent to be reached.
TARGETS = {(100, 0.005): 0.02, (100, 0.02): 0.003, (500, 0.05): 0.12, (500, 0.2): 0.03, (500, 0.5): 0.015}

#: Fast-tsp's matrix holds whole numbers of 16 bits.
LARGEST = 46_000


class Run(NamedTuple):
    """A tour's length, and seconds of the processor."""

    length: float
    seconds: float


def length(coords: NDArray[np.float64], tour: NDArray[np.int64]) -> float:
    """Length of a closed tour through points float64[N, 2]."""
    points = coords[tour]
    return float(np.hypot(*(points - np.roll(points, -1, 0)).T).sum())


def ours(task: nsa.Task, seconds: float) -> Run:
    """Solve as the command line does."""
    fresh = nsa.Task(task.problem, dataclasses.replace(task.instance))  # nothing is left of earlier runs
    began = time.process_time()
    result = nsa.solve(fresh, time_limit=seconds, seed=1, threads=1)
    return Run(float(result.objective), time.process_time() - began)


def fast_tsp(task: nsa.Task, seconds: float) -> Run:
    """Let fast-tsp have the same time."""
    import fast_tsp

    coords = task.instance.measured
    differences = coords[:, None] - coords[None, :]
    matrix = np.rint(np.hypot(differences[..., 0], differences[..., 1]) * LARGEST).astype(np.uint16)
    began = time.process_time()
    tour = fast_tsp.find_tour(matrix, seconds)
    return Run(length(coords, np.array(tour)), time.process_time() - began)


def interval(values: NDArray[np.float64]) -> str:
    """Give a mean and its 95 % interval."""
    return f"{values.mean():.4f} ± {1.96 * values.std() / len(values) ** 0.5:.4f}"


def random_cities(size: int, count: int, limits: tuple[float, ...], references: Path) -> None:
    """Print a row for each limit."""
    problem = nsa.find_problem("tsp")
    if size in problem.paper_sizes:
        tasks = [nsa.Task(problem, instance) for instance in problem.paper_set(size, count)]
        best = np.load(references / f"tsp{size}_opt.npy")[:count]
    else:
        tasks, best = [nsa.generate("tsp", size, 1, 300 + k)[0] for k in range(count)], None
    for limit in limits:
        solvers: list[Callable[[nsa.Task, float], Run]] = [ours, fast_tsp]
        runs: dict[str, list[Run]] = {solver.__name__: [] for solver in solvers}
        for solver in solvers:
            solver(tasks[0], limit)
        gc.collect()
        gc.freeze()
        gc.disable()
        for task in tasks:
            for solver in solvers:
                runs[solver.__name__].append(solver(task, limit))
            solvers.reverse()
        gc.enable()
        lengths = {name: np.array([run.length for run in some]) for name, some in runs.items()}
        base = lengths["ours"] if best is None else best
        gaps = [interval(100 * (lengths[name] / base - 1)) for name in ("ours", "fast_tsp")]
        cpu = [np.mean([run.seconds for run in runs[name]]) * 1e3 for name in ("ours", "fast_tsp")]
        ahead = interval(100 * (lengths["fast_tsp"] - lengths["ours"]) / base)
        target = TARGETS.get((size, limit), "")
        print(
            f"| {size}, {limit * 1e3:g} ms | {len(tasks)} | {gaps[0]} | {gaps[1]} | {ahead} | {target} "
            f"| {cpu[0]:.1f}, {cpu[1]:.1f} |",
            flush=True,
        )


def main() -> None:
    """Read what is asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    print("| set | instances | nsa solve, gap % | fast-tsp | ahead by | target | CPU ms |")
    print("|---|---|---|---|---|---|---|")
    for size in (100, 100, 200, 5000):  # the second one finds everything loaded
        nsa.solve(nsa.generate("tsp", size, 1, 0)[0], time_limit=3, threads=1, seed=1)
    for size, count, limits in SETS:
        random_cities(size, min(count, options.count), limits, options.references)


if __name__ == "__main__":
    main()
