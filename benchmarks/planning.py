"""What a solve takes, for planning: the tables of docs/planning.md.

    python benchmarks/planning.py                       all, within a quarter of an hour
    python benchmarks/planning.py --problems knapsack --sizes 50,200

Instances are drawn from the problem's own distribution, of each size the one of eight whose large steps take
longest; one chain and one thread; seconds are those of the processor, so that other work on the machine
matters little. A pace is that of the steps between a run and one of four times as many, the best of three
pairs, without what both do once. Whole runs and peaks of memory are of processes of their own, ``nsa solve
FILE --threads 1``, from the start of Python to the written answer.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import command, head, numbers, pace, row

import nsa_cli as nsa

SIZES = {
    "tsp": (20, 50, 100, 200, 500, 1000, 10_000),
    "knapsack": (50, 200, 1000, 2000, 10_000),
    "bin": (50, 200, 1000, 2000, 10_000),
    "rosenbrock": (2, 10),
}

#: Whole runs without a limit up to this size: larger ones take minutes.
WHOLE = 1000


def _short(task: nsa.Task) -> float:
    """Processor seconds of a short run of large steps; few where bins are full and nothing is to be done."""
    begin = time.process_time()
    nsa.solve(task, seed=1, bound=False, threads=1, chains=1, steps=2_000, method="large-step")
    return time.process_time() - begin


def paces(name: str, sizes: Sequence[int]) -> None:
    """Print steps a second of large steps, uniform proposals and policies."""
    policies = [f"{name}-es-nearest", f"{name}-es-best"] if name == "tsp" else [f"{name}-es-best"]
    ways = [{"method": "large-step"}, {"policy": "uniform"}, *({"policy": policy} for policy in policies)]
    print()
    head("problem", "N", "large steps", "uniform", *policies)
    for size in sizes:
        tasks = nsa.generate(name, size, 8, seed=1)
        task = tasks[0] if tasks[0].problem.large_step() is None else max(tasks, key=_short)
        found = [pace(task, **way) for way in ways]
        row(name, f"{size:,}", *("" if p is None else f"{p:.1e}".replace("e+0", "e") for p in found))


def processes(name: str, sizes: Sequence[int], folder: Path) -> None:
    """Print what whole processes take."""
    print()
    head("problem", "N", "a tenth of a second, s", "without a limit, s", "memory, MB", "result, bytes")
    for size in sizes:
        (task,) = nsa.generate(name, size, 1, seed=1)
        path = folder / f"{name}{size}.json"
        path.write_text(json.dumps({"problem": name, **task.instance.record()}))
        words = ["solve", path, "--threads", 1, "--seed", 1, "--format", "jsonl"]
        short = command(*words, "--time-limit", "100ms")
        whole = "" if size > WHOLE else f"{command(*words).cpu:.2f}"
        row(name, f"{size:,}", f"{short.cpu:.2f}", whole, short.mb, f"{len(short.output):,}")


def main() -> None:
    """Print both tables of each problem, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", default=",".join(SIZES))
    parser.add_argument("--sizes", type=numbers(int), help="by default those of the tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.problems.split(","):
            paces(name, options.sizes or SIZES[name])
            processes(name, options.sizes or SIZES[name], Path(folder))


if __name__ == "__main__":
    main()
