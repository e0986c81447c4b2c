"""Vanilla simulated annealing on the paper's test sets, beside the figures that the paper prints.

    python benchmarks/vanilla_sa.py --references DIR [--instances 500]

DIR holds reference costs, one array a set: ``tsp20_opt.npy``, ``knapsack50_opt.npy`` (per-instance optima)
and ``bin50_ref.npz`` (first-fit-decreasing under ``ffd``). The protocol is the paper's (Appendix A): its
start, its units, one chain, T geometric from 1 to 0.01 (tours) or 0.1, K = 10 N^2 or 10 N. Prints Markdown.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import nsa_cli as nsa

#: Mean cost and gap in per cent of the column "SA" in the paper's tables of each problem.
PAPER = {
    ("tsp", 20): (3.881, 1.17),
    ("tsp", 50): (5.943, 4.34),
    ("tsp", 100): (8.343, 7.45),
    ("knapsack", 50): (18.43, 8.40),
    ("knapsack", 100): (36.81, 8.91),
    ("knapsack", 200): (50.89, 11.73),
    ("bin", 50): (30.38, None),
    ("bin", 100): (60.66, None),
    ("bin", 200): (121.27, None),
}


def main() -> None:
    """Print one row a set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--references", type=Path, required=True)
    parser.add_argument("--instances", type=int, default=500, help="of each set, at most")
    parser.add_argument("--problems", default="tsp,knapsack,bin")
    parser.add_argument("--largest", type=int, default=200)
    arguments = parser.parse_args()
    print("| set | instances | ours | 95 % | gap % | paper | paper's gap % | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for (problem, size), paper in PAPER.items():
        if problem in arguments.problems.split(",") and size <= arguments.largest:
            print(row(problem, size, paper, arguments), flush=True)


def row(problem: str, size: int, paper: tuple[float, float | None], arguments: argparse.Namespace) -> str:
    """Solve one set and lay the figures out."""
    found = nsa.find_problem(problem)
    instances = found.paper_set(size, arguments.instances)
    tasks = [nsa.Task(found, instance, stream=k) for k, instance in enumerate(instances)]
    tour = problem == "tsp"
    begin = time.monotonic()
    results = nsa.solve_many(
        tasks,
        steps="10N2" if tour else "10N",
        seed=1,
        chains=1,
        init="paper",
        t_start=1.0,
        t_end=0.01 if tour else 0.1,
        unit=1.0,
    )
    seconds = time.monotonic() - begin
    costs = np.array([r.objective for r in results], dtype=float)
    error = 1.96 * costs.std(ddof=1) / len(costs) ** 0.5
    gap = 100 * abs(costs.mean() / reference(problem, size, arguments.references)[: len(costs)].mean() - 1)
    cells = [f"{problem}{size}", len(costs), f"{costs.mean():.4f}", f"± {error:.4f}", f"{gap:.2f}"]
    cells += [paper[0], "" if paper[1] is None else paper[1], f"{seconds:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def reference(problem: str, size: int, folder: Path) -> np.ndarray:
    """Per-instance reference costs."""
    if problem == "bin":
        return np.load(folder / f"bin{size}_ref.npz")["ffd"]
    return np.load(folder / f"{problem}{size}_opt.npy")


if __name__ == "__main__":
    main()
