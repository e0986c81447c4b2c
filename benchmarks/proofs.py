"""Proofs of optimality from the command line, each in a process of its own on one core.

``python benchmarks/proofs.py --cities 50 --count 200 --limit 1`` for random tours,
``python benchmarks/proofs.py --files DIR/*.tsp --limit 15`` for files, and
``python benchmarks/proofs.py --bins 50,100,200`` for the paper's bins, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import head, row

import nsa_cli as nsa
from nsa_cli.problems import find_problem
from nsa_cli.problems.files import write_instances


def proved(path: Path, limit: float) -> tuple[bool, float, float]:
    """Solve a file; whether it was proved, the processor's seconds for all of the process, and the gap."""
    words = [sys.executable, "-m", "nsa_cli", "solve", str(path), "--seed", "1", "--time-limit", str(limit)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, result = (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        json.loads(done.stdout),
    )
    return result["status"] == "optimal", seconds, (result["bound"] or {}).get("gap") or 0.0


def tours(name: str, paths: list[Path], limit: float) -> None:
    """Print a row of a set of files, and those that are not proved."""
    found = [proved(path, limit) for path in paths]
    times = np.array([seconds for _, seconds, _ in found])
    there = sum(yes for yes, *_ in found)
    row(name, f"{there} of {len(found)}", f"{times.mean():.2f}", f"{np.sort(times)[-3:].round(2).tolist()}")
    for path, (yes, seconds, gap) in zip(paths, found, strict=True):
        if not yes:
            print(f"  {path.name}: gap {100 * gap:.3f} % after {seconds:.1f} s", file=sys.stderr)


def bins(size: int) -> None:
    """Print a row of the paper's first 300 bins of a size."""
    problem, times, there = find_problem("bin"), [], 0
    for instance in problem.paper_set(size, 300):
        began = time.process_time()
        there += nsa.solve(instance, seed=1, threads=1).status == "optimal"
        times.append(time.process_time() - began)
    row(
        f"bins of {size}",
        f"{there} of 300",
        f"{np.mean(times):.4f}",
        f"{np.sort(times)[-3:].round(3).tolist()}",
    )


def main() -> None:
    """Print the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cities", type=int)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--files", nargs="*", type=Path, default=[])
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--bins", default="")
    given = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    head("instances", "proved", "mean s", "slowest s")
    with tempfile.TemporaryDirectory() as folder:
        if given.cities:
            tasks = nsa.generate("tsp", given.cities, given.count, seed=1)
            paths = [Path(folder) / f"{task.instance.name}.json" for task in tasks]
            for path, task in zip(paths, tasks, strict=True):
                path.write_text(write_instances(task.problem, [task.instance], "json"))
            tours(f"{given.cities} random cities, {given.limit:g} s", paths, given.limit)
    if given.files:
        tours(f"files, {given.limit:g} s", given.files, given.limit)
    for size in filter(None, given.bins.split(",")):
        bins(int(size))


if __name__ == "__main__":
    main()
