"""Adaptive schedules beside geometric ones, uniform proposals, at equal steps.

    python benchmarks/schedules.py [--count 6]

Sixteen chains of each instance, whose mean best energy counts; the mean difference to the geometric
schedule in %, with the 95 % interval over instances, negative where the adaptive one is better. The first
and last temperature are those of a sample of moves (`auto`), or tuned ones where moves tell none;
and the same two and four times further apart at both ends, as where they are not known.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import head, mean, row

import nsa_cli as nsa
from nsa_cli.anneal.loop import run_chains
from nsa_cli.anneal.schedule import AdaptiveSchedule, Schedule
from nsa_cli.core.draws import start_solutions, stream_keys
from nsa_cli.problems import find_problem
from nsa_cli.solver.batch import plan
from nsa_cli.solver.search import Beginning

EXAMPLE = f"{Path(__file__).parents[1] / 'examples' / 'maxcut.py'}:MaxCut"
CHAINS, APART = 16, (1.0, 2.0, 4.0)


class Case(NamedTuple):
    """Problem, neighbourhood, start, sizes with steps, and temperatures where a sample is of no use."""

    problem: str
    neighbourhood: str | None
    start: str | None
    sizes: tuple[tuple[int, int], ...]
    tuned: tuple[float, float] | None = None


CASES = (
    Case(EXAMPLE, None, None, ((100, 2_000), (100, 20_000))),
    Case("knapsack", None, "paper", ((200, 2_000), (200, 20_000))),
    Case("bin", "squares", "singletons", ((200, 10_000), (200, 100_000)), (0.03, 0.001)),
    Case("tsp", "nearest:10", "greedy", ((100, 30_000), (100, 200_000), (500, 300_000))),
)


def compare(case: Case, size: int, steps: int, count: int) -> np.ndarray:
    """Give differences of the energy in %, float64[factors between temperatures, count]."""
    problem = find_problem(case.problem)
    settings = nsa.Settings(
        method="anneal",
        policy="uniform",
        neighbourhood=case.neighbourhood,
        init=case.start,
        t_start="auto",
        t_end="auto",
        threads=1,
    )
    found: list[list[float]] = [[] for _ in APART]
    for k in range(count):
        instance = problem.generate(size, np.random.default_rng([size, k]))
        (batch,) = plan([nsa.Task(problem, instance)], settings)
        start, keys = problem.start(case.start), stream_keys(k, np.arange(CHAINS))
        x = start_solutions(start, [instance] * CHAINS, keys)
        planned = batch.with_temperatures().planned
        first, last = case.tuned or (planned.t_start, planned.t_end)
        for apart, differences in zip(APART, found, strict=True):
            energies = []
            for kind in ("geometric", "adaptive"):
                curve = Schedule(steps, first * apart, last / apart, kind)
                chains: Any = batch.search.start(Beginning([instance] * CHAINS, x, keys))
                run_chains(chains, AdaptiveSchedule(curve) if kind == "adaptive" else curve)
                energies.append(float(np.mean(chains.state.best_energy)))
            differences.append(100 * (energies[1] - energies[0]) / abs(energies[0]))
    return np.array(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=6, help="instances of each size")
    options = parser.parse_args()
    head("problem", "N", "steps", *(f"times {apart:g}" for apart in APART))
    for case in CASES:
        for size, steps in case.sizes:
            cells = [mean(found, "+.3f") for found in compare(case, size, steps, options.count)]
            label = ", ".join(filter(None, (case.problem.rpartition(":")[2], case.neighbourhood)))
            row(label, size, steps, *cells)


if __name__ == "__main__":
    main()
