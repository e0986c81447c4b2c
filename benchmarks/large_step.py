"""The large-step chain beside fast-tsp: gap to references at equal processor time.

    python benchmarks/large_step.py REFERENCES [--only tsp100,tsp500,random5000]

REFERENCES is a folder of ``tsp100_opt.npy`` and ``tsp500_opt.npy``, lengths of the paper's test sets. Both
solvers take turns, instance by instance, in one process and on one thread; fast-tsp goes first, and the chain
gets the processor time that it used (its matrix of distances is not charged; the chain's whole set-up is).
For random cities without references, the gap is to the shorter of both tours. Kernels are compiled before the
clock starts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import fast_tsp
import numpy as np

from nsa_cli.bench.statistics import half_width
from nsa_cli.problems.tsp import problem
from nsa_cli.problems.tsp.bench import integer_matrix
from nsa_cli.problems.tsp.instance import TspInstance
from nsa_cli.problems.tsp.large_step_solver import solve_large_step

#: fast-tsp takes lengths below this.
_LONGEST = 2**16 - 1

#: A run that got less than its time on the processor is repeated, this often at most.
_TRIES = 20


class Row(NamedTuple):
    """A line of the table."""

    name: str
    size: int
    seconds: float
    count: int


ROWS = (
    Row("tsp100", 100, 0.005, 400),
    Row("tsp100", 100, 0.020, 400),
    Row("tsp500", 500, 0.050, 128),
    Row("tsp500", 500, 0.200, 128),
    Row("tsp500", 500, 0.500, 128),
    Row("random5000", 5000, 1.0, 6),
    Row("random5000", 5000, 2.0, 6),
)


def main() -> None:
    """Print a line a set and budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("references", type=Path)
    parser.add_argument("--only", default="tsp100,tsp500,random5000")
    parser.add_argument("--share", type=float, default=1.0, help="part of the instances")
    arguments = parser.parse_args()
    solve_large_step(TspInstance(coords=np.random.default_rng(0).random((200, 2))), seed=0, kicks=10)
    print("| set | ms | instances | large-step % | fast-tsp % | kicks / ms |\n|---|---|---|---|---|---|")
    for row in ROWS:
        if row.name in arguments.only.split(","):
            print(_line(row, arguments.references, max(int(row.count * arguments.share), 2)), flush=True)


def _line(row: Row, folder: Path, count: int) -> str:
    instances, references = _instances(row, folder, count)
    ours, theirs, kicks, used = [], [], 0, 0.0
    for k, instance in enumerate(instances):
        tour, seconds = _fast_tsp(instance, row.seconds)
        theirs.append(float(instance.objective(tour)))
        outcome = solve_large_step(instance, seed=k, seconds=seconds, clock=time.thread_time)
        ours.append(float(instance.objective(outcome.tour)))
        kicks, used = kicks + outcome.kicks, used + outcome.seconds
    base = np.minimum(ours, theirs) if references is None else references
    gaps = " | ".join(_mean(np.array(found) / base - 1.0) for found in (ours, theirs))
    return f"| {row.name} | {1e3 * row.seconds:g} | {count} | {gaps} | {kicks / used / 1e3:.0f} |"


def _instances(row: Row, folder: Path, count: int) -> tuple[list[TspInstance], np.ndarray | None]:
    if row.name.startswith("random"):
        rng = np.random.default_rng(77)
        return [problem.generate(row.size, rng) for _ in range(count)], None
    return list(problem.paper_set(row.size, count)), np.load(folder / f"{row.name}_opt.npy")[:count]


def _fast_tsp(instance: TspInstance, seconds: float) -> tuple[np.ndarray, float]:
    """Run fast-tsp; return its tour and the processor time that it took."""
    matrix = integer_matrix(instance, _LONGEST).astype(np.uint16)
    for _ in range(_TRIES):  # its clock is the wall's: on a busy machine it may get less of the processor
        begin = time.thread_time()
        tour = fast_tsp.find_tour(matrix, seconds)
        used = time.thread_time() - begin
        if used > 0.95 * seconds:
            break
    return np.array(tour), used


def _mean(gaps: np.ndarray) -> str:
    return f"{100 * gaps.mean():.4f} ± {100 * half_width(gaps):.4f}"


if __name__ == "__main__":
    main()
