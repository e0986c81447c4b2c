"""Trainings of several seeds beside uniform proposals between near cities, at equal steps and equal time.

    python benchmarks/near_seeds.py DIR FILE...        DIR has tsp20_opt.npy, …; FILEs are policies

One thread, one chain, the paper's start, K = 10 N^2. The temperatures of uniform proposals, and how many
steps they make in the time of a policy, are chosen on instances that are not among those of the table.
Gaps are in % to the references, ± 1.96 standard errors; differences are those of pairs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nsa_cli as nsa

NEIGHBOURHOOD = "nearest:10"
TSP = nsa.find_problem("tsp")

#: First and last temperatures to choose from, in units of the spacing of N cities.
HOT, COOL = (0.2, 0.35, 0.5, 0.7, 1.0), (0.03, 0.05, 0.1, 0.15)


class Set(NamedTuple):
    """A size, the instances that temperatures are chosen on, and those of the table."""

    size: int
    chosen_on: slice
    shown: slice


#: Instances of the paper's sets; 5,000 to 5,199 also chose among the policies.
SETS = (
    Set(20, slice(5_000, 5_200), slice(6_000, 7_000)),
    Set(50, slice(5_000, 5_200), slice(6_000, 6_500)),
    Set(100, slice(5_000, 5_100), slice(6_000, 6_300)),
    Set(200, slice(0, 16), slice(64, 128)),
    Set(500, slice(0, 4), slice(96, 128)),
)


class Run(NamedTuple):
    """Gaps of instances, in %, and processor seconds an instance."""

    gaps: NDArray[np.float64]
    seconds: float


class Instances:
    """Instances of a set with their references."""

    def __init__(self, size: int, part: slice, references: Path) -> None:
        self.size = size
        instances = TSP.paper_set(size, part.stop)[part]
        self._tasks = [nsa.Task(TSP, x, stream=k) for k, x in enumerate(instances)]
        self._best = np.load(references / f"tsp{size}_opt.npy")[part]

    def run(self, policy: str, steps: int, **options: Any) -> Run:
        """Solve them all."""
        begin = time.process_time()
        results = nsa.solve_many(
            self._tasks, steps=steps, policy=policy, neighbourhood=NEIGHBOURHOOD, seed=1, chains=1,
            threads=1, bound=False, init="paper", **options,
        )  # fmt: skip
        seconds = (time.process_time() - begin) / len(self._tasks)
        return Run(100 * (np.array([r.objective for r in results]) / self._best - 1), seconds)

    def uniform(self, steps: int, heat: tuple[float, float]) -> Run:
        """Solve them by uniform proposals, at temperatures in spacings."""
        hot, cool = (t * self.size**-0.5 for t in heat)
        return self.run("uniform", steps, t_start=hot, t_end=cool)

    def steps_in(self, seconds: float, steps: int) -> int:
        """Tell how many steps uniform proposals make in a time; the set-up is in it, but not each step's."""
        short, long = (self.uniform(count, (0.5, 0.05)).seconds for count in (steps, 5 * steps))
        return int(steps + (seconds - short) * 4 * steps / (long - short))

    def best_heat(self, steps: int) -> tuple[float, float]:
        """Choose temperatures for uniform proposals."""
        return min(product(HOT, COOL), key=lambda heat: self.uniform(steps, heat).gaps.mean())


def mean(values: NDArray[np.float64]) -> str:
    """Write a mean with its interval."""
    return f"{values.mean():.3f} ± {1.96 * values.std(ddof=1) / len(values) ** 0.5:.3f}"


def table(group: Set, references: Path, policies: Sequence[str]) -> None:
    """Print the rows of a size."""
    steps = 10 * group.size**2
    before = Instances(group.size, group.chosen_on, references)
    shown = Instances(group.size, group.shown, references)
    before.run(policies[0], 100), before.uniform(100, (0.5, 0.05))  # compiles
    longer = before.steps_in(before.run(policies[0], steps).seconds, steps)
    runs = {policy: shown.run(policy, steps) for policy in policies}
    for name, count in (("equal steps", steps), ("equal time", longer)):
        heat = before.best_heat(count)
        runs[f"uniform, {name}, {count} steps, {heat[0]:g} to {heat[1]:g}"] = shown.uniform(count, heat)
    plain = list(runs.values())[-1].gaps
    for name, run in runs.items():
        cells = (f"TSP{group.size}", str(len(run.gaps)), name, mean(run.gaps), mean(run.gaps - plain))
        print("|", " | ".join(cells), f"| {1000 * run.seconds:.1f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("references", type=Path, metavar="DIR")
    parser.add_argument("policies", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    print("| set | instances | proposals | gap % | less uniform at equal time | CPU ms |")
    for group in SETS:
        table(group, arguments.references, arguments.policies)


if __name__ == "__main__":
    main()
